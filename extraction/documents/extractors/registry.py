"""Which extractors there are, and which one reads a type of file."""

import functools
import logging
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib.metadata import entry_points

from ..errors import ExtractorRefused
from ..ids import SLUG
from .base import Extractor
from .text import TextExtractor

logger = logging.getLogger(__name__)

AUTO = "auto"
GROUP = "osii.extractors"
BUILTIN: tuple[type[Extractor], ...] = (TextExtractor,)


@functools.cache
def extractors() -> Mapping[str, Extractor]:
    """Every extractor by name, in order of preference: built in first, then those of installed packages."""
    found = {kind.name: kind() for kind in BUILTIN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            extractor = point.load()()
        except (ImportError, AttributeError, TypeError) as error:
            logger.warning("Extractor %s (%s) cannot be loaded: %s", point.name, point.value, error)
            continue
        if not isinstance(extractor, Extractor) or SLUG.fullmatch(extractor.name) is None or extractor.name in found:
            logger.warning(
                "Extractor %s (%s) is not taken: wrong kind, bad name or name taken", point.name, point.value
            )
            continue
        found[extractor.name] = extractor
    return found


def choose(name: str, media_type: str) -> Extractor:
    """The extractor called ``name``, or for "auto" the first ready one that reads ``media_type``.

    A named one is taken whatever the type: who names it decides. Raises ExtractorRefused.
    """
    if name != AUTO:
        return _named(name)
    missing = []
    for extractor in extractors().values():
        if any(fnmatchcase(media_type, pattern) for pattern in extractor.media_types):
            lack = extractor.ready()
            if not lack:
                return extractor
            missing.append(f"{extractor.name}: {lack}")
    if missing:
        raise ExtractorRefused("extractor_not_ready", "; ".join(missing))
    raise ExtractorRefused("no_extractor", f"no extractor reads {media_type}")


def _named(name: str) -> Extractor:
    extractor = extractors().get(name)
    if extractor is None:
        known = ", ".join((AUTO, *extractors()))
        raise ExtractorRefused("unknown_extractor", f"there is no extractor {name!r} (known: {known})")
    lack = extractor.ready()
    if lack:
        raise ExtractorRefused("extractor_not_ready", f"{name}: {lack}")
    return extractor

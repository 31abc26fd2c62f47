"""Which methods make which outputs, which one is chosen for each kind, and what an output must be to be current."""

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any
from uuid import UUID

from django.conf import settings

from extraction.documents.ids import SLUG
from graphctx.embedding import EmbeddingError

from .base import LEARNER, Method, MethodRefused
from .models import OutputKind, OutputSetting, options_hash

logger = logging.getLogger(__name__)

GROUP = "osii.methods"
BUILTIN = (
    "osii.library.chunking:Sentences",
    "osii.library.vectors:ActiveSpace",
    "osii.library.extractive:Extractive",
    "osii.library.synthesis:ByModel",
    "osii.library.statistics:Statistics",
    "osii.library.entities:Entities",
    "osii.library.propositions:ByRules",
    "osii.library.propositions:ByModel",
)
"""In order of preference: the first one of a kind is its default."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an output of a document's primary must be to be current. ``unready`` says why none can be made just now."""

    kind: str
    method: str
    method_version: str
    options: Mapping[str, Any]
    options_hash: str
    prompt_version: str
    space_id: UUID | None
    needs_learner: bool
    unready: str = ""


@functools.cache
def registry() -> Mapping[tuple[str, str], Method]:
    """Every method by (kind, name), in order of preference: built in first, then those of installed packages."""
    found: dict[tuple[str, str], Method] = {}
    for path in BUILTIN:
        module, _, name = path.partition(":")
        method = getattr(import_module(module), name)()
        found[method.kind, method.name] = method
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            method = point.load()()
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything, and the others are needed
            logger.warning("Method %s (%s) cannot be loaded: %s", point.name, point.value, error)
            continue
        if not _acceptable(method) or (method.kind, method.name) in found:
            logger.warning("Method %s (%s) is not taken: wrong kind, bad name or name taken", point.name, point.value)
            continue
        found[method.kind, method.name] = method
    return found


def _acceptable(method: object) -> bool:
    return isinstance(method, Method) and method.kind in OutputKind.values and SLUG.fullmatch(method.name) is not None


def methods(kind: str) -> dict[str, Method]:
    """The methods of a kind by name, the default one first. Raises MethodRefused for an unknown kind."""
    if kind not in OutputKind.values:
        raise MethodRefused("unknown_kind", f"there is no kind of output {kind!r} ({', '.join(OutputKind.values)})")
    return {name: method for (of, name), method in registry().items() if of == kind}


def find(kind: str, name: str | None = None) -> Method:
    """The method of this name, or the one that is chosen for the kind. Raises MethodRefused that names the known ones."""
    known = methods(kind)
    name = name or chosen(kind)
    if name not in known:
        raise MethodRefused(
            "unknown_method", f"there is no method {name!r} for {kind} (known: {', '.join(known) or 'none'})"
        )
    return known[name]


def chosen(kind: str) -> str:
    """The name of the method that is used for a kind where none is named."""
    names = OutputSetting.objects.filter(kind=kind, chosen=True).values_list("method", flat=True)
    known = methods(kind)
    if kind == OutputKind.PROPOSITIONS and settings.EXTRACTION_WORKER in known:
        return names.first() or settings.EXTRACTION_WORKER  # who reads chats reads documents too
    return names.first() or next(iter(known), "")


def wanted(kind: str, method: str | None = None, options: Mapping[str, Any] | None = None) -> Wanted:
    """What the method (the chosen one by default) makes with these options (those set for it by default).

    Raises MethodRefused for an unknown kind, method or option. A method that cannot run here is said in ``unready``.
    """
    found = find(kind, method)
    if options is None:
        row = OutputSetting.objects.filter(kind=kind, method=found.name).values_list("options", flat=True).first()
        options = row or {}
    recorded = found.identity(found.resolve(options))
    unready, space = found.ready(recorded), None
    if not unready:
        try:
            space = found.space()
        except EmbeddingError as error:
            unready = str(error)
    return Wanted(
        kind=kind,
        method=found.name,
        method_version=found.version,
        options=recorded,
        options_hash=options_hash(recorded),
        prompt_version="" if unready else found.prompt_version(recorded),
        space_id=space.pk if space else None,
        needs_learner=LEARNER in found.needs,
        unready=unready,
    )

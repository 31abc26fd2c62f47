"""Which extractors a document goes to, in which order: the table of rules, and what installed packages declare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..models import ExtractorRule
from .errors import ExtractorRefused
from .extractors import registry
from .extractors.base import Extractor

AUTO = registry.AUTO

FINAL = frozenset({"encrypted", "expands_too_much", "disk_full", "older_office"})
"""Failures that lie in the file or the machine: no other extractor would do better."""


@dataclass(frozen=True, slots=True)
class Route:
    """One extractor to try, with every option's value."""

    extractor: Extractor
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """The enabled rules in order, read once for any number of documents."""

    rules: tuple[ExtractorRule, ...]

    @classmethod
    def load(cls) -> "Table":
        """One query."""
        return cls(tuple(ExtractorRule.objects.filter(enabled=True)))

    def chain(self, media_type: str, filename: str = "") -> list[Route]:
        """The routes for a file: the first is used, the others when it fails. Only extractors that are ready.

        The rules that fit decide. Where none does, the extractors that declare the type are taken, in the order of
        `registry.extractors`. Raises ExtractorRefused: "no_extractor", or "extractor_not_ready" with what is missing.
        """
        routes: list[Route] = []
        missing: list[str] = []
        for extractor, options in self._fitting(media_type.lower(), filename.lower()):
            lack = extractor.ready()
            if lack:
                missing.append(f"{extractor.name}: {lack}")
            elif not any(route.extractor is extractor and route.options == options for route in routes):
                routes.append(Route(extractor, options))
        if not routes:
            if missing:
                raise ExtractorRefused("extractor_not_ready", "; ".join(missing))
            raise ExtractorRefused("no_extractor", f"no extractor reads {media_type}")
        return routes

    def _fitting(self, media_type: str, filename: str) -> Iterable[tuple[Extractor, dict[str, Any]]]:
        known = registry.extractors()
        fitting = [
            rule
            for rule in self.rules
            if rule.extractor in known  # the package of a rule's extractor may be gone
            and media_type not in known[rule.extractor].except_types
            and fnmatchcase(media_type, rule.media_type)
            and fnmatchcase(filename, rule.name_pattern)
        ]
        if fitting:
            return [(known[rule.extractor], known[rule.extractor].resolve(rule.options)) for rule in fitting]
        return [(extractor, extractor.resolve(None)) for extractor in registry.declaring(media_type)]


def chain(
    name: str,
    media_type: str,
    filename: str = "",
    options: Mapping[str, Any] | None = None,
    *,
    table: Table | None = None,
) -> list[Route]:
    """The routes for a file when ``name`` was asked for: that extractor alone, or for "auto" those of the table.

    A named extractor is taken whatever the type: who names it decides. Given ``options`` count for the first route,
    which then is the only one. Raises ExtractorRefused.
    """
    if name != AUTO:
        extractor = registry.named(name)
        return [Route(extractor, extractor.resolve(options))]
    routes = (table or Table.load()).chain(media_type, filename)
    if options:
        first = routes[0]
        return [Route(first.extractor, first.extractor.resolve({**first.options, **options}))]
    return routes


def choose(name: str, media_type: str, filename: str = "", *, table: Table | None = None) -> Extractor:
    """The first extractor of `chain`. Raises ExtractorRefused."""
    return chain(name, media_type, filename, table=table)[0].extractor

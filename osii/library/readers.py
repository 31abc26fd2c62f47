"""Which extractor reads which documents, as conditions for a statement: the table of rules over all of the library."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations

from django.db import connection
from django.db.models import Case, CharField, Exists, OuterRef, Q, Value, When

from extraction.documents.errors import ExtractorRefused
from extraction.documents.extractors import registry
from extraction.documents.routing import AUTO, Route, Table
from extraction.documents.services import SAVE_VARIANT
from extraction.models import ExtractionVersion
from extraction.models.routing import ExtractorRule

from .globs import glob
from .requests import Request

ANY_NAME = "*"
MOST_PATTERNS = 8
"""Patterns of names that rules for one media type may have between them; each doubles the number of cases."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Documents that go the same way: ``routes`` in the order in which they are tried."""

    where: Q
    routes: tuple[Route, ...]

    @property
    def name(self) -> str:
        return self.routes[0].extractor.name


def readers(request: Request) -> list[Reader]:
    """How the documents of the library are read for this request; what is in none of them no extractor reads."""
    found: dict[str, tuple[tuple[Route, ...], list[str]]] = {}
    special: list[Reader] = []
    table = Table.load()
    for mime in _media_types():
        for where, routes in _ways(request, table, mime):
            if where is None:
                key = repr([(route.extractor.name, route.options) for route in routes])
                found.setdefault(key, (routes, []))[1].append(mime)
            else:
                special.append(Reader(Q(mime=mime) & where, routes))
    return special + [Reader(Q(mime__in=mimes), routes) for routes, mimes in found.values()]


# From each type the index leads to the next one; DISTINCT would look at every document.
MEDIA_TYPES = """
WITH RECURSIVE found AS (
    (SELECT mime FROM extraction_document ORDER BY mime LIMIT 1)
    UNION ALL
    SELECT (SELECT mime FROM extraction_document d WHERE d.mime > found.mime ORDER BY d.mime LIMIT 1)
    FROM found WHERE found.mime IS NOT NULL
)
SELECT mime FROM found WHERE mime IS NOT NULL
"""


def _media_types() -> list[str]:
    """Those of all documents."""
    with connection.cursor() as cursor:
        cursor.execute(MEDIA_TYPES)
        return [mime for (mime,) in cursor.fetchall()]


def _ways(request: Request, table: Table, mime: str) -> Iterator[tuple[Q | None, tuple[Route, ...]]]:
    """(condition on the name, or None for any; routes) of documents of one type."""
    if request.extractor_name != AUTO:
        extractor = registry.named(request.extractor_name)
        # Who names documents and extractor decides, as when a file is added.
        if request.scope.file_ids or extractor.declares(mime):
            yield None, (Route(extractor, extractor.resolve(None)),)
        return
    fitting = [rule for rule in table.rules if fnmatchcase(mime.lower(), rule.media_type)]
    patterns = list(dict.fromkeys(rule.name_pattern for rule in fitting if rule.name_pattern != ANY_NAME))[
        :MOST_PATTERNS
    ]
    for size in range(len(patterns), -1, -1):
        for matched in combinations(patterns, size):
            rules = tuple(_of_any_name(rule) for rule in fitting if rule.name_pattern in (ANY_NAME, *matched))
            try:
                routes = tuple(replace(table, rules=rules).chain(mime))
            except ExtractorRefused:
                continue
            yield _named(matched, patterns) if patterns else None, routes


def _of_any_name(rule: ExtractorRule) -> ExtractorRule:
    """The rule for names that fit already."""
    return ExtractorRule(
        media_type=rule.media_type, name_pattern=ANY_NAME, extractor=rule.extractor, options=rule.options
    )


def _named(matched: tuple[str, ...], patterns: list[str]) -> Q:
    """Names that match these patterns and no other of them."""
    where = Q()
    for pattern in patterns:
        one = Q(filename__iregex=glob(pattern))
        where &= one if pattern in matched else ~one
    return where


def extractor_name(ways: list[Reader]) -> Case:
    """The name of the extractor that is tried first, NULL where none reads the document."""
    return Case(*(When(way.where, then=Value(way.name)) for way in ways), default=None, output_field=CharField())


def made_already(request: Request, ways: list[Reader]) -> Q:
    """Whether the version that a run would make is there: in force, or for a variant at all. One that a later route made
    counts after the first one has failed."""
    variant = request.extraction_policy == SAVE_VARIANT
    versions = ExtractionVersion.objects.filter(
        **({"document": OuterRef("pk")} if variant else {"pk": OuterRef("primary")})
    )
    made = Q(pk__in=())
    for way in ways:
        first, *others = way.routes
        there = Q(Exists(versions.filter(_by(first), status="succeeded")))
        if others:
            any_other = Q(pk__in=())
            for route in others:
                any_other |= _by(route)
            failed = ExtractionVersion.objects.filter(_by(first), document=OuterRef("pk"), status="failed")
            there |= Q(Exists(versions.filter(any_other, status="succeeded"))) & Q(Exists(failed))
        made |= way.where & there
    return made


def _by(route: Route) -> Q:
    return Q(extractor=route.extractor.name, extractor_version=route.extractor.version, options=route.options)

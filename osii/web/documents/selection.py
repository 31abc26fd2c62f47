"""Documents that a person has chosen: rows that are ticked, or all that a list's filters let through."""

from collections.abc import Iterable

from django.db.models import QuerySet
from django.http import QueryDict

from extraction.documents.ids import is_file_id
from extraction.models import Document

from .listing import OTHER, DocumentFilter

PLANNED = frozenset({"type", "collection", "learner", "folder", "sort"})
"""Filters of the list that are conditions of the planner too."""

EVERYTHING = "everything"
"""The field that chooses all that the filters let through, on every page of the list."""


def chosen_ids(data: QueryDict) -> list[str]:
    """Ids of the rows that are ticked, each once; what is no id is left out."""
    return [one for one in dict.fromkeys(data.getlist("document")) if is_file_id(one)]


def filtered(query: str) -> QuerySet[Document]:
    """All documents of the list whose query string this is. A filter that is not valid lets nothing through: acting on
    more than was looked at is worse than acting on nothing."""
    chosen = DocumentFilter(QueryDict(query), Document.objects.all())
    return chosen.qs if chosen.is_valid() else Document.objects.none()


def can_be_planned(query: str) -> bool:
    """Whether the planner has a condition for each filter of the list that is set."""
    given = QueryDict(query)
    names = {name for name in given if given[name]}
    return names <= PLANNED and given.get("type") != OTHER


def existing(ids: Iterable[str]) -> QuerySet[Document]:
    return Document.objects.filter(pk__in=list(ids))


def chosen(data: QueryDict) -> QuerySet[Document]:
    """What a bulk form chose: everything of its filters, or the rows that are ticked."""
    return filtered(data.get("filters", "")) if data.get(EVERYTHING) else existing(chosen_ids(data))

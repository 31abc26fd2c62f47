"""From a scope to documents: a queryset, so that whatever asks for them does it in its own statement."""

import os
from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q, QuerySet

from coverage.models import Learner
from extraction.models import Document, DocumentSource

from .globs import backwards, glob
from .requests import BadRequest, Request, Scope
from .run_models import Collection


def documents(request: Request) -> QuerySet[Document]:
    """The documents of a request, but for its conditions on states (``stale``, ``failed``), which need its methods.

    Raises BadRequest for a collection or learner that does not exist.
    """
    found = in_scope(request.scope)
    return found.filter(pk__in=under(request.queue_paths)) if request.queue_paths else found


def in_scope(scope: Scope) -> QuerySet[Document]:
    found = Document.objects.order_by()
    if scope.file_ids:
        found = found.filter(pk__in=scope.file_ids)
    if scope.folder:
        found = found.filter(pk__in=under([scope.folder], folders_only=True))
    if scope.collection:
        found = found.filter(pk__in=_collection(scope.collection).entries.order_by().values("document"))
    if scope.learner:
        found = found.filter(learner=_learner(scope.learner))
    if scope.types:
        found = found.filter(_any_of("mime", scope.types))
    if scope.names:
        found = found.filter(_any_of("filename", scope.names))
    return found


def under(paths: Iterable[str], *, folders_only: bool = False) -> QuerySet:
    """Ids of the documents that were seen under these paths, each a file or a folder."""
    chosen = Q(pk__in=())
    files = []
    for path in paths:
        whole = os.path.normpath(path)
        files.append(whole)
        chosen |= Q(path__startswith=whole.rstrip("/") + "/")
    if not folders_only:
        chosen |= Q(path__in=files)
    return DocumentSource.objects.filter(chosen).order_by().values("document")


def _any_of(column: str, patterns: Iterable[str]) -> Q:
    """Whether the column matches one of the patterns, in any case."""
    chosen = Q(pk__in=())
    for pattern in patterns:
        inner = pattern.strip("*")
        if any(letter in inner for letter in "*?["):
            chosen |= Q(**{f"{column}__iregex": glob(_forwards(pattern, column))})
        else:
            ends = (pattern.startswith("*"), pattern.endswith("*"))
            lookup = {(True, True): "icontains", (True, False): "iendswith", (False, True): "istartswith"}.get(
                ends, "iexact"
            )
            chosen |= Q(**{f"{column}__{lookup}": inner})
    return chosen


def _forwards(pattern: str, column: str) -> str:
    """The pattern, unless a range in it runs backwards, which nobody means. Raises BadRequest."""
    if found := backwards(pattern):
        field = "scope.types" if column == "mime" else "scope.names"
        raise BadRequest(field, f"{pattern!r} is no pattern: the range {found} runs backwards")
    return pattern


def _collection(name: str) -> Collection:
    try:
        row = Collection.objects.filter(pk=UUID(name)).first()
    except ValueError:
        row = None
    row = row or Collection.objects.filter(name__iexact=name).first()
    if row is None:
        raise BadRequest("scope.collection", f"there is no collection {name!r}")
    return row


def _learner(name: str) -> Learner:
    row = Learner.objects.filter(name=name).first()
    if row is None:
        raise BadRequest("scope.learner", f"there is no learner {name!r}")
    return row

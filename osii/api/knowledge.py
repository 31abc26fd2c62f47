"""Routes of what a learner knows: a context for a topic, propositions with their evidence, forgetting."""

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from ninja import Query, Router

from coverage.models import Learner
from graphctx import forgetting
from graphctx.embedding import EmbeddingError
from graphctx.models import Instance, Proposition
from graphctx.selection import select, with_latest_level
from graphctx.steers import TOPIC_CHARACTERS
from osii.links import links_of
from osii.propositions import matching, nearest

from . import schemas, shapes
from .auth import ApiRequest, find_learner, find_proposition, own_propositions
from .openapi import problems
from .problems import Problem, field_error, invalid
from .shapes import reply

router = Router(tags=["knowledge"])

FILTERS = schemas.PropositionQuery.model_fields


@router.post(
    "/context", response={200: schemas.ContextOut, **problems(403, 404, 503, body=True)}, summary="Context for a topic"
)
def context(request: ApiRequest, body: schemas.ContextIn) -> HttpResponse:
    """What the learner knows that is closest to the topic, within a budget of tokens. Nothing is recorded."""
    learner = find_learner(request, body.learner)
    try:
        # A pasted book is still a topic; its beginning says what it is about.
        selection = select(learner, body.topic[:TOPIC_CHARACTERS], body.budget)
    except EmbeddingError as error:
        raise Problem(503, f"No context can be made now: {error}") from None
    return reply(selection.to_dict())


@router.get(
    "/propositions", response={200: schemas.PropositionPage, **problems(403, 404, 503)}, summary="List propositions"
)
def propositions(request: ApiRequest, query: Query[schemas.PropositionQuery]) -> HttpResponse:
    """Newest first, each with its evidence. A staff token that names no learner lists those of all.

    With `mode=meaning` those nearest to `q` in meaning, at most `limit` of them in one page; staff name the learner.
    """
    # A mistyped filter would list everything.
    unknown = [
        field_error(name, "there is no such filter", where="query") for name in request.GET if name not in FILTERS
    ]
    if unknown:
        raise invalid(unknown)
    learner = find_learner(request, query.learner, where="query") if _names_learner(request, query) else None
    filters = query.model_dump(include={"kind", "level", "state", "chat"}, exclude_none=True)
    if query.mode == "meaning":
        return _by_meaning(request, query, learner, filters)
    rows = matching(own_propositions(request), q=query.q, learner=learner, **filters)
    places = rows.select_related(None).order_by("-created_at", "id").only("created_at")
    page = list(_after(places, query.cursor)[: query.limit + 1])
    more = len(page) > query.limit
    page = page[: query.limit]
    cursor = _cursor(page[-1]) if more else None
    return reply({"items": _shown([row.pk for row in page]), "next_cursor": cursor})


def _names_learner(request: ApiRequest, query: schemas.PropositionQuery) -> bool:
    """Staff may list the propositions of all learners; a meaning is searched in one learner's graph."""
    return query.learner is not None or query.mode == "meaning" or not request.auth.staff


def _by_meaning(
    request: ApiRequest, query: schemas.PropositionQuery, learner: Learner, filters: dict[str, Any]
) -> HttpResponse:
    """The ``limit`` nearest in one answer: the next would need every similarity again, and nobody pages that far."""
    flaws = []
    if not query.q.strip():
        flaws.append(field_error("q", "mode=meaning needs words to compare with", where="query"))
    if query.cursor is not None:
        flaws.append(field_error("cursor", "mode=meaning answers in one page: raise limit", where="query"))
    if flaws:
        raise invalid(flaws)
    rows = matching(own_propositions(request), learner=learner, **filters)
    try:
        similarity = nearest(rows, learner, query.q, query.limit)
    except EmbeddingError as error:
        raise Problem(503, f"No search by meaning is possible now: {error}") from None
    items = [item | {"similarity": similarity[UUID(item["id"])]} for item in _shown(list(similarity))]
    return reply({"items": items, "next_cursor": None})


def _shown(ids: list[UUID]) -> list[dict[str, Any]]:
    """These propositions, in this order, each with its evidence and links; three queries."""
    found = with_latest_level(Proposition.objects.select_related("learner").filter(pk__in=ids)).in_bulk(ids)
    evidence, links = _evidence(found), links_of(found)
    return [shapes.proposition(found[key], evidence[key], links[key]) for key in ids if key in found]


@router.get(
    "/propositions/{proposition_id}", response={200: schemas.PropositionOut, **problems(404)}, summary="One proposition"
)
def proposition(request: ApiRequest, proposition_id: UUID) -> HttpResponse:
    """With all its evidence: the quotes it stands on, where they are, and whether they still stand there."""
    return _reply_with(find_proposition(request, proposition_id))


@router.post(
    "/propositions/{proposition_id}/forget",
    response={200: schemas.PropositionOut, **problems(404)},
    summary="Forget this",
)
def forget(request: ApiRequest, proposition_id: UUID) -> HttpResponse:
    """It leaves every context at once and is not learned again, until it is restored."""
    find_proposition(request, proposition_id)
    return _reply_with(forgetting.forget(proposition_id))


@router.post(
    "/propositions/{proposition_id}/restore",
    response={200: schemas.PropositionOut, **problems(404, 409)},
    summary="Take back a forgotten proposition",
)
def restore(request: ApiRequest, proposition_id: UUID) -> HttpResponse:
    """Only what was forgotten changes."""
    find_proposition(request, proposition_id)
    try:
        return _reply_with(forgetting.restore(proposition_id))
    except forgetting.NothingToRestore as error:
        raise Problem(409, f"It cannot be restored: {error}.") from None


def _reply_with(row: Proposition) -> HttpResponse:
    shown = _shown([row.pk])
    if not shown:
        raise Problem(404, f"There is no proposition {row.pk}.")
    return reply(shown[0])


def _evidence(ids: Iterable[UUID]) -> dict[UUID, list[Instance]]:
    """The instances of each proposition in the order in which they were folded; one query."""
    found: dict[UUID, list[Instance]] = {key: [] for key in ids}
    rows = Instance.objects.filter(proposition__in=list(found), withdrawn_at__isnull=True)
    for instance in rows.order_by("folded_at", "position", "id"):
        found[instance.proposition_id].append(instance)
    return found


def _after(rows: QuerySet[Proposition], cursor: str | None) -> QuerySet[Proposition]:
    if cursor is None:
        return rows
    try:
        when, _, key = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        created_at, last = datetime.fromisoformat(when), UUID(key)
        if created_at.tzinfo is None:
            raise ValueError
    except (ValueError, binascii.Error):
        raise invalid([field_error("cursor", "is not a next_cursor of this list", where="query")]) from None
    return rows.filter(Q(created_at__lt=created_at) | Q(id__gt=last), created_at__lte=created_at)


def _cursor(row: Proposition) -> str:
    return base64.urlsafe_b64encode(f"{row.created_at.isoformat()} {row.pk}".encode()).decode()

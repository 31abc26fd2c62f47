"""Which propositions a list holds and in what order: the filters and searches that pages and API share.

A list is taken as ids first; what its rows show is read for those of one page only (``detailed``).
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from pgvector.django import CosineDistance

from coverage.models import Chat, Learner
from graphctx.embedding import active_space, embedder_of
from graphctx.models import Instance, Proposition, PropositionVector, has_live_instance
from graphctx.selection import SIMILARITY_DIGITS, with_latest_level
from graphctx.steers import TOPIC_CHARACTERS
from graphctx.vectors import missing_vectors

NO_LEVEL = "none"
NO_EVIDENCE = "no_evidence"
STATES = (*Proposition.State.values, NO_EVIDENCE)
"""What ``state`` may be: a proposition's own, or live without evidence that still stands."""

NEAREST = 200
"""As many as a search by meaning answers."""

LEVELS_SHOWN = 12
"""The latest ones of a proposition that its history over time names."""


def matching(
    rows: QuerySet[Proposition],
    *,
    q: str = "",
    learner: Learner | UUID | None = None,
    kind: str = "",
    level: str = "",
    state: str = "",
    chat: Chat | UUID | None = None,
) -> QuerySet[Proposition]:
    """The rows that meet every filter given. ``level`` may be NO_LEVEL, ``state`` is one of STATES; ``chat`` gave evidence."""
    if q:
        rows = rows.filter(text__icontains=q)
    if learner:
        rows = rows.filter(learner=learner)
    if kind:
        rows = rows.filter(kind=kind)
    if level:
        rows = _of_level(rows, level)
    if state == NO_EVIDENCE:
        rows = rows.filter(~has_live_instance(), state=Proposition.State.LIVE)
    elif state:
        rows = rows.filter(state=state)
    if chat:
        rows = rows.filter(Exists(Instance.objects.filter(proposition=OuterRef("pk"), chat=chat)))
    return rows


def _of_level(rows: QuerySet[Proposition], level: str) -> QuerySet[Proposition]:
    """By the level of the most recent live instance that has one, as ``with_latest_level`` takes it: there is one with
    this level, and none after it. As a join of all it takes a fraction of asking each proposition for its latest.
    """
    levelled = Instance.objects.filter(live=True, level__isnull=False).order_by()
    if level == NO_LEVEL:
        return rows.filter(~Exists(levelled.filter(proposition=OuterRef("pk"))))
    levelled = levelled.alias(said=Coalesce("occurred_at", "folded_at"), place=Coalesce("position", -1))
    later = levelled.filter(
        Q(said__gt=OuterRef("said"))
        | Q(said=OuterRef("said"), place__gt=OuterRef("place"))
        | Q(said=OuterRef("said"), place=OuterRef("place"), pk__gt=OuterRef("pk")),
        proposition=OuterRef("proposition"),
    )
    return rows.filter(pk__in=levelled.filter(~Exists(later), level=level).values("proposition"))


ORDERS = {
    "newest": ("-created_at", "id"),
    "oldest": ("created_at", "id"),
    "text": ("text", "id"),
    "-text": ("-text", "-id"),
    "evidence": ("-instance_count", "-created_at", "id"),
    "-evidence": ("instance_count", "created_at", "-id"),
}


def ids_in_order(rows: QuerySet[Proposition], sort: str = "newest") -> QuerySet:
    """The ids of the rows by one of ORDERS."""
    if sort.endswith("evidence"):
        rows = rows.annotate(instance_count=Count("instances", filter=Q(instances__withdrawn_at__isnull=True)))
    return rows.order_by(*ORDERS[sort]).values_list("pk", flat=True)


def nearest(rows: QuerySet[Proposition], learner: Learner, text: str, limit: int = NEAREST) -> dict[UUID, float]:
    """The learner's ``rows`` nearest in meaning to ``text``, at most ``limit``: id → cosine similarity, nearest first.

    Exact, over every vector of the learner that the rows allow, retired propositions included: the matrix of the scan
    holds what may be retrieved only. Raises EmbeddingError, and SpaceMismatch where the vectors are another model's.
    """
    space = active_space()
    distance = CosineDistance("embedding", embedder_of(space).embed_query(text[:TOPIC_CHARACTERS]))
    found = PropositionVector.objects.filter(space=space, learner=learner, proposition__in=rows)
    pairs = found.annotate(distance=distance).order_by("distance", "proposition_id")
    return {
        key: round(1 - away, SIMILARITY_DIGITS) for key, away in pairs.values_list("proposition_id", "distance")[:limit]
    }


def without_vector(learner: Learner) -> int:
    """How many live propositions of the learner no search by meaning can find yet. Raises EmbeddingError."""
    return missing_vectors(active_space()).filter(learner=learner).count()


def detailed(ids: Iterable[UUID]) -> list[Proposition]:
    """These propositions in this order with learner, ``latest_level``, ``has_evidence`` (live) and ``instance_count``."""
    ids = list(ids)
    rows = with_latest_level(Proposition.objects.select_related("learner").filter(pk__in=ids))
    found = rows.annotate(has_evidence=has_live_instance()).in_bulk(ids)
    evidence = Instance.objects.filter(proposition__in=ids, withdrawn_at__isnull=True).order_by()
    counts = dict(evidence.values_list("proposition").annotate(count=Count("pk")))
    for key, row in found.items():
        row.instance_count = counts.get(key, 0)
    return [found[key] for key in ids if key in found]


def level_histories(propositions: Iterable[UUID]) -> dict[UUID, list[tuple[str, datetime]]]:
    """The latest levels of live evidence per proposition, oldest first; one query."""
    rows = (
        Instance.objects.filter(proposition__in=list(propositions), live=True, level__isnull=False)
        .annotate(at=Coalesce("occurred_at", "folded_at"))
        .order_by("at", "position", "id")
        .values_list("proposition", "level", "at")
    )
    histories: dict[UUID, list[tuple[str, datetime]]] = defaultdict(list)
    for proposition, level, at in rows:
        histories[proposition].append((level, at))
    return {proposition: levels[-LEVELS_SHOWN:] for proposition, levels in histories.items()}

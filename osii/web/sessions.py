"""What one chat did to its learner's graph: the propositions it brought or gave more evidence for, batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Min, OuterRef, Q, Subquery

from coverage.models import Chat, Message
from extraction.models import Batch
from graphctx.models import Instance, Proposition, Steer
from osii.propositions import detailed

ITEMS = 100
"""Contributions listed; the counts are of all."""


@dataclass(frozen=True, slots=True)
class Item:
    """One proposition that a batch touched. ``new``: this was its first evidence anywhere."""

    proposition: Proposition
    new: bool
    levels: Sequence[str]


@dataclass(slots=True)
class Contribution:
    """What one batch brought; ``batch`` is None for evidence that names none, or one that is gone."""

    batch: Batch | None
    items: list[Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Session:
    """``begun`` is whether the chat has messages; before that its budget may still be chosen."""

    begun: bool
    new: int
    more: int
    contributions: Sequence[Contribution]
    steer: Steer | None

    @property
    def listed(self) -> int:
        return sum(len(contribution.items) for contribution in self.contributions)


def session_of(chat: Chat) -> Session:
    """A fixed number of queries. Newest batch first."""
    evidence = Instance.objects.filter(withdrawn_at__isnull=True).order_by()
    origin = evidence.filter(proposition=OuterRef("proposition")).values("proposition").annotate(at=Min("folded_at"))
    touched = (
        evidence.filter(chat=chat)
        .values("batch", "proposition")
        .annotate(
            at=Min("folded_at"),
            origin=Subquery(origin.values("at")),
            levels=ArrayAgg("level", filter=Q(level__isnull=False), distinct=True, default=[]),
        )
        .order_by("-at", "batch", "proposition")
    )
    rows = list(touched)
    new = sum(row["at"] == row["origin"] for row in rows)
    return Session(
        begun=Message.objects.filter(chat=chat).exists(),
        new=new,
        more=len(rows) - new,
        contributions=_by_batch(rows[:ITEMS]),
        steer=Steer.objects.filter(chat=chat).first(),
    )


def _by_batch(rows: list[dict[str, Any]]) -> list[Contribution]:
    batches = Batch.objects.in_bulk({row["batch"] for row in rows if row["batch"]})
    propositions = {row.pk: row for row in detailed({row["proposition"] for row in rows})}
    found: dict[Any, Contribution] = {}
    for row in rows:
        made = found.setdefault(row["batch"], Contribution(batches.get(row["batch"])))
        proposition = propositions.get(row["proposition"])
        if proposition is not None:
            made.items.append(Item(proposition, row["at"] == row["origin"], row["levels"]))
    return list(found.values())

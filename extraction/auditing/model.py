"""What an auditor is asked, what it answers, and the interface that every auditor has."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from extraction.models import Resolution
from graphctx.models import Proposition

Outcome = Resolution.Outcome
State = Proposition.State


@dataclass(frozen=True, slots=True)
class Claim:
    """A candidate as an auditor sees it. ``said_at`` is when its latest evidence was said, else None: just now.

    ``id`` is that of the proposition that it becomes if it is new, so that later claims of its batch can name it.
    """

    id: UUID
    text: str
    kind: str
    said_at: datetime | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Nominee:
    """A proposition that a claim may be about.

    ``said_at`` is when its latest live evidence was said or, without a time, read; ``evident`` whether it has any. ``similarity`` is the cosine to the claim, None when the two
    were not compared so. A superseded one names what holds in its place: ``replaced_by``, said at ``replaced_at``.
    """

    id: UUID
    text: str
    kind: str
    state: str = State.LIVE
    said_at: datetime | None = None
    similarity: float | None = None
    identity: str = ""
    replaced_by: UUID | None = None
    replaced_at: datetime | None = None
    evident: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a claim, and why.

    ``target`` is the proposition that it is (same, discard) or that it supersedes or contradicts; ``also`` are further
    ones of the latter kind. ``returns`` is a known proposition, superseded or without evidence, that the claim says again:
    it takes the place of a new one. ``replaced_by`` is what was said later and holds in the place of this claim, which is then new and superseded at once.
    """

    outcome: str
    reason: str
    target: UUID | None = None
    also: tuple[UUID, ...] = ()
    returns: UUID | None = None
    replaced_by: UUID | None = None

    @property
    def named(self) -> frozenset[UUID]:
        """Every proposition that the decision rests on."""
        return frozenset(pk for pk in (self.target, *self.also, self.returns, self.replaced_by) if pk is not None)


@dataclass(frozen=True, slots=True)
class Question:
    """One claim and what it may be about, nearest first."""

    claim: Claim
    nominees: Sequence[Nominee]


@dataclass(frozen=True, slots=True)
class GraphView:
    """What stands beside the nominees: whether they are the learner's whole graph."""

    whole: bool = False


class Auditor(Protocol):
    """Decides what becomes of the claims of one batch, in their order.

    An earlier claim of the batch is a nominee of the later ones under its own id. Must not touch the database; it runs outside every transaction and
    may take long. Never raises for what a model answers.
    """

    name: str

    def decide(self, questions: Sequence[Question], view: GraphView) -> list[Decision]: ...

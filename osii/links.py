"""How propositions stand to each other, seen from either end of a link."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from graphctx.links import in_force
from graphctx.models import Link, Proposition

SEEN_FROM_TARGET = {
    Link.Type.SUPERSEDES: "superseded_by",
    Link.Type.CONTRADICTS: "contradicts",
    Link.Type.FOLLOWS: "followed_by",
}
"""The word for a link, read from its target."""

WORDS = (*Link.Type.values, "superseded_by", "followed_by")


@dataclass(frozen=True, slots=True)
class Relation:
    """One link as one of its ends sees it: ``word`` is one of WORDS, ``other`` the proposition at the other end;
    ``outgoing`` where this end is the source.
    """

    word: str
    outgoing: bool
    other: UUID
    reason: str
    created_at: datetime


def links_of(propositions: Iterable[Proposition | UUID]) -> dict[UUID, list[Relation]]:
    """The links in force at each of these propositions, oldest first; one query."""
    found: dict[UUID, list[Relation]] = {getattr(one, "pk", one): [] for one in propositions}
    for link in in_force(found):
        if link.source_id in found:
            found[link.source_id].append(_seen(link, link.type, link.target_id, outgoing=True))
        if link.target_id in found:
            word = SEEN_FROM_TARGET[Link.Type(link.type)]
            found[link.target_id].append(_seen(link, word, link.source_id, outgoing=False))
    return found


def _seen(link: Link, word: str, other: UUID, *, outgoing: bool) -> Relation:
    return Relation(word, outgoing, other, link.reason, link.created_at)

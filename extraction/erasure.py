"""Deleting what was said, and what becomes of the propositions that were learned from it.

A deleted message takes the evidence in it out of retrieval; it comes back if the message does. An erased chat takes its
evidence with it for good, and a proposition that has no other goes too: no evidence, no claim.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from coverage import services as chats
from coverage.guards import allow_erase
from coverage.models import Chat, Learner, Message
from graphctx import links
from graphctx.forgetting import ERASED_TEXT
from graphctx.models import Instance, Proposition, PropositionVector

from .locking import with_runs_locked
from .models import Batch, Resolution

ACTOR = "erasure"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the propositions with evidence in a deleted message or chat, counted.

    ``kept`` have live evidence elsewhere; ``out_of_retrieval`` have none that is live. Of an erased chat, ``removed`` had
    no other evidence at all and are gone, and ``forgotten`` are tombstones of such, without their text.
    """

    kept: int = 0
    out_of_retrieval: int = 0
    removed: int = 0
    forgotten: int = 0


def delete_message(chat_id: UUID, message_id: str) -> Fate:
    """Delete a message, release its coverage, and say what its propositions lose.

    Raises Chat.DoesNotExist or Message.DoesNotExist.
    """
    with transaction.atomic():
        chats.lock_chat(chat_id)
        stood_on = Instance.objects.filter(chat=chat_id, message_id=message_id, live=True)
        touched = set(stood_on.values_list("proposition", flat=True))
        chats.delete_message(chat_id, message_id)
        return Fate(**standing(touched))


def erase_chat(chat_id: UUID) -> tuple[int, Fate]:
    """Erase a chat with everything that was read from it; returns the number of its messages, and the fate of its
    propositions.

    A run that is reading it finds its lease gone and writes nothing. Raises Chat.DoesNotExist.
    """
    return with_runs_locked(chat_id, _erase)


def _erase(chat: Chat) -> tuple[int, Fate]:
    learner = Learner.objects.select_for_update(no_key=True).get(pk=chat.learner_id)
    # In full, so that a worker that is staging right now waits, and then finds its batch gone.
    list(Batch.objects.filter(chat=chat).select_for_update().order_by("pk").values_list("pk", flat=True))
    touched = set(Instance.objects.filter(chat=chat).values_list("proposition", flat=True))
    messages = Message.objects.filter(chat=chat).count()
    replaced = links.below(touched)
    allow_erase()
    chat.delete()
    removed, forgotten = remove_bare(touched, "the proposition it was merged into was erased with its chat")
    links.refresh_states(touched | replaced)
    if touched:
        Learner.objects.filter(pk=learner.pk).update(graph_revision=F("graph_revision") + 1)
    left = touched.difference(removed, forgotten)
    return messages, Fate(**standing(left), removed=len(removed), forgotten=len(forgotten))


def remove_bare(touched: Iterable[UUID], reason: str) -> tuple[set[UUID], set[UUID]]:
    """Of these propositions, remove those without any evidence; returns the ids removed, and those of tombstones, which
    stay without their text.

    ``reason`` is told of candidates that were merged into what is removed. The caller holds the learner's lock and has
    called ``allow_erase``.
    """
    has_evidence = Exists(Instance.objects.filter(proposition=OuterRef("pk")))
    bare = Proposition.objects.filter(~has_evidence, pk__in=list(touched))
    forgotten = _empty_tombstones(bare)
    return _remove(bare.exclude(state=Proposition.State.FORGOTTEN), reason), forgotten


def foreseen(evidence: Q) -> tuple[int, Fate]:
    """How many instances ``evidence`` selects, and what would become of their propositions if these were erased."""
    elsewhere = Instance.objects.filter(proposition=OuterRef("pk")).exclude(evidence)
    stood_on = Proposition.objects.filter(Exists(Instance.objects.filter(evidence, proposition=OuterRef("pk"))))
    bare = stood_on.filter(~Exists(elsewhere))
    forgotten = bare.filter(state=Proposition.State.FORGOTTEN).count()
    total = stood_on.count()
    kept = stood_on.filter(Exists(elsewhere.filter(live=True))).count()
    removed = bare.count() - forgotten
    fate = Fate(kept, total - kept - removed - forgotten, removed, forgotten)
    return Instance.objects.filter(evidence).count(), fate


def standing(touched: Iterable[UUID]) -> dict[str, int]:
    """Of these propositions, how many have live evidence and how many have none."""
    touched = set(touched)
    live = Instance.objects.filter(proposition__in=touched, live=True)
    kept = live.order_by().values("proposition").distinct().count()
    return {"kept": kept, "out_of_retrieval": len(touched) - kept}


def _empty_tombstones(bare: QuerySet[Proposition]) -> set[UUID]:
    """What was forgotten stays forgotten when its chat is imported again, but nothing of what it said is kept."""
    ids = set(bare.filter(state=Proposition.State.FORGOTTEN).values_list("pk", flat=True))
    Proposition.objects.filter(pk__in=ids).update(text=ERASED_TEXT)
    PropositionVector.objects.filter(proposition__in=ids).delete()
    return ids


def _remove(bare: QuerySet[Proposition], reason: str) -> set[UUID]:
    """Delete propositions; a candidate of another chat that was merged into one of them is resolved anew."""
    ids = set(bare.values_list("pk", flat=True))
    orphaned = set(Resolution.objects.filter(proposition__in=ids).values_list("candidate", flat=True))
    Proposition.objects.filter(pk__in=ids).delete()
    resolved = Resolution.objects.filter(candidate__in=orphaned).values_list("candidate", flat=True)
    Resolution.objects.bulk_create(
        Resolution(
            candidate_id=candidate,
            outcome=Resolution.Outcome.DISCARD,
            reason=reason,
            actor=ACTOR,
        )
        for candidate in orphaned.difference(resolved)
    )
    return ids

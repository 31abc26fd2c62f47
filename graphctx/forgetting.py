"""Forget this: a claim that its learner does not want remembered. A tombstone stays, so that a merge does not learn it again."""

from uuid import UUID

from django.db import transaction
from django.db.models import F

from coverage.models import Learner

from .models import Proposition

ERASED_TEXT = "(forgotten)"
"""The text of a tombstone whose last evidence was erased; its identity still says what must not be learned."""


class NothingToRestore(Exception):
    """The evidence of a forgotten proposition was erased, and its text with it."""


def forget(proposition_id: UUID) -> Proposition:
    """Forget a proposition; it leaves retrieval at once. Idempotent. Raises Proposition.DoesNotExist."""
    return _set_state(proposition_id, Proposition.State.FORGOTTEN)


def restore(proposition_id: UUID) -> Proposition:
    """Take a forgotten proposition back; any other stays as it is. Idempotent.

    Raises Proposition.DoesNotExist and NothingToRestore.
    """
    return _set_state(proposition_id, Proposition.State.LIVE)


def _set_state(proposition_id: UUID, state: str) -> Proposition:
    with transaction.atomic():
        owner = Proposition.objects.values_list("learner", flat=True).get(pk=proposition_id)
        learner = Learner.objects.select_for_update(no_key=True).get(pk=owner)
        proposition = Proposition.objects.get(pk=proposition_id)
        was = proposition.state
        if was == state or (state == Proposition.State.LIVE and was != Proposition.State.FORGOTTEN):
            return proposition
        if state == Proposition.State.LIVE and not proposition.instances.exists():
            raise NothingToRestore("its evidence was erased, and what it said with it")
        proposition.state = state
        proposition.save(update_fields=("state",))
        Learner.objects.filter(pk=learner.pk).update(graph_revision=F("graph_revision") + 1)
    return proposition

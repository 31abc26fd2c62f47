"""Forget this: a claim that its learner does not want remembered. A tombstone stays, so that a merge does not learn it again."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.db.models import F

from coverage.models import Learner

from .models import Link, Proposition

ERASED_TEXT = "(forgotten)"
"""The text of a tombstone whose last evidence was erased; its identity still says what must not be learned."""


class NothingToRestore(Exception):
    """The evidence of a forgotten proposition was erased, and its text with it."""


def forget(proposition_id: UUID) -> Proposition:
    """Forget a proposition; it leaves retrieval at once. Idempotent. Raises Proposition.DoesNotExist."""
    with _locked(proposition_id) as proposition:
        return _set_state(proposition, Proposition.State.FORGOTTEN)


def restore(proposition_id: UUID) -> Proposition:
    """Take a forgotten proposition back, as what it was: superseded while another supersedes it, else live. Any other
    stays as it is. Idempotent.

    Raises Proposition.DoesNotExist and NothingToRestore.
    """
    with _locked(proposition_id) as proposition:
        if proposition.state != Proposition.State.FORGOTTEN:
            return proposition
        if not proposition.instances.exists():
            raise NothingToRestore("its evidence was erased, and what it said with it")
        return _set_state(proposition, _state_before(proposition))


def _state_before(proposition: Proposition) -> str:
    """Nothing remembers it: a link in force says whether the claim was superseded, now and when it was forgotten."""
    superseding = Link.objects.filter(target=proposition, type=Link.Type.SUPERSEDES, withdrawn_at__isnull=True)
    return Proposition.State.SUPERSEDED if superseding.exists() else Proposition.State.LIVE


@contextmanager
def _locked(proposition_id: UUID) -> Iterator[Proposition]:
    """The proposition as it is now, under its learner's lock, in a transaction."""
    with transaction.atomic():
        owner = Proposition.objects.values_list("learner", flat=True).get(pk=proposition_id)
        Learner.objects.select_for_update(no_key=True).get(pk=owner)
        yield Proposition.objects.get(pk=proposition_id)


def _set_state(proposition: Proposition, state: str) -> Proposition:
    if proposition.state != state:
        proposition.state = state
        proposition.save(update_fields=("state",))
        Learner.objects.filter(pk=proposition.learner_id).update(graph_revision=F("graph_revision") + 1)
    return proposition

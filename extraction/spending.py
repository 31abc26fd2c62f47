"""Caps on the tokens that are read: per run, and per day. What was spent is derived from the batches, never counted up.

A batch costs its tokens once per attempt. A batch begins only while the cap is not reached, so each worker may pass a cap
by at most the batch that it is in.
"""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from .models import Batch

DAY = timedelta(days=1)
ENDED = (Batch.Status.SUCCEEDED, Batch.Status.FAILED, Batch.Status.PARKED)


def spent_by_run(run_id: UUID) -> int:
    """Tokens that this run's batches read so far."""
    return _tokens(run=run_id)


def spent_in_a_day() -> int:
    """Tokens of all batches that ended in the last 24 hours."""
    return _tokens(finished_at__gt=timezone.now() - DAY)


def _tokens(**which: object) -> int:
    cost = Coalesce(Sum(F("tokens") * F("attempt")), 0)
    return Batch.objects.filter(status__in=ENDED, **which).aggregate(cost=cost)["cost"]


def run_is_spent(run_id: UUID) -> str:
    """Why this run may begin no further batch; empty when it may."""
    cap = settings.EXTRACTION_TOKENS_PER_RUN
    spent = spent_by_run(run_id) if cap else 0
    if not cap or spent < cap:
        return ""
    return f"stopped at its cap: it read {spent:,} tokens, and EXTRACTION_TOKENS_PER_RUN is {cap:,}; the rest is unread"


def day_is_spent() -> str:
    """Why no run may begin a batch now; empty when one may."""
    cap = settings.EXTRACTION_TOKENS_PER_DAY
    spent = spent_in_a_day() if cap else 0
    if not cap or spent < cap:
        return ""
    return (
        f"runs wait for the daily cap: {spent:,} tokens were read in the last 24 hours, "
        f"and EXTRACTION_TOKENS_PER_DAY is {cap:,}"
    )

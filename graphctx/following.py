"""``follows`` links: in a chat, what was said next follows what was said before it."""

from collections.abc import Collection
from itertools import pairwise
from uuid import UUID

from django.db.models import Max, Min

from coverage.models import Learner

from .links import withdraw
from .models import Instance, Link


def link_consecutive(learner: Learner, chat_id: UUID, positions: Collection[int], batch: UUID | None) -> None:
    """Link the propositions of a chat around these positions of evidence, each to the one said before it; repeating it
    changes nothing. The caller holds the learner's lock. Four queries.
    """
    if not positions:
        return
    evidence = Instance.objects.filter(chat=chat_id, withdrawn_at__isnull=True, position__isnull=False)
    first, last = min(positions), max(positions)
    before = evidence.filter(position__lt=first).aggregate(at=Max("position"))["at"]
    after = evidence.filter(position__gt=last).aggregate(at=Min("position"))["at"]
    reach = evidence.filter(
        position__gte=first if before is None else before, position__lte=last if after is None else after
    )
    said = reach.order_by("position", "part", "char_start", "id").values_list("position", "proposition")
    order = list(said)
    written = set(positions)
    Link.objects.bulk_create(
        (
            Link(learner=learner, source_id=later, target_id=earlier, type=Link.Type.FOLLOWS, batch=batch)
            for (at, earlier), (then, later) in pairwise(order)
            if earlier != later and (at in written or then in written)
        ),
        batch_size=500,
        ignore_conflicts=True,
    )


def unlink(chat_id: UUID, proposition_id: UUID, batch: UUID, by: UUID) -> None:
    """Take back the ``follows`` links that a batch made for a proposition which has no evidence in its chat any more."""
    if Instance.objects.filter(chat=chat_id, proposition=proposition_id, withdrawn_at__isnull=True).exists():
        return
    made = Link.objects.filter(batch=batch, type=Link.Type.FOLLOWS)
    withdraw(made.filter(source=proposition_id) | made.filter(target=proposition_id), by)

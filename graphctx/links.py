"""Links between propositions, and what they say about a proposition's state.

A proposition is superseded while something that supersedes it, directly or in turn, has live evidence. So it comes back
when that evidence goes, and goes again when it returns. The caller holds the learner's lock.
"""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from .models import Link

# Downwards from what changed to all that it supersedes, and for each of those upwards to all that supersedes it.
REFRESH = """
WITH RECURSIVE down AS (
    SELECT unnest(%(ids)s::uuid[]) AS id
    UNION
    SELECT l.target_id FROM down d JOIN graphctx_link l
        ON l.source_id = d.id AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
), up AS (
    SELECT d.id AS root, l.source_id AS node FROM down d JOIN graphctx_link l
        ON l.target_id = d.id AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
    UNION
    SELECT up.root, l.source_id FROM up JOIN graphctx_link l
        ON l.target_id = up.node AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
), replaced AS (
    SELECT DISTINCT root FROM up
    WHERE EXISTS (SELECT 1 FROM graphctx_instance i WHERE i.proposition_id = up.node AND i.live)
), due AS (
    SELECT p.id, CASE WHEN r.root IS NULL THEN 'live' ELSE 'superseded' END AS state
    FROM graphctx_proposition p JOIN down d ON d.id = p.id LEFT JOIN replaced r ON r.root = p.id
    WHERE p.state <> 'forgotten'
)
UPDATE graphctx_proposition p SET state = due.state FROM due WHERE due.id = p.id AND p.state <> due.state
RETURNING p.id
"""
# What holds in the place of each superseded proposition: where its links end, the one that was said last.
HEADS = """
WITH RECURSIVE up AS (
    SELECT unnest(%(ids)s::uuid[]) AS root, unnest(%(ids)s::uuid[]) AS node
    UNION
    SELECT up.root, l.source_id FROM up JOIN graphctx_link l
        ON l.target_id = up.node AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
)
SELECT DISTINCT ON (up.root) up.root, up.node, said.at FROM up
CROSS JOIN LATERAL (
    SELECT max(COALESCE(i.occurred_at, i.folded_at)) AS at FROM graphctx_instance i
    WHERE i.proposition_id = up.node AND i.live
) said
WHERE up.node <> up.root AND said.at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM graphctx_link l JOIN graphctx_instance i ON i.proposition_id = l.source_id AND i.live
    WHERE l.target_id = up.node AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
)
ORDER BY up.root, said.at DESC, up.node
"""


def in_force(propositions: Iterable[UUID]) -> QuerySet[Link]:
    """The links into and out of these propositions that were not withdrawn, oldest first."""
    ids = list(propositions)
    return Link.objects.filter(Q(source__in=ids) | Q(target__in=ids), withdrawn_at__isnull=True)


def refresh_states(ids: Collection[UUID]) -> list[UUID]:
    """Make ``state`` of these propositions, and of all that they supersede, what links and evidence say; returns the ids
    that changed. What is forgotten stays forgotten. One query.
    """
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(REFRESH, {"ids": list(ids)})
        return [row[0] for row in cursor.fetchall()]


def heads(ids: Collection[UUID]) -> dict[UUID, tuple[UUID, object]]:
    """What holds in the place of each superseded proposition, and when it was said last (datetime)."""
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(HEADS, {"ids": list(ids)})
        return {root: (node, at) for root, node, at in cursor.fetchall()}


def below(ids: Collection[UUID]) -> set[UUID]:
    """All that these propositions supersede, directly or in turn: who erases them refreshes those afterwards."""
    found: set[UUID] = set()
    edge = set(ids)
    while edge:
        links = Link.objects.filter(source__in=edge, type=Link.Type.SUPERSEDES, withdrawn_at__isnull=True)
        edge = set(links.values_list("target", flat=True)) - found
        found |= edge
    return found


def withdraw(links: QuerySet[Link], by: UUID | None = None) -> set[UUID]:
    """Take these links back, on account of the resolution ``by``; returns the ends, whose state may follow from them."""
    rows = list(links.filter(withdrawn_at__isnull=True).values_list("pk", "source", "target"))
    Link.objects.filter(pk__in=[row[0] for row in rows]).update(withdrawn_at=timezone.now(), withdrawn_by=by)
    return {pk for _link, source, target in rows for pk in (source, target)}

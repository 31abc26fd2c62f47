"""What must always hold of links and of the states that follow from them; each violation is one line of text."""

from collections.abc import Iterator

from django.db import connection

# A proposition is superseded exactly while one that supersedes it, directly or in turn, has live evidence.
WRONG_STATES = """
WITH RECURSIVE up AS (
    SELECT l.target_id AS root, l.source_id AS node FROM graphctx_link l
    WHERE l.type = 'supersedes' AND l.withdrawn_at IS NULL
    UNION
    SELECT up.root, l.source_id FROM up JOIN graphctx_link l
        ON l.target_id = up.node AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
), replaced AS (
    SELECT DISTINCT root FROM up
    WHERE EXISTS (SELECT 1 FROM graphctx_instance i WHERE i.proposition_id = up.node AND i.live)
)
SELECT p.id, p.state FROM graphctx_proposition p LEFT JOIN replaced r ON r.root = p.id
WHERE p.state <> 'forgotten' AND p.state <> CASE WHEN r.root IS NULL THEN 'live' ELSE 'superseded' END
"""
CIRCLES = """
WITH RECURSIVE up AS (
    SELECT l.target_id AS root, l.source_id AS node FROM graphctx_link l
    WHERE l.type = 'supersedes' AND l.withdrawn_at IS NULL
    UNION
    SELECT up.root, l.source_id FROM up JOIN graphctx_link l
        ON l.target_id = up.node AND l.type = 'supersedes' AND l.withdrawn_at IS NULL
)
SELECT root FROM up WHERE root = node
"""
FOREIGN_LINKS = """
SELECT l.id FROM graphctx_link l
JOIN graphctx_proposition s ON s.id = l.source_id JOIN graphctx_proposition t ON t.id = l.target_id
WHERE s.learner_id <> l.learner_id OR t.learner_id <> l.learner_id
"""


def check_links() -> Iterator[str]:
    """Violations over links: whose they are, that superseding runs in no circle, and the states."""
    with connection.cursor() as cursor:
        cursor.execute(FOREIGN_LINKS)
        for (link,) in cursor.fetchall():
            yield f"link {link}: it joins propositions of another learner"
        cursor.execute(CIRCLES)
        for (proposition,) in cursor.fetchall():
            yield f"proposition {proposition}: it supersedes itself in a circle"
        cursor.execute(WRONG_STATES)
        for proposition, state in cursor.fetchall():
            should = "superseded" if state == "live" else "live"
            yield f"proposition {proposition}: {state}, but its links and their evidence say {should}"

"""Keeping each chat's memo fresh: what lists sort and filter by, computed from the diff and stamped with its revision.

A memo is a cache and no second ledger: nothing writes what it says but the one statement below, which reads the revision
and the diff in one snapshot. Whatever commits meanwhile has raised the revision, so the memo is then invalid, never wrong.
"""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from .models import ChatFigures, ChatSummary

AT_ONCE = 200
"""Chats that one call summarises: what a page may wait for."""
IN_PLACE = 200
"""Chats without a memo that the view ``coverage_chatfigures`` computes in place (migration 0005)."""

# The stamp is the revision that the figures' own snapshot saw. The rows are locked only after that, and none is waited
# for: a writer holds its chat's row until it commits, and then there is something newer to summarise.
FILL = """
WITH found AS MATERIALIZED (
    SELECT o.chat_id, o.revision, f.*
    FROM (
        SELECT chat_id, revision FROM coverage_chatsummary
        WHERE NOT fresh {chosen} LIMIT %s
    ) o CROSS JOIN LATERAL osii_chat_figures(o.chat_id) f
), free AS MATERIALIZED (
    SELECT chat_id FROM coverage_chatsummary WHERE chat_id IN (SELECT chat_id FROM found)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE coverage_chatsummary s
SET summarised = found.revision, message_count = found.message_count, tokens = found.tokens,
    covered_tokens = found.covered_tokens, last_said_at = found.last_said_at
FROM found JOIN free USING (chat_id) WHERE s.chat_id = found.chat_id AND s.revision = found.revision
"""

WRONG = """
SELECT s.chat_id, s.covered_tokens, s.tokens, s.message_count, f.covered_tokens, f.tokens, f.message_count,
       s.last_said_at IS DISTINCT FROM f.last_said_at
FROM coverage_chatsummary s CROSS JOIN LATERAL osii_chat_figures(s.chat_id) f
WHERE s.fresh
  AND (s.covered_tokens, s.tokens, s.message_count, s.last_said_at)
      IS DISTINCT FROM (f.covered_tokens, f.tokens, f.message_count, f.last_said_at)
"""
MISSING = "SELECT id FROM coverage_chat c WHERE NOT EXISTS (SELECT FROM coverage_chatsummary s WHERE s.chat_id = c.id)"
TRIGGERS = """
SELECT tgrelid::regclass::text || '.' || tgname FROM pg_trigger
WHERE tgfoid IN (to_regproc('osii_chat_made'), to_regproc('osii_chat_changed')) AND tgenabled = 'O'
"""
EXPECTED = {"coverage_chat.coverage_chat_summary"} | {
    f"{table}.{table}_summary_{event}"
    for table in ("coverage_message", "coverage_coverageentry")
    for event in ("insert", "update", "delete")
}


def fill(limit: int = AT_ONCE, chat_ids: Sequence[UUID] | None = None) -> int:
    """Summarise up to ``limit`` chats that have no memo (of ``chat_ids``, if given); returns how many got one."""
    chosen = "" if chat_ids is None else "AND chat_id = ANY(%s)"
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(chosen=chosen), [limit] if chat_ids is None else [list(chat_ids), limit])
        return cursor.rowcount


def fill_all() -> int:
    """Summarise every chat that has no memo and that nobody is writing to; returns how many got one."""
    done = 0
    while filled := fill():
        done += filled
    return done


def outdated() -> int:
    """How many chats have no memo now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM coverage_chatsummary WHERE NOT fresh")
        return cursor.fetchone()[0]


def listed() -> tuple[QuerySet[ChatSummary] | QuerySet[ChatFigures], int]:
    """Every chat's figures, for lists and counts, and how many chats are missing among them: none but just after very much
    has changed at once.

    A few chats without a memo get theirs now. As long as any has none, the figures come from the view, which computes
    those in place; else from the memos alone, for a table has indexes to sort by. Both have the same columns.
    """
    without = outdated()
    if without:
        fill()
        without = outdated()
    if without:
        return ChatFigures.objects.all(), max(0, without - IN_PLACE)
    return ChatSummary.objects.all(), 0


def check() -> Iterator[str]:
    """Memos that do not say what the diff says, chats without a row, and triggers that are gone."""
    with connection.cursor() as cursor:
        cursor.execute(WRONG)
        for chat, covered, tokens, count, real_covered, real_tokens, real_count, said in cursor.fetchall():
            yield (
                f"chat {chat}: its memo says {covered} of {tokens} tokens covered in {count} messages, the diff says "
                f"{real_covered} of {real_tokens} in {real_count}"
                + (", and something else was said last" if said else "")
            )
        cursor.execute(MISSING)
        for (chat,) in cursor.fetchall():
            yield f"chat {chat}: it has no summary row"
        cursor.execute(TRIGGERS)
        there = {name for (name,) in cursor.fetchall()}
    for name in sorted(EXPECTED - there):
        yield f"trigger {name}: it is missing or disabled, so memos go out of date unseen"

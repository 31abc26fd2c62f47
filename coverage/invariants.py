"""What must always hold of chats and the ledger; each violation is one line of text."""

from collections.abc import Iterator

from django.db import connection

from . import summaries
from .models import Message
from .view import fingerprint, is_streaming, transcript_view, view_tokens

OVERDRAWN = """
SELECT chat_id, fingerprint, sum(CASE kind WHEN 'cover' THEN 1 ELSE -1 END) AS balance
FROM coverage_coverageentry GROUP BY chat_id, fingerprint
HAVING sum(CASE kind WHEN 'cover' THEN 1 ELSE -1 END) < 0
"""
GAPS = """
SELECT chat_id FROM coverage_message WHERE position IS NOT NULL
GROUP BY chat_id HAVING count(*) <> max(position) OR min(position) <> 1
"""


def check() -> Iterator[str]:
    """Violations of coverage: derived columns, transcript order, the ledger and its guard."""
    yield from _derived_columns()
    yield from summaries.check()
    with connection.cursor() as cursor:
        cursor.execute(OVERDRAWN)
        for chat, mark, balance in cursor.fetchall():
            yield f"chat {chat}: the ledger's sum for {mark} is {balance}"
        cursor.execute(GAPS)
        for (chat,) in cursor.fetchall():
            yield f"chat {chat}: the positions of its transcript are not 1, 2, 3…"
    yield from missing_guards("coverage_coverageentry")
    yield from _disabled_triggers()


def _derived_columns() -> Iterator[str]:
    for message in Message.objects.iterator(chunk_size=500):
        view = transcript_view(message.role, message.parts)
        where = f"chat {message.chat_id}, message {message.message_id}"
        if message.fingerprint != fingerprint(view):
            yield f"{where}: the stored fingerprint is not that of its view"
        if message.tokens != view_tokens(view):
            yield f"{where}: {message.tokens} tokens stored, {view_tokens(view)} in its view"
        if message.streaming != is_streaming(message.parts):
            yield f"{where}: streaming is stored as {message.streaming}"


def missing_guards(*tables: str) -> Iterator[str]:
    """Guarded tables whose triggers, against changes and against TRUNCATE, are gone or disabled."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgenabled = 'O'")
        there = {row[0] for row in cursor.fetchall()}
    for table in tables:
        if f"{table}_guard" not in there:
            yield f"table {table}: its append-only trigger is missing or disabled"
        if f"{table}_guard_truncate" not in there:
            yield f"table {table}: its trigger against TRUNCATE is missing or disabled"


def _disabled_triggers() -> Iterator[str]:
    """Whatever rule a trigger keeps, while it is disabled nobody does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text, tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
            "WHERE c.relnamespace = current_schema::regnamespace AND NOT tgisinternal AND tgenabled <> 'O' ORDER BY 1, 2"
        )
        for table, trigger in cursor.fetchall():
            yield f"table {table}: its trigger {trigger} is disabled"

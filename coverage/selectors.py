"""Reads of chats that cost a query."""

from uuid import UUID

from django.db import connection

# Of the messages with one fingerprint, all but as many as the ledger covers are uncovered. They have the same tokens; were it
# otherwise, the most of them still bounds. No window, no join: each table is read once and summed.
AT_MOST = """
SELECT coalesce(sum(tokens * greatest(messages - greatest(balance, 0), 0)), 0)
FROM (
    SELECT max(tokens) AS tokens, sum(message) AS messages, sum(delta) AS balance
    FROM (
        SELECT fingerprint, tokens, 1 AS message, 0 AS delta
        FROM coverage_message WHERE chat_id = %s AND position IS NOT NULL
        UNION ALL
        SELECT fingerprint, 0, 0, CASE kind WHEN 'cover' THEN 1 ELSE -1 END
        FROM coverage_coverageentry WHERE chat_id = %s
    ) line
    GROUP BY fingerprint
) content
"""


def uncovered_at_most(chat_id: UUID) -> int:
    """A chat's uncovered tokens, for a fraction of what the diff costs: it does not tell which messages they are in."""
    with connection.cursor() as cursor:
        cursor.execute(AT_MOST, [chat_id, chat_id])
        return int(cursor.fetchone()[0])

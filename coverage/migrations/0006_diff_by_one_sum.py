"""The diff by one window: ledger lines come before the messages of their fingerprint, and each message takes one away.

Numbering the messages and summing the ledger were two passes over all rows.
"""

from importlib import import_module

from django.db import migrations

VIEW = """
CREATE OR REPLACE VIEW coverage_messagecoverage AS
SELECT id, chat_id, message_id, position, role, fingerprint, tokens, changed_at, streaming, remaining >= 0 AS covered
FROM (
    SELECT u.*,
           -- What the ledger covers, less the messages up to this one. Ledger lines have no position.
           sum(delta) OVER (
               PARTITION BY chat_id, fingerprint ORDER BY position NULLS FIRST ROWS UNBOUNDED PRECEDING
           ) AS remaining
    FROM (
        SELECT id, chat_id, message_id, position, role, fingerprint, tokens, changed_at,
               streaming AND settled_at IS NULL AS streaming, -1 AS delta
        FROM coverage_message WHERE position IS NOT NULL
        UNION ALL
        SELECT NULL, chat_id, NULL, NULL, NULL, fingerprint, tokens, NULL, NULL,
               CASE kind WHEN 'cover' THEN 1 ELSE -1 END
        FROM coverage_coverageentry
    ) u
) taken
WHERE id IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("coverage", "0005_chat_summaries")]

    operations = [
        migrations.RunSQL(
            VIEW,
            import_module("coverage.migrations.0003_diff_by_window").VIEW.replace("CREATE", "CREATE OR REPLACE", 1),
        )
    ]

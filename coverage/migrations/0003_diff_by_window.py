"""The diff without a join: messages and ledger lines are one relation, numbered and summed by window.

A join of messages with the summed ledger depends on the planner's estimates, and before the first ANALYZE of a large
import it took minutes where a sort takes milliseconds.
"""

from importlib import import_module

from django.db import migrations

VIEW = """
CREATE VIEW coverage_messagecoverage AS
SELECT id, chat_id, message_id, position, role, fingerprint, tokens, changed_at, streaming, nth <= balance AS covered
FROM (
    SELECT u.*,
           -- Ledger lines have no position and so come after every message.
           row_number() OVER (PARTITION BY chat_id, fingerprint ORDER BY position) AS nth,
           sum(delta) OVER (PARTITION BY chat_id, fingerprint) AS balance
    FROM (
        SELECT id, chat_id, message_id, position, role, fingerprint, tokens, changed_at,
               streaming AND settled_at IS NULL AS streaming, 0 AS delta
        FROM coverage_message WHERE position IS NOT NULL
        UNION ALL
        SELECT NULL, chat_id, NULL, NULL, NULL, fingerprint, tokens, NULL, NULL,
               CASE kind WHEN 'cover' THEN 1 ELSE -1 END
        FROM coverage_coverageentry
    ) u
) numbered
WHERE id IS NOT NULL;
"""

DROP = "DROP VIEW coverage_messagecoverage;"


class Migration(migrations.Migration):
    dependencies = [("coverage", "0002_ledger_rules")]

    operations = [
        migrations.RunSQL(DROP, import_module("coverage.migrations.0002_ledger_rules").VIEW),
        migrations.RunSQL(VIEW, DROP),
    ]

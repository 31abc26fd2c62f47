"""Rules that the database keeps: the ledger is append-only, and the diff is a view over it."""

from django.db import migrations

from coverage.guards import DROP_GUARD, GUARD, guard

VIEW = """
CREATE VIEW coverage_messagecoverage AS
SELECT m.id, m.chat_id, m.message_id, m.position, m.role, m.fingerprint, m.tokens, m.changed_at,
       m.streaming AND m.settled_at IS NULL AS streaming,
       row_number() OVER (PARTITION BY m.chat_id, m.fingerprint ORDER BY m.position) <= COALESCE(l.balance, 0)
           AS covered
FROM coverage_message m
LEFT JOIN (
    SELECT chat_id, fingerprint, sum(CASE kind WHEN 'cover' THEN 1 ELSE -1 END) AS balance
    FROM coverage_coverageentry GROUP BY chat_id, fingerprint
) l ON l.chat_id = m.chat_id AND l.fingerprint = m.fingerprint
WHERE m.position IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("coverage", "0001_initial")]

    operations = [
        migrations.RunSQL(GUARD, DROP_GUARD),
        guard("coverage_coverageentry"),
        migrations.RunSQL(VIEW, "DROP VIEW coverage_messagecoverage;"),
    ]

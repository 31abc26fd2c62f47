"""A memo per chat of what the diff says, which shows by itself when it is out of date.

The triggers count; they never say whether a message is covered. What a memo holds comes from ``osii_chat_figures`` alone,
which asks the one diff.
"""

import django.db.models.deletion
from django.db import migrations, models

TABLE = """
-- A summary goes with its chat, whoever deletes that.
ALTER TABLE coverage_chatsummary ADD CONSTRAINT coverage_chatsummary_chat FOREIGN KEY (chat_id)
    REFERENCES coverage_chat (id) ON DELETE CASCADE;
-- What is to be summarised again: few.
CREATE INDEX summary_outdated ON coverage_chatsummary (chat_id) WHERE NOT fresh;
-- The counter of a busy chat is written often: its page keeps room for the next version of the row.
ALTER TABLE coverage_chatsummary SET (fillfactor = 70);
"""

FIGURES = """
CREATE FUNCTION osii_chat_figures(of_chat uuid)
RETURNS TABLE (message_count int, tokens bigint, covered_tokens bigint, last_said_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT count(*)::int, coalesce(sum(v.tokens), 0)::bigint, coalesce(sum(v.tokens) FILTER (WHERE v.covered), 0)::bigint,
           (SELECT max(coalesce(m.said_at, CASE c.source WHEN 'api' THEN m.created_at END))
            FROM coverage_message m JOIN coverage_chat c ON c.id = m.chat_id
            WHERE m.chat_id = of_chat AND m.position IS NOT NULL)
    FROM coverage_messagecoverage v WHERE v.chat_id = of_chat
$$;
"""

TRIGGERS = """
CREATE FUNCTION osii_chat_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO coverage_chatsummary
        (chat_id, revision, transcript_revision, summarised, message_count, tokens, covered_tokens)
    SELECT id, 0, 0, 0, 0, 0, 0 FROM changed;
    RETURN NULL;
END $$;

CREATE FUNCTION osii_chat_changed() RETURNS trigger LANGUAGE plpgsql AS $$
-- Argument: 1 where messages changed, 0 where the ledger did.
BEGIN
    UPDATE coverage_chatsummary s
    SET revision = s.revision + 1, transcript_revision = s.transcript_revision + TG_ARGV[0]::int
    FROM (SELECT DISTINCT chat_id FROM changed) c WHERE s.chat_id = c.chat_id;
    IF TG_OP = 'UPDATE' THEN
        -- Rows that went from one chat to another changed both.
        UPDATE coverage_chatsummary s
        SET revision = s.revision + 1, transcript_revision = s.transcript_revision + TG_ARGV[0]::int
        FROM (SELECT chat_id FROM before EXCEPT SELECT chat_id FROM changed) c WHERE s.chat_id = c.chat_id;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER coverage_chat_summary AFTER INSERT ON coverage_chat
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION osii_chat_made();
"""

# As graphctx's migration 0007 does for propositions: where PostgreSQL has trigrams, a word is found by index.
TRIGRAMS = """
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') OR (
    EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'pg_trgm' AND trusted)
    AND has_database_privilege(current_database(), 'CREATE')
  ) THEN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX chat_title_trigrams ON coverage_chat USING gin (upper(title::text) gin_trgm_ops);
    CREATE INDEX chat_external_id_trigrams ON coverage_chat USING gin (upper(external_id::text) gin_trgm_ops);
  END IF;
END $$;
"""

COUNTED = {"coverage_message": 1, "coverage_coverageentry": 0}
EVENTS = {
    "INSERT": "NEW TABLE AS changed",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS changed",
    "DELETE": "OLD TABLE AS changed",
}

VIEW = """
CREATE VIEW coverage_chatfigures AS
SELECT chat_id, message_count, tokens, covered_tokens, uncovered_tokens, last_said_at
FROM coverage_chatsummary WHERE fresh
UNION ALL
SELECT o.chat_id, f.message_count, f.tokens, f.covered_tokens, f.tokens - f.covered_tokens, f.last_said_at
FROM (SELECT chat_id FROM coverage_chatsummary WHERE NOT fresh LIMIT 200) o
CROSS JOIN LATERAL osii_chat_figures(o.chat_id) f;
"""

# Every chat that is there gets its memo now: a list would have to compute it later.
FILL = """
INSERT INTO coverage_chatsummary
    (chat_id, revision, transcript_revision, summarised, message_count, tokens, covered_tokens, last_said_at)
SELECT c.id, 0, 0, 0, f.message_count, f.tokens, f.covered_tokens, f.last_said_at
FROM coverage_chat c CROSS JOIN LATERAL osii_chat_figures(c.id) f;
"""


def _counting() -> list[str]:
    return [
        f"CREATE TRIGGER {table}_summary_{event.lower()} AFTER {event} ON {table} REFERENCING {rows} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION osii_chat_changed({transcript});"
        for table, transcript in COUNTED.items()
        for event, rows in EVENTS.items()
    ]


def _not_counting() -> list[str]:
    return [f"DROP TRIGGER {table}_summary_{event.lower()} ON {table};" for table in COUNTED for event in EVENTS]


class Migration(migrations.Migration):
    dependencies = [("coverage", "0004_firmer_guards")]

    operations = [
        migrations.CreateModel(
            name="ChatFigures",
            fields=[
                (
                    "chat",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="figures",
                        serialize=False,
                        to="coverage.chat",
                    ),
                ),
                ("message_count", models.IntegerField()),
                ("tokens", models.BigIntegerField()),
                ("covered_tokens", models.BigIntegerField()),
                ("uncovered_tokens", models.BigIntegerField()),
                ("last_said_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "coverage_chatfigures", "managed": False},
        ),
        migrations.CreateModel(
            name="ChatSummary",
            fields=[
                (
                    "chat",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="summary",
                        serialize=False,
                        to="coverage.chat",
                    ),
                ),
                ("revision", models.BigIntegerField()),
                ("transcript_revision", models.BigIntegerField()),
                ("summarised", models.BigIntegerField(null=True)),
                (
                    "fresh",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(models.When(summarised=models.F("revision"), then=True), default=False),
                        output_field=models.BooleanField(),
                    ),
                ),
                ("message_count", models.IntegerField()),
                ("tokens", models.BigIntegerField()),
                ("covered_tokens", models.BigIntegerField()),
                (
                    "uncovered_tokens",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.F("tokens") - models.F("covered_tokens"),
                        output_field=models.BigIntegerField(),
                    ),
                ),
                ("last_said_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "chat summaries",
                "indexes": [
                    models.Index(models.F("uncovered_tokens").desc(), "chat", name="summary_by_uncovered"),
                    models.Index(models.F("last_said_at").desc(nulls_last=True), "chat", name="summary_by_last_said"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(summarised__isnull=True) | models.Q(summarised__lte=models.F("revision")),
                        name="summary_not_of_a_later_revision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(covered_tokens__lte=models.F("tokens")), name="summary_covers_at_most_all"
                    ),
                ],
            },
        ),
        migrations.AddIndex("chat", models.Index(fields=("title", "id"), name="chat_by_title")),
        migrations.AddIndex(
            "message",
            models.Index(
                fields=("changed_at",),
                condition=models.Q(streaming=True, settled_at__isnull=True),
                name="message_being_written",
            ),
        ),
        migrations.AddIndex(
            "coverageentry",
            models.Index(fields=("chat", "id"), condition=models.Q(kind="release"), name="coverage_released"),
        ),
        migrations.RunSQL(TABLE, migrations.RunSQL.noop),
        migrations.RunSQL(FIGURES, "DROP FUNCTION osii_chat_figures(uuid);"),
        migrations.RunSQL(
            [TRIGGERS, *_counting()],
            [
                *_not_counting(),
                "DROP TRIGGER coverage_chat_summary ON coverage_chat;"
                "DROP FUNCTION osii_chat_made(); DROP FUNCTION osii_chat_changed();",
            ],
        ),
        migrations.RunSQL(
            TRIGRAMS, "DROP INDEX IF EXISTS chat_title_trigrams; DROP INDEX IF EXISTS chat_external_id_trigrams;"
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(VIEW, "DROP VIEW coverage_chatfigures;"),
    ]

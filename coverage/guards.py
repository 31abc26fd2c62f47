"""Append-only and immutable tables, kept by the database.

Migrations of every app use ``guard``; the function itself is made by coverage's migration 0002.
"""

from django.db import connection, migrations

GUARD = """
CREATE FUNCTION osii_guard_row() RETURNS trigger LANGUAGE plpgsql AS $$
-- Arguments: names of the columns that may change. Rows go only under the transaction-local setting osii.erase.
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF current_setting('osii.erase', true) = 'on' THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION '% is append-only: a row goes only with its chat, document or learner', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- TG_ARGV is null, not empty, without arguments.
    before := to_jsonb(OLD) - COALESCE(TG_ARGV, '{}');
    after := to_jsonb(NEW) - COALESCE(TG_ARGV, '{}');
    IF before IS DISTINCT FROM after THEN
        RAISE EXCEPTION '% is immutable', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""

DROP_GUARD = "DROP FUNCTION osii_guard_row();"


def guard(table: str, *mutable: str) -> migrations.RunSQL:
    """A trigger that makes ``table`` append-only, but for the ``mutable`` columns."""
    arguments = ", ".join(f"'{column}'" for column in mutable)
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_guard BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION osii_guard_row({arguments});",
        f"DROP TRIGGER {table}_guard ON {table};",
    )


def allow_erase() -> None:
    """Let this transaction delete guarded rows: for erasing a chat, a document or a learner as a whole."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL osii.erase = 'on'")

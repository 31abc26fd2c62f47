"""Append-only and immutable tables, columns that never change, and rows that must agree with others: by the database.

Migrations of every app use these operations; the functions that they call are made by coverage's migrations 0002 and 0004.
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


FURTHER_GUARDS = """
CREATE FUNCTION osii_guard_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('osii.erase', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: it cannot be truncated', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE FUNCTION osii_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
-- Arguments: the column whose value changed.
BEGIN
    RAISE EXCEPTION '%.% never changes', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;
"""

DROP_FURTHER_GUARDS = "DROP FUNCTION osii_guard_truncate(); DROP FUNCTION osii_refuse_change();"


def guard(table: str, *mutable: str) -> migrations.RunSQL:
    """A trigger that makes ``table`` append-only, but for the ``mutable`` columns."""
    arguments = ", ".join(f"'{column}'" for column in mutable)
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_guard BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION osii_guard_row({arguments});",
        f"DROP TRIGGER {table}_guard ON {table};",
    )


def guard_truncate(table: str) -> migrations.RunSQL:
    """A trigger that refuses TRUNCATE, which row triggers do not see. Every table with ``guard`` has it too."""
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_guard_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION osii_guard_truncate();",
        f"DROP TRIGGER {table}_guard_truncate ON {table};",
    )


def keep(table: str, column: str) -> migrations.RunSQL:
    """A trigger that refuses to change ``column``: rules that compare it with other rows then need no second look."""
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_keeps_{column} BEFORE UPDATE OF {column} ON {table} FOR EACH ROW "
        f"WHEN (OLD.{column} IS DISTINCT FROM NEW.{column}) EXECUTE FUNCTION osii_refuse_change('{column}');",
        f"DROP TRIGGER {table}_keeps_{column} ON {table};",
    )


def refuse(table: str, rule: str, wrong: str, message: str, *, updates: bool = False) -> migrations.RunSQL:
    """Triggers that refuse new rows (and with ``updates`` changed ones) that break a rule.

    ``rule`` is the last part of the names in the database. ``wrong`` selects what breaks the rule, from the rows in
    ``fresh``; ``message`` says what it is. Asked once per statement, so that a bulk insert costs one query more.
    """
    name = f"{table}_{rule}"
    make = f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS ({wrong}) THEN
        RAISE EXCEPTION '{message}' USING ERRCODE = 'check_violation', CONSTRAINT = '{name}';
    END IF;
    RETURN NULL;
END $$;
"""
    for event in ("INSERT", "UPDATE") if updates else ("INSERT",):
        make += (
            f"CREATE TRIGGER {name}_{event.lower()} AFTER {event} ON {table} REFERENCING NEW TABLE AS fresh "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}();\n"
        )
    return migrations.RunSQL(make, f"DROP FUNCTION {name}() CASCADE;")


def allow_erase() -> None:
    """Let this transaction delete guarded rows: for erasing a chat, a document or a learner as a whole."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL osii.erase = 'on'")

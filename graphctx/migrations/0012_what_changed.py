"""What changed for retrieval since a matrix was read: the transaction that last touched a proposition or its evidence.

The columns are the database's own (no model knows them): filled by a default and by triggers, whoever writes. They hold
transaction ids and not a count, because a count is drawn before the commit that makes it visible; with the oldest
transaction that was still open when a matrix was read, none that committed later is missed, whatever locks it held.
"""

from django.db import migrations

STAMPS = """
CREATE FUNCTION graphctx_this_transaction() RETURNS bigint LANGUAGE sql
AS $$ SELECT pg_current_xact_id()::text::bigint $$;
CREATE FUNCTION graphctx_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed := graphctx_this_transaction();
    RETURN NEW;
END $$;
CREATE FUNCTION graphctx_stamp_bereft() RETURNS trigger LANGUAGE plpgsql AS $$
-- A row that is gone bears no stamp: its proposition does. In one order, so that two of these never wait for each other.
BEGIN
    UPDATE graphctx_proposition SET changed = graphctx_this_transaction() WHERE id IN (
        SELECT id FROM graphctx_proposition WHERE id IN (SELECT proposition_id FROM gone) ORDER BY id FOR NO KEY UPDATE
    );
    RETURN NULL;
END $$;
ALTER TABLE graphctx_proposition ADD COLUMN changed bigint NOT NULL DEFAULT graphctx_this_transaction();
ALTER TABLE graphctx_instance ADD COLUMN changed bigint NOT NULL DEFAULT graphctx_this_transaction();
CREATE INDEX proposition_by_change ON graphctx_proposition (learner_id, changed);
CREATE INDEX instance_by_change ON graphctx_instance (changed);
CREATE TRIGGER graphctx_proposition_stamp BEFORE UPDATE OF state ON graphctx_proposition
    FOR EACH ROW EXECUTE FUNCTION graphctx_stamp();
CREATE TRIGGER graphctx_instance_stamp BEFORE UPDATE ON graphctx_instance
    FOR EACH ROW EXECUTE FUNCTION graphctx_stamp();
CREATE TRIGGER graphctx_instance_bereft AFTER DELETE ON graphctx_instance REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION graphctx_stamp_bereft();
"""

NO_STAMPS = """
DROP TRIGGER graphctx_instance_bereft ON graphctx_instance;
DROP TRIGGER graphctx_instance_stamp ON graphctx_instance;
DROP TRIGGER graphctx_proposition_stamp ON graphctx_proposition;
ALTER TABLE graphctx_instance DROP COLUMN changed;
ALTER TABLE graphctx_proposition DROP COLUMN changed;
DROP FUNCTION graphctx_stamp_bereft();
DROP FUNCTION graphctx_stamp();
DROP FUNCTION graphctx_this_transaction();
"""


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0011_evidence_in_documents")]

    operations = [
        migrations.RunSQL(STAMPS, NO_STAMPS),
        # Vectors of up to 2,000 dimensions stay in their rows: reading a matrix then fetches nothing from elsewhere.
        migrations.RunSQL(
            "ALTER TABLE graphctx_propositionvector SET (toast_tuple_target = 8160)",
            "ALTER TABLE graphctx_propositionvector RESET (toast_tuple_target)",
        ),
    ]

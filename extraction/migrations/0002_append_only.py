"""What extraction never rewrites, and what a primary pointer may point to."""

from django.db import migrations

from coverage.guards import guard

PRIMARY = """
CREATE FUNCTION extraction_check_primary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.primary_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM extraction_extractionversion v
        WHERE v.id = NEW.primary_id AND v.document_id = NEW.file_id AND v.status = 'succeeded'
    ) THEN
        RAISE EXCEPTION 'the primary of a document is a succeeded version of that document'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER extraction_document_primary BEFORE INSERT OR UPDATE OF primary_id ON extraction_document
FOR EACH ROW EXECUTE FUNCTION extraction_check_primary();
"""

DROP_PRIMARY = """
DROP TRIGGER extraction_document_primary ON extraction_document;
DROP FUNCTION extraction_check_primary();
"""


class Migration(migrations.Migration):
    dependencies = [("extraction", "0001_initial"), ("coverage", "0002_ledger_rules")]

    operations = [
        guard("extraction_batchmessage"),
        guard("extraction_referenceenvironment"),
        guard("extraction_candidate"),
        guard("extraction_resolution"),
        guard("extraction_extractionversion"),
        guard("extraction_promotion"),
        migrations.RunSQL(PRIMARY, DROP_PRIMARY),
    ]

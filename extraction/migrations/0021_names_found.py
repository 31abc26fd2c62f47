"""Documents by a part of their name or path: by index, where PostgreSQL has trigrams."""

from django.db import migrations

# As coverage's migration 0005 does for titles of chats.
TRIGRAMS = """
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX document_filename_trigrams ON extraction_document USING gin (upper(filename::text) gin_trgm_ops);
    CREATE INDEX source_path_trigrams ON extraction_documentsource USING gin (upper(path::text) gin_trgm_ops);
  END IF;
END $$;
"""
DROP = "DROP INDEX IF EXISTS document_filename_trigrams; DROP INDEX IF EXISTS source_path_trigrams;"


class Migration(migrations.Migration):
    dependencies = [
        ("extraction", "0020_failed_versions"),
        ("coverage", "0005_chat_summaries"),  # creates the extension, where it may
    ]

    operations = [migrations.RunSQL(TRIGRAMS, DROP)]

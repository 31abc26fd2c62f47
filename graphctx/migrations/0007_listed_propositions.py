"""What the propositions list asks for: newest first over all learners, and a word anywhere in the text."""

from django.db import migrations, models

# pg_trgm comes with PostgreSQL and is trusted: whoever may create in the database may have it. Where it is missing or
# not allowed, the search reads the texts one by one, and nothing else differs. The index is not part of the models'
# state for that reason.
TRIGRAMS = """
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') OR (
    EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'pg_trgm' AND trusted)
    AND has_database_privilege(current_database(), 'CREATE')
  ) THEN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX proposition_text_trigrams ON graphctx_proposition USING gin (upper(text::text) gin_trgm_ops);
  END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0006_links")]

    operations = [
        migrations.AddIndex(
            model_name="proposition",
            index=models.Index(fields=("-created_at", "id"), name="proposition_by_time"),
        ),
        migrations.RunSQL(TRIGRAMS, "DROP INDEX IF EXISTS proposition_text_trigrams"),
    ]

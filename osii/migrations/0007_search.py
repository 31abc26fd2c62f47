"""Search: each chunk's configuration and terms are columns that the database makes of its language and text."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.expressions
from django.db import migrations, models

# Stemmers of PostgreSQL under the codes of the language detection; any other language is kept word by word.
LANGUAGES = {
    "ar": "arabic", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fr": "french", "hi": "hindi",
    "it": "italian", "nl": "dutch", "pt": "portuguese", "ru": "russian",
}  # fmt: skip

# unaccent and pg_trgm come with PostgreSQL and are trusted: whoever may create in the database may have them. Without
# the first, accents count; without the second, identifiers are looked for by reading the texts. doctor says so.
EXTENSION = """
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_available_extension_versions WHERE name = '{name}' AND trusted)
    AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = '{name}')
    AND has_database_privilege(current_database(), 'CREATE')
  THEN
    CREATE EXTENSION IF NOT EXISTS {name};
  END IF;
END $$;
"""

# Words that may have accents lose them before they are stemmed, so that who types none finds them too.
CONFIGURATION = """
DO $$
DECLARE unaccent text := (
    SELECT dictionary.oid::regdictionary FROM pg_ts_dict dictionary
    JOIN pg_depend ON objid = dictionary.oid AND classid = 'pg_ts_dict'::regclass AND deptype = 'e'
    JOIN pg_extension extension ON extension.oid = refobjid AND extname = 'unaccent'
    WHERE dictname = 'unaccent');
BEGIN
  CREATE TEXT SEARCH CONFIGURATION osii_{name} (COPY = pg_catalog.{name});
  IF unaccent IS NOT NULL THEN
    EXECUTE 'ALTER TEXT SEARCH CONFIGURATION osii_{name} ALTER MAPPING FOR word, hword, hword_part WITH '
      || unaccent || ', pg_catalog.{dictionary}';
    EXECUTE 'ALTER TEXT SEARCH CONFIGURATION osii_{name} ALTER MAPPING FOR numword, numhword WITH '
      || unaccent || ', pg_catalog.simple';
  END IF;
END $$;
"""

# Names of configurations, not regconfig columns, which would keep pg_upgrade from running. The search path is that of
# the migration: a restored dump fills the columns with an empty one.
FUNCTIONS = (
    "CREATE FUNCTION osii_search_config(language text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$\n"
    "SELECT CASE language "
    + " ".join(f"WHEN '{code}' THEN 'osii_{name}'" for code, name in LANGUAGES.items())
    + " ELSE 'osii_simple' END $$;\n"
    "CREATE FUNCTION osii_chunk_terms(language text, content text) RETURNS tsvector\n"
    "LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$\n"
    "SELECT CASE language "
    + " ".join(f"WHEN '{code}' THEN to_tsvector('osii_{name}'::regconfig, content)" for code, name in LANGUAGES.items())
    + " ELSE to_tsvector('osii_simple'::regconfig, content) END $$;"
)
DROP_FUNCTIONS = "DROP FUNCTION osii_chunk_terms(text, text); DROP FUNCTION osii_search_config(text);"

TRIGRAMS = """
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX chunk_text_trigrams ON osii_chunk USING gin (text gin_trgm_ops);
  END IF;
END $$;
"""


def _configurations() -> list[migrations.RunSQL]:
    stemmed = [(name, f"{name}_stem") for name in LANGUAGES.values()]
    return [
        migrations.RunSQL(
            CONFIGURATION.format(name=name, dictionary=dictionary), f"DROP TEXT SEARCH CONFIGURATION osii_{name}"
        )
        for name, dictionary in (("simple", "simple"), *stemmed)
    ]


class Migration(migrations.Migration):
    dependencies = [("osii", "0006_processing_rules")]

    operations = [
        migrations.RunSQL(EXTENSION.format(name="unaccent"), migrations.RunSQL.noop),
        migrations.RunSQL(EXTENSION.format(name="pg_trgm"), migrations.RunSQL.noop),
        *_configurations(),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        migrations.AddField(
            model_name="chunk",
            name="search_config",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.db.models.expressions.Func(
                    django.db.models.expressions.F("language"), function="osii_search_config"
                ),
                output_field=models.CharField(max_length=63),
            ),
        ),
        migrations.AddField(
            model_name="chunk",
            name="terms",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.db.models.expressions.Func(
                    django.db.models.expressions.F("language"),
                    django.db.models.expressions.F("text"),
                    function="osii_chunk_terms",
                ),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
        migrations.AddIndex(
            model_name="chunk",
            index=django.contrib.postgres.indexes.GinIndex(fields=["terms"], name="chunk_terms"),
        ),
        migrations.RunSQL(TRIGRAMS, "DROP INDEX IF EXISTS chunk_text_trigrams"),
    ]

"""Signs beyond ASCII part words in every database.

Where the locale's character types are those of C (as in the embedded database), PostgreSQL takes each sign beyond ASCII for
a letter: a word in typographic quotation marks, before an ellipsis or beside a dash or a no-break space was another
word. Such signs become spaces before words are told apart, and marks that are not seen go.
"""

from importlib import import_module

from django.db import migrations

before = import_module("osii.migrations.0007_search")

# Punctuation, symbols and spaces; not the apostrophe-like modifier letters, not the joiners of Persian and Hindi, not the
# middle dot that Catalan has within words.
SIGNS = (
    r"\u00a0-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6\u00b8\u00bb\u00bf\u00d7\u00f7\u037e\u0387\u055a-\u055f\u0589\u058a"
    r"\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0609-\u060d\u061b\u061d-\u061f\u066a-\u066d\u06d4\u0964\u0965\u1680\u2000-\u200b"
    r"\u2010-\u2029\u202f-\u205f\u20a0-\u20cf\u2190-\u2426\u2500-\u27ff\u2900-\u2bff\u2e00-\u2e5d\u3000-\u3004\u3008-\u3020\u3030"
    r"\u303d\u30a0\u30fb\ufd3e\ufd3f\ufe10-\ufe19\ufe30-\ufe52\ufe54-\ufe66\ufe68-\ufe6b\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee\ufffc\ufffd\U0001f000-\U0001faff"
)
# The soft hyphen, marks of direction, invisible operators.
UNSEEN = r"\u00ad\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"

WORDS = (
    "CREATE FUNCTION osii_words(content text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$\n"
    f"SELECT regexp_replace(regexp_replace(content, '[{UNSEEN}]', '', 'g'), '[{SIGNS}]', ' ', 'g') $$;"
)
TERMS = (
    "CREATE OR REPLACE FUNCTION osii_chunk_terms(language text, content text) RETURNS tsvector\n"
    "LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$\n"
    "SELECT CASE language "
    + " ".join(
        f"WHEN '{code}' THEN to_tsvector('osii_{name}'::regconfig, {{content}})"
        for code, name in before.LANGUAGES.items()
    )
    + " ELSE to_tsvector('osii_simple'::regconfig, {content}) END $$;"
)
# Stored columns keep what the function said before: the column is made anew, and its index with it.
DROP_COLUMN = "ALTER TABLE osii_chunk DROP COLUMN terms;"
ADD_COLUMN = (
    "ALTER TABLE osii_chunk ADD COLUMN terms tsvector NOT NULL "
    "GENERATED ALWAYS AS (osii_chunk_terms(language::text, text)) STORED;"
    "CREATE INDEX chunk_terms ON osii_chunk USING gin (terms);"
)


class Migration(migrations.Migration):
    dependencies = [("osii", "0012_run_acknowledged")]

    operations = [
        migrations.RunSQL(
            DROP_COLUMN + WORDS + TERMS.format(content="osii_words(content)") + ADD_COLUMN,
            DROP_COLUMN + TERMS.format(content="content") + "DROP FUNCTION osii_words(text);" + ADD_COLUMN,
        ),
    ]

"""What the extensions unaccent and pg_trgm add to a search, where they came after the migrations."""

from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from .query import CONFIGS

TRIGRAMS = {
    "chunk_text_trigrams": "osii_chunk USING gin (text gin_trgm_ops)",
    "document_filename_trigrams": "extraction_document USING gin (upper(filename::text) gin_trgm_ops)",
    "source_path_trigrams": "extraction_documentsource USING gin (upper(path::text) gin_trgm_ops)",
}
_UNACCENT = """
SELECT dictionary.oid::regdictionary::text FROM pg_ts_dict dictionary
JOIN pg_depend ON objid = dictionary.oid AND classid = 'pg_ts_dict'::regclass AND deptype = 'e'
JOIN pg_extension extension ON extension.oid = refobjid AND extname = 'unaccent' WHERE dictname = 'unaccent'
"""
_FOLDED = """
SELECT count(DISTINCT cfgname) FROM pg_ts_config config JOIN pg_ts_config_map map ON map.mapcfg = config.oid
JOIN pg_ts_dict dictionary ON dictionary.oid = map.mapdict
WHERE dictname = 'unaccent' AND config.oid = ANY(%s::regconfig[])
"""


@dataclass(frozen=True, slots=True)
class Uses:
    """``accents``: they do not matter. ``trigrams``: identifiers, and documents' names and paths, have an index."""

    accents: bool
    trigrams: bool


def uses() -> Uses:
    """What searches use now; one statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT ({_FOLDED}) = %s, (SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%s::text[]) name)",
            (list(CONFIGS), len(CONFIGS), list(TRIGRAMS)),
        )
        return Uses(*cursor.fetchone())


def apply() -> list[str]:
    """Use the extensions that are there by now; returns the names of those that were not used before.

    The first use of unaccent reads every chunk again, with the table of chunks locked.
    """
    before, used = uses(), []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_UNACCENT)
        found = cursor.fetchone()
        if found and not before.accents:
            _fold_accents(cursor, found[0])
            used.append("unaccent")
        cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')")
        if cursor.fetchone()[0] and not before.trigrams:
            for name, what in TRIGRAMS.items():
                cursor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")
            used.append("pg_trgm")
    return used


def _fold_accents(cursor: Any, unaccent: str) -> None:
    for config in CONFIGS:
        own = "simple" if config == "osii_simple" else f"{config.removeprefix('osii_')}_stem"
        for tokens, dictionary in (("word, hword, hword_part", own), ("numword, numhword", "simple")):
            cursor.execute(
                f"ALTER TEXT SEARCH CONFIGURATION {config} ALTER MAPPING FOR {tokens} WITH {unaccent}, pg_catalog.{dictionary}"
            )
    # The rows are immutable; only making the column again reads them again.
    cursor.execute("ALTER TABLE osii_chunk DROP COLUMN terms")
    cursor.execute(
        "ALTER TABLE osii_chunk ADD COLUMN terms tsvector GENERATED ALWAYS AS (osii_chunk_terms(language, text)) STORED"
    )
    cursor.execute("CREATE INDEX chunk_terms ON osii_chunk USING gin (terms)")

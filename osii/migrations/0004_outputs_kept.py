"""Outputs, chunks and vectors never change, and belong to one source each."""

from django.db import migrations

from coverage.guards import guard, guard_truncate, refuse

TABLES = ("osii_output", "osii_chunk", "osii_chunkvector")

SOURCE = """
SELECT 1 FROM fresh LEFT JOIN extraction_extractionversion version
ON version.id = fresh.source_extraction_id AND version.document_id = fresh.document_id AND version.status = 'succeeded'
WHERE version.id IS NULL
"""

CHUNK = """
SELECT 1 FROM fresh LEFT JOIN osii_output output
ON output.id = fresh.output_id AND output.kind = 'chunks' AND output.status = 'succeeded'
    AND output.document_id = fresh.document_id AND output.source_extraction_id = fresh.source_extraction_id
WHERE output.id IS NULL
"""

VECTOR = """
SELECT 1 FROM fresh
LEFT JOIN osii_output output ON output.id = fresh.output_id AND output.kind = 'embeddings'
    AND output.status = 'succeeded' AND output.space_id = fresh.space_id
LEFT JOIN osii_chunk chunk ON chunk.id = fresh.chunk_id AND chunk.source_extraction_id = output.source_extraction_id
LEFT JOIN graphctx_embeddingspace space ON space.id = fresh.space_id
    AND space.dimension = vector_dims(fresh.embedding)
WHERE output.id IS NULL OR chunk.id IS NULL OR space.id IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [("osii", "0003_outputs"), ("coverage", "0004_firmer_guards"), ("extraction", "0008_rows_agree")]

    operations = [
        *map(guard, TABLES),
        *map(guard_truncate, TABLES),
        refuse("osii_output", "source", SOURCE, "an output is made of a succeeded version of its own document"),
        refuse("osii_chunk", "output", CHUNK, "a chunk belongs to a chunks output of the same extraction version"),
        refuse(
            "osii_chunkvector",
            "output",
            VECTOR,
            "a vector belongs to an embeddings output of its chunk''s extraction version, and has its space''s dimension",
        ),
    ]

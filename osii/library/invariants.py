"""What must always hold of outputs; each violation is one line of text."""

from collections.abc import Iterator

from django.db import connection

from coverage.invariants import missing_guards
from extraction.documents import selectors
from extraction.documents.errors import DocumentError

from .models import Chunk, Output

GUARDED = ("osii_output", "osii_chunk", "osii_chunkvector", "osii_making", "osii_makingset")

WITHOUT_SOURCE = """
SELECT o.id, o.source_extraction_id FROM osii_output o
LEFT JOIN extraction_extractionversion v
    ON v.id = o.source_extraction_id AND v.document_id = o.document_id AND v.status = 'succeeded'
WHERE v.id IS NULL
"""

CHUNKS_NOT_COUNTED = """
SELECT o.id, o.counts->>'chunks', count(c.id), count(c.id) FILTER (WHERE c.source_extraction_id = o.source_extraction_id)
FROM osii_output o LEFT JOIN osii_chunk c ON c.output_id = o.id
WHERE o.kind = 'chunks' AND o.status = 'succeeded'
GROUP BY o.id HAVING o.counts->>'chunks' IS DISTINCT FROM count(c.id)::text
    OR count(c.id) <> count(c.id) FILTER (WHERE c.source_extraction_id = o.source_extraction_id)
"""

WRONG_VECTORS = """
SELECT v.id, vector_dims(v.embedding), s.dimension FROM osii_chunkvector v
JOIN graphctx_embeddingspace s ON s.id = v.space_id
WHERE vector_dims(v.embedding) <> s.dimension
"""


WRONG_MEMOS = """
SELECT COALESCE(memo.extraction_id, found.extraction_id), memo.makings, found.makings
FROM (SELECT made.extraction_id, known.makings FROM osii_made made LEFT JOIN osii_makingset known ON known.id = made.making_set_id)
    memo FULL JOIN osii_makingsofversions found ON found.extraction_id = memo.extraction_id
WHERE memo.makings IS DISTINCT FROM found.makings
"""


def check() -> Iterator[str]:
    """Every output names an existing source, chunks stand in its text at their spans, vectors have their space's dimension,
    and the memos that plans read say which outputs there are.
    """
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_SOURCE)
        for output, extraction in cursor.fetchall():
            yield f"output {output}: made of {extraction}, which is no succeeded version of its document"
        cursor.execute(CHUNKS_NOT_COUNTED)
        for output, told, found, own in cursor.fetchall():
            yield f"output {output}: {told} chunks made, {found} there, {own} of its extraction version"
        cursor.execute(WRONG_VECTORS)
        for vector, found, wanted in cursor.fetchall():
            yield f"chunk vector {vector}: dimension {found}, its space has {wanted}"
    yield from check_memos()
    yield from _spans()
    yield from missing_guards(*GUARDED)


def check_memos() -> Iterator[str]:
    """What plans read of each version says which outputs there are."""
    with connection.cursor() as cursor:
        cursor.execute(WRONG_MEMOS)
        for version, told, found in cursor.fetchall():
            yield f"version {version}: its memo tells of the makings {told}, its outputs of {found}"


def _spans() -> Iterator[str]:
    outputs = Output.objects.filter(kind="chunks", status="succeeded").order_by("source_extraction", "id")
    read, text = "", ""
    for output in outputs.iterator(chunk_size=200):
        if output.source_extraction_id != read:
            read = output.source_extraction_id
            try:
                text = selectors.version_text(output.document_id, read)
            except DocumentError as error:
                yield f"output {output.pk}: the text it was made of cannot be read: {error}"
                text = ""
                continue
        chunks = Chunk.objects.filter(output=output).values_list("chunk_id", "char_start", "char_end", "text")
        for chunk, start, end, piece in chunks.iterator(chunk_size=2000):
            if text and text[start:end] != piece:
                yield f"{chunk} of output {output.pk}: its text does not stand at {start}–{end}"

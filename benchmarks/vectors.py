"""Many vectors quickly: random unit rows, and a learner's graph in one bulk load."""

import uuid

import numpy as np
from django.db import connection

from coverage.models import Learner
from graphctx.models import EmbeddingSpace, Instance, Kind, Level, Proposition

from .scratch import analyze

COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_TRAILER = b"\xff\xff"
BLOCK = 1000


def unit_rows(rows: int, dimension: int, seed: int = 0) -> np.ndarray:
    """Random unit rows (rows, dimension), float32."""
    matrix = np.random.default_rng(seed).standard_normal((rows, dimension), dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def fill_graph(learner: Learner, space: EmbeddingSpace, count: int, rows: np.ndarray | None = None) -> None:
    """``count`` live propositions with one instance each and, unless ``rows`` gives others, random vectors in ``space``."""
    ids = sorted(uuid.uuid4() for _ in range(count))
    add_to_graph(learner, space, ids, unit_rows(count, space.dimension) if rows is None else rows)
    Learner.objects.filter(pk=learner.pk).update(graph_revision=learner.graph_revision + 1)
    analyze()


def add_to_graph(learner: Learner, space: EmbeddingSpace, ids: list[uuid.UUID], rows: np.ndarray) -> None:
    """Live propositions of these ids with one instance and the row's vector each."""
    levels = [*Level.values, None]
    for start in range(0, len(ids), BLOCK):
        block = ids[start : start + BLOCK]
        Proposition.objects.bulk_create(
            Proposition(
                pk=key,
                learner=learner,
                text=f"The learner said in session {start + place} that the tide follows the moon and not the wind.",
                kind=Kind.FACT,
                identity=key.hex,
            )
            for place, key in enumerate(block)
        )
        Instance.objects.bulk_create(
            Instance(
                proposition_id=key, document_id="d", extraction_id="e", position=1, char_start=0, char_end=1, quote="q",
                level=levels[place % len(levels)], speaker="user",
            )
            for place, key in enumerate(block)
        )  # fmt: skip
    copy_vectors(learner, space, ids, rows)


def copy_vectors(learner: Learner, space: EmbeddingSpace, ids: list[uuid.UUID], rows: np.ndarray) -> None:
    """Load vectors by binary COPY: at this size rows written one by one would be most of the benchmark."""
    dimension = rows.shape[1]
    record = np.dtype(
        [
            ("fields", ">i2"),
            *[(f"{name}{part}", form) for name in ("space", "proposition", "learner") for part, form in _UUID],
            ("vector_length", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f4", (dimension,)),
        ]
    )
    records = np.zeros(len(ids), dtype=record)
    records["fields"] = 4
    for name, value in (("space", space.pk.bytes), ("learner", learner.pk.bytes)):
        records[f"{name}_length"] = 16
        records[f"{name}_id"] = np.void(value)
    records["proposition_length"] = 16
    records["proposition_id"] = np.frombuffer(b"".join(key.bytes for key in ids), dtype="V16")
    records["vector_length"] = 4 + 4 * dimension
    records["dimension"] = dimension
    records["vector"] = rows
    statement = (
        "COPY graphctx_propositionvector (space_id, proposition_id, learner_id, embedding) FROM STDIN (FORMAT BINARY)"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(COPY_HEADER)
        for start in range(0, len(records), BLOCK):
            copy.write(records[start : start + BLOCK].tobytes())
        copy.write(COPY_TRAILER)


_UUID = (("_length", ">i4"), ("_id", "V16"))

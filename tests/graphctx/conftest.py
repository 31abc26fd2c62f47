"""A learner's graph for the tests: propositions with live evidence and vectors of the hashing embedder."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from hypothesis import settings

from coverage.models import Chat, Learner
from graphctx import scan
from graphctx.embedding import active_space, get_embedder
from graphctx.models import Instance, Kind, Proposition
from graphctx.vectors import add_vectors

# A busy machine is no failure: what must be fast is measured by benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SOLAR = [
    "The learner knows that the moon's gravity causes the tides.",
    "The learner thinks that summer comes from being nearer to the sun.",
    "Spring tides happen when the sun and the moon pull in line.",
    "The project deadline moved to 16 October.",
    "Aiko prefers short answers with an example.",
]


@contextmanager
def unguarded(table: str) -> Iterator[None]:
    """What the triggers of this table refuse goes through: for rows that the database keeps from being wrong."""
    with connection.cursor() as cursor:
        # Pending checks of foreign keys would keep the table from being altered.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def without_constraint(table: str, name: str) -> None:
    """Rows that this constraint refuses go through, until the test's transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def add_evidence(
    proposition: Proposition,
    level: str | None = None,
    *,
    chat: Chat | None = None,
    position: int | None = 1,
    occurred_at: datetime | None = None,
    live: bool = True,
) -> Instance:
    """Evidence in this chat, else in a document."""
    order = Instance.objects.filter(proposition=proposition).count()
    source = {"chat": chat, "message_id": f"m{order}"} if chat else {"document_id": "d", "extraction_id": "e"}
    return Instance.objects.create(
        proposition=proposition, position=position, char_start=order, char_end=order + 1, quote="q", level=level,
        speaker="user", occurred_at=occurred_at, live=live, **source,
    )  # fmt: skip


def add_propositions(learner: Learner, texts: list[str], *, vectors: bool = True) -> list[Proposition]:
    """Live propositions with one live instance each, as a merge leaves them."""
    rows = [
        Proposition(learner=learner, text=text, kind=Kind.FACT, identity=f"{learner.pk.hex[:20]}:{hash(text)}")
        for text in texts
    ]
    Proposition.objects.bulk_create(rows)
    for row in rows:
        add_evidence(row)
    if vectors:
        made = get_embedder().embed_documents(texts)
        add_vectors(active_space(), learner.pk, dict(zip([row.pk for row in rows], made, strict=True)))
    bump(learner.pk)
    return rows


def bump(learner_id: UUID) -> None:
    learner = Learner.objects.get(pk=learner_id)
    learner.graph_revision += 1
    learner.save(update_fields=["graph_revision"])


def unit(values: np.ndarray) -> np.ndarray:
    return (values / np.linalg.norm(values, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture(autouse=True)
def _fresh_matrices() -> Iterator[None]:
    scan.cache.clear()
    yield
    scan.cache.clear()


@pytest.fixture
def learner(db: None) -> Learner:
    return Learner.objects.create(name="Aiko")


@pytest.fixture
def other_learner(db: None) -> Learner:
    return Learner.objects.create(name="Ben")

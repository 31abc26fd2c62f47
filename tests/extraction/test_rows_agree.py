"""Rows that do not belong together, and emptied tables: the database refuses them, whoever writes."""

import pytest
from django.db import DatabaseError, connection, transaction

from coverage.guards import allow_erase
from coverage.models import Chat
from extraction.invariants import GUARDED
from extraction.models import Batch
from graphctx.models import Instance, PropositionVector
from tests import factories
from tests.extraction.running.test_runs import execute
from tests.factories import message

pytestmark = pytest.mark.django_db

APPEND_ONLY = ("coverage_coverageentry", *GUARDED)


@pytest.fixture(autouse=True)
def _two_learners() -> None:
    """A chat of each, read, so that each has propositions with evidence and vectors."""
    for learner, fact in (("Ada", "Tea has caffeine."), ("Bo", "Tin melts at 232 degrees.")):
        execute(factories.chat(message("a", fact), learner=learner))
    assert Instance.objects.count() == PropositionVector.objects.count() == 2


def refused(statement: str) -> str:
    """What the database says against it."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        # What the fixture wrote in this transaction has checks of foreign keys pending, which forbid TRUNCATE anyway.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)
    return str(caught.value)


BOS_CHAT = "(SELECT c.id FROM coverage_chat c JOIN coverage_learner l ON l.id = c.learner_id WHERE l.name = 'Bo')"
BO = "(SELECT id FROM coverage_learner WHERE name = 'Bo')"


def copied(table: str, **values: str) -> str:
    """An INSERT of a copy of Ada's row of a table, with these columns (SQL) otherwise."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema AND table_name = %s "
            "AND is_identity = 'NO' AND is_generated = 'NEVER'", [table],
        )  # fmt: skip
        columns = [row[0] for row in cursor.fetchall()]
    source = ", ".join(values.get(column, f't."{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) SELECT {source} FROM {table} t"


def test_evidence_without_a_source() -> None:
    statement = copied("graphctx_instance", id="gen_random_uuid()", chat_id="NULL")
    assert "instance_has_source" in refused(statement)


def test_evidence_in_a_chat_of_another_learner() -> None:
    statement = copied("graphctx_instance", id="gen_random_uuid()", chat_id=BOS_CHAT, message_id="'other'")
    assert "evidence lies in a chat of the learner" in refused(statement)


def test_a_batch_of_another_chat_than_its_run() -> None:
    statement = copied("extraction_batch", id="gen_random_uuid()", chat_id=BOS_CHAT)
    assert "a batch is of the chat of its run" in refused(statement)
    run = Batch.objects.exclude(chat__learner__name="Bo").get().run_id
    assert "a batch is of the chat of its run" in refused(f"UPDATE extraction_batch SET run_id = '{run}'")


def test_a_batch_that_holds_messages_of_another_chat() -> None:
    statement = copied("extraction_batchmessage", chat_id=BOS_CHAT, message_id="'other'", order="99")
    assert "a batch holds messages of its own chat" in refused(statement)


def test_a_vector_of_another_learner_or_of_another_shape() -> None:
    assert "a vector belongs to the learner" in refused(f"UPDATE graphctx_propositionvector SET learner_id = {BO}")
    assert "a vector has the dimension" in refused("UPDATE graphctx_propositionvector SET embedding = '[1, 0]'")
    PropositionVector.objects.filter(learner__name="Bo").delete()
    vectors = list(PropositionVector.objects.all())
    PropositionVector.objects.all().delete()
    for wrong, says in (
        ({"learner_id": Chat.objects.get(learner__name="Bo").learner_id}, "a vector belongs to the learner"),
        ({"embedding": [0.6, 0.8]}, "a vector has the dimension of its space"),
    ):
        row = vectors[0]
        values = {"space_id": row.space_id, "proposition_id": row.proposition_id, "learner_id": row.learner_id}
        with pytest.raises(DatabaseError, match=says), transaction.atomic():
            PropositionVector.objects.create(**({"embedding": row.embedding} | values | wrong))


def test_a_cover_line_that_names_no_batch() -> None:
    assert "cover_names_its_batch" in refused(copied("coverage_coverageentry", batch="NULL"))


def test_a_candidate_of_an_attempt_that_its_batch_has_not_had() -> None:
    statement = copied("extraction_candidate", id="gen_random_uuid()", attempt="t.attempt + 1")
    assert "a candidate is of an attempt that its batch has had" in refused(statement)


def test_a_resolution_to_a_proposition_of_another_learner() -> None:
    other = f"(SELECT id FROM graphctx_proposition WHERE learner_id = {BO})"
    statement = copied("extraction_resolution", id="gen_random_uuid()", proposition_id=other)
    assert "a resolution names a proposition of the learner" in refused(statement)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("coverage_chat", "learner_id", BO),
        ("graphctx_proposition", "learner_id", BO),
        ("extraction_run", "chat_id", BOS_CHAT),
        ("extraction_batch", "chat_id", BOS_CHAT),
        ("graphctx_embeddingspace", "dimension", "dimension + 1"),
    ],
)
def test_what_the_rules_compare_with_never_changes(table: str, column: str, value: str) -> None:
    assert f"{table}.{column} never changes" in refused(f"UPDATE {table} SET {column} = {value}")


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_what_is_append_only_cannot_be_truncated(table: str) -> None:
    assert f"{table} is append-only: it cannot be truncated" in refused(f"TRUNCATE {table} CASCADE")


def test_nor_through_what_it_belongs_to_but_by_an_erasure() -> None:
    assert "cannot be truncated" in refused("TRUNCATE coverage_learner CASCADE")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        allow_erase()
        cursor.execute("TRUNCATE coverage_learner CASCADE")
    assert not Instance.objects.exists()

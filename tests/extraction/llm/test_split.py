"""A batch that is too long for the model is split between its messages; a single message parks."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from coverage.models import CoverageEntry
from coverage.services import put_messages
from extraction import invariants
from extraction.models import Batch, BatchMessage
from extraction.services import abort_run
from tests import factories
from tests.extraction.llm_runs import OVERLOADED, execute, reads_all, states, tea, to_read
from tests.extraction.scripted_endpoint import Received, Status
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

TOO_LONG = Status(
    400,
    {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"}},
)


TOO_LONG_SAID = [
    TOO_LONG,
    Status(
        400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "request exceeds the context"}}
    ),
    Status(
        400, {"object": "error", "message": "The prompt is too long: 5000 tokens, max_model_len is 4096", "code": 400}
    ),
    Status(500, {"error": {"message": "context window exceeded"}}),
    Status(413, "Payload Too Large"),
]


@pytest.mark.parametrize("said", TOO_LONG_SAID)
def test_each_way_to_say_that_it_is_too_long_is_understood(serve: Any, said: Status) -> None:
    serve(said)
    execute(factories.chat(tea()))
    batch = Batch.objects.get()
    assert (batch.status, batch.failures, batch.attempt) == ("parked", 1, 1)
    assert "too long for the model" in batch.error


def test_anthropic_says_it_in_its_own_words(serve: Any) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    serve(Status(400, {"type": "error", "error": error}), provider="anthropic")
    execute(factories.chat(tea()))
    assert Batch.objects.get().status == "parked"


def fits(most: int) -> Callable[[Received], Any]:
    """A model that takes in at most so many messages at once."""

    def answer(received: Received) -> Any:
        return TOO_LONG if len(to_read(received)) > most else reads_all(received)

    return answer


@pytest.mark.parametrize(("count", "most"), [(2, 1), (5, 2)])
def test_a_batch_that_is_too_long_is_split_between_its_messages_and_goes_on(serve: Any, count: int, most: int) -> None:
    serve(fits(most))
    chat = factories.chat(*[tea(number) for number in range(count)])
    run = execute(chat)
    assert (run.status, run.error) == ("succeeded", "")
    assert states(chat) == ["covered"] * count
    assert CoverageEntry.objects.count() == count
    read = BatchMessage.objects.filter(batch__status="succeeded").order_by("position")
    assert list(read.values_list("message_id", flat=True)) == [f"m{number}" for number in range(count)]
    assert {batch.status for batch in Batch.objects.all()} == {"succeeded", "aborted"}
    closed = Batch.objects.filter(status="aborted").order_by("created_at").first()
    assert closed.error.startswith("read as two smaller batches: too long for the model")
    assert closed.failures == 0
    assert list(invariants.check()) == []


def test_the_cut_is_where_the_larger_half_is_smallest(serve: Any) -> None:
    serve(fits(3))
    execute(factories.chat(tea(0, 20), tea(1, 20), tea(2, 20), tea(3, 300)))
    read = Batch.objects.filter(status="succeeded").order_by("first_position")
    assert [batch.messages.count() for batch in read] == [3, 1]


def test_an_automatic_run_reads_both_halves_although_the_rest_is_below_the_budget(serve: Any) -> None:
    serve(fits(1))
    chat = factories.chat(tea(0, 500), tea(1, 500))
    assert execute(chat, "due").status == "succeeded"
    assert states(chat) == ["covered", "covered"]


def test_the_one_message_that_is_too_long_parks_and_the_others_go_on(serve: Any) -> None:
    serve(lambda received: TOO_LONG if "Tea number 1 " in str(to_read(received)) else reads_all(received))
    chat = factories.chat(tea(0, 200), tea(1, 200), tea(2, 200))
    run = execute(chat)
    assert states(chat) == ["covered", "parked", "covered"]
    assert run.status == "failed"
    assert Batch.objects.get(status="parked").failures == 1


def test_halves_outlive_an_endpoint_that_goes_away_and_an_edit_in_between(serve: Any) -> None:
    chat = factories.chat(tea(0), tea(1))
    serve(fits(1), OVERLOADED, probe=OVERLOADED)
    assert execute(chat).status == "failed"
    assert states(chat) == ["uncovered", "uncovered"]
    put_messages(chat.pk, [message("m1", "Rewritten meanwhile.")])
    serve(reads_all)
    assert execute(chat).status == "succeeded"
    assert states(chat) == ["covered", "covered"]
    assert CoverageEntry.objects.count() == 2
    assert list(invariants.check()) == []


def test_an_abort_between_the_halves_leaves_them_to_the_next_run(serve: Any) -> None:
    chat = factories.chat(tea(0), tea(1))
    made = itertools.count()

    def aborts_third(received: Received) -> Any:
        if next(made) == 2:
            abort_run(chat.pk)
        return fits(1)(received)

    serve(aborts_third)
    assert execute(chat).status == "aborted"
    assert states(chat) == ["covered", "uncovered"]
    serve(reads_all)
    assert execute(chat).status == "succeeded"
    assert CoverageEntry.objects.count() == 2
    assert list(invariants.check()) == []

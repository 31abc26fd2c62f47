"""Planning from a frontier on gives what the whole derivation gives, and costs the same however long the chat is."""

import random
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from coverage import services
from coverage.batches import first_batch
from coverage.models import Chat, CoverageEntry, Message
from extraction.models import Batch, BatchMessage, Run
from extraction.running import frontier
from extraction.selectors import due_tokens, message_states, states_between
from tests import factories

pytestmark = pytest.mark.django_db

BUDGET = 500


@pytest.fixture(autouse=True)
def _forgotten(settings: Any) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = BUDGET
    frontier.forget()


def made(count: int) -> Chat:
    """Every fifth text is the same."""
    return factories.chat(
        *(factories.message(f"m{n}", "the same. " * 20 if n % 5 == 0 else f"{n} words. " * 20) for n in range(count))
    )


def planned(chat: Chat) -> tuple[list[str], bool]:
    """What planning reads next, from what is remembered."""
    rows = frontier.ahead(chat.pk)
    frontier.remember(chat.pk, rows)
    return [row.message_id for row in first_batch(rows, BUDGET)], rows.reaches(BUDGET)


def derived(chat: Chat) -> tuple[list[str], bool]:
    rows = message_states(chat.pk)
    return [row.message_id for row in first_batch(rows, BUDGET)], due_tokens(rows) >= BUDGET


def pick(chat: Chat, chance: random.Random) -> Message:
    return chance.choice(list(chat.messages.filter(position__isnull=False)))


def read_next(chat: Chat, chance: random.Random) -> None:
    ids, _ = derived(chat)
    services.append_entries(chat, chat.messages.filter(message_id__in=ids), batch_id=uuid.uuid4())


def park(chat: Chat, chance: random.Random) -> None:
    rows = first_batch(message_states(chat.pk), BUDGET)
    if not rows:
        return
    run, _ = Run.objects.get_or_create(chat=chat, mode="rest", worker="rules", status=Run.Status.FAILED)
    batch = Batch.objects.create(
        chat=chat, run=run, status=Batch.Status.PARKED, attempt_token=uuid.uuid4(), worker="rules", tokens=1,
        first_position=rows[0].position, last_position=rows[-1].position,
    )  # fmt: skip
    BatchMessage.objects.bulk_create(
        BatchMessage(
            batch=batch, chat=chat, order=n, message_id=row.message_id, position=row.position,
            fingerprint=row.fingerprint, tokens=row.tokens,
        )
        for n, row in enumerate(rows, 1)
    )  # fmt: skip


def unpark(chat: Chat, chance: random.Random) -> None:
    Batch.objects.filter(chat=chat, status=Batch.Status.PARKED).update(status=Batch.Status.ABORTED)


def edit(chat: Chat, chance: random.Random) -> None:
    text = f"edited {chance.random()} " * 10
    services.put_messages(chat.pk, [factories.message(pick(chat, chance).message_id, text)])


def stream(chat: Chat, chance: random.Random) -> None:
    part = factories.text(f"being written {chance.random()} " * 10, state="streaming")
    services.put_messages(chat.pk, [factories.message(pick(chat, chance).message_id, [part])], whole_transcript=False)


def age(chat: Chat, chance: random.Random) -> None:
    Message.objects.filter(chat=chat, streaming=True).update(changed_at=timezone.now() - timedelta(days=60))


def append(chat: Chat, chance: random.Random) -> None:
    services.put_messages(chat.pk, [factories.message(f"n{chance.random()}", f"new {chance.random()} " * 20)])


def delete(chat: Chat, chance: random.Random) -> None:
    services.delete_message(chat.pk, pick(chat, chance).message_id)


def release(chat: Chat, chance: random.Random) -> None:
    covered = [row for row in message_states(chat.pk) if row.state == "covered"]
    if covered:
        services.append_entries(chat, [chance.choice(covered)], kind=CoverageEntry.Kind.RELEASE)


STEPS = (read_next, read_next, read_next, park, unpark, edit, stream, age, append, delete, release)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_between_the_plan_is_that_of_the_whole_diff(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontier, "FIRST_WINDOW", 3)
    chance = random.Random(seed)
    chat = made(30)
    for _ in range(25):
        chance.choice(STEPS)(chat, chance)
        assert planned(chat) == derived(chat)


@pytest.mark.parametrize("change", [edit, delete, release, unpark])
def test_a_change_before_the_frontier_has_the_whole_diff_derived_again(
    change: Callable[[Chat, random.Random], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a frontier that is believed blindly misses it."""
    chance = random.Random(3)
    chat = made(40)
    if change is unpark:
        park(chat, chance)
    for _ in range(3):
        read_next(chat, chance)
    planned(chat)
    monkeypatch.setattr(__name__ + ".pick", lambda chat, chance: chat.messages.get(position=1))
    change(chat, chance)
    with monkeypatch.context() as blind:
        blind.setattr(frontier, "_holds", lambda *_: True)
        missed = planned(chat)
    frontier.forget()
    assert planned(chat) == derived(chat)
    if change is not release and change is not delete:
        assert missed != derived(chat)


def test_the_rows_that_are_read_do_not_grow_with_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = states_between
    monkeypatch.setattr(frontier, "states_between", lambda *given: (rows := real(*given), asked.append(len(rows)))[0])
    chat = made(700)
    chance = random.Random(1)
    planned(chat)
    queries = []
    for _ in range(4):
        read_next(chat, chance)
        asked.clear()
        with CaptureQueriesContext(connection) as captured:
            planned(chat)
        queries.append(len(captured))
        assert asked == [frontier.FIRST_WINDOW]
    assert len(set(queries)) == 1


def test_a_window_is_a_piece_of_the_transcript() -> None:
    chat = made(30)
    read_next(chat, random.Random(1))
    assert states_between(chat.pk, 4, 19) == message_states(chat.pk)[3:19]
    assert states_between(chat.pk, 31, 40) == []

"""Whether a chat is due is what the diff says, and mostly told without deriving it."""

import random
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from coverage import services
from coverage.models import CoverageEntry
from coverage.selectors import uncovered_at_most
from extraction import selectors
from extraction.models import Batch
from extraction.selectors import COVERED, EXTRACTABLE, IN_FLIGHT, message_states, reaches
from extraction.services import finish_chat
from tests import factories
from tests.extraction.running.test_frontier import STEPS, made, park

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happened_it_is_what_the_diff_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "NEWEST", 5)
    chance = random.Random(seed)
    chat = made(25)
    for _ in range(20):
        chance.choice(STEPS)(chat, chance)
        parked = Batch.objects.filter(chat=chat, status=Batch.Status.PARKED).first()
        if parked and not Batch.objects.filter(chat=chat, status=Batch.Status.RUNNING).exists():
            Batch.objects.filter(pk=parked.pk).update(status=Batch.Status.RUNNING)
        rows = message_states(chat.pk)
        for states in (EXTRACTABLE, (*EXTRACTABLE, IN_FLIGHT)):
            there = sum(row.tokens for row in rows if row.state in states)
            for tokens in (1, there, there + 1, 2 * there + 1):
                assert reaches(chat.pk, tokens, states=states) == (there >= tokens)
        assert uncovered_at_most(chat.pk) == sum(row.tokens for row in rows if row.state != COVERED)


def test_more_releases_than_covers_make_nothing_uncovered_twice() -> None:
    chat = made(3)
    services.append_entries(chat, chat.messages.all(), kind=CoverageEntry.Kind.RELEASE)
    assert uncovered_at_most(chat.pk) == sum(row.tokens for row in message_states(chat.pk))


def test_finish_of_a_chat_that_is_read_derives_nothing(settings) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    chat = made(40)
    services.append_entries(chat, chat.messages.all(), batch_id=uuid.uuid4())
    services.put_messages(chat.pk, [factories.message("new", "A new question.")])
    with CaptureQueriesContext(connection) as captured:
        assert finish_chat(chat.pk) is None
    assert not any("coverage_messagecoverage" in query["sql"] for query in captured)
    services.put_messages(chat.pk, [factories.message("long", "A long answer. " * 200)])
    assert finish_chat(chat.pk) is not None


def test_what_waits_far_from_the_end_is_found_too(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    monkeypatch.setattr(selectors, "NEWEST", 3)
    chat = made(40)
    services.append_entries(chat, chat.messages.filter(position__gt=30), batch_id=uuid.uuid4())
    assert reaches(chat.pk, 500)
    chance = random.Random(1)
    while any(row.state in EXTRACTABLE for row in message_states(chat.pk)):
        park(chat, chance)
    assert uncovered_at_most(chat.pk) >= 500
    assert not reaches(chat.pk, 500)

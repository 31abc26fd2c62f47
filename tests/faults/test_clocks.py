"""A process whose clock is a day ahead or behind: leases, retries and waits are the database's time, so nothing of it is
lost, kept from others, or done twice. (Under load, `make faults` lets the clocks of running processes jump.)"""

from datetime import UTC, datetime, timedelta

import pytest
import redis
import time_machine
from django.utils import timezone

from coverage import queueing
from coverage.models import Chat
from extraction import reconcile
from extraction.models import Run
from extraction.running import endings, leases
from extraction.services import request_run
from graphctx import delivery, steers
from graphctx.models import Proposition, Steer
from osii.imports import attempts
from osii.imports.invariants import check as check_imports
from osii.imports.reconcile import reconcile_imports
from osii.models import ChatImport
from tests import factories
from tests.factories import message

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1)], ids=["ahead", "behind"]),
]

MINUTE = timedelta(minutes=1)


def elsewhere(jump: timedelta) -> time_machine.travel:
    return time_machine.travel(datetime.now(UTC) + jump, tick=True)


@pytest.fixture
def chat(rq_connection: object) -> Chat:
    return factories.chat(message("m1", "I keep tin in the workshop."))


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is enqueued at once: a test is one moment of the database's time."""
    monkeypatch.setattr(reconcile, "QUEUED_GRACE", -MINUTE)


def test_a_run_that_is_handed_back_is_enqueued_again(jump: timedelta, chat: Chat, no_grace: None) -> None:
    run = leases.claim(request_run(chat.pk, Run.Mode.REST).pk)
    with elsewhere(jump):
        endings.hand_back(run)
    assert reconcile.reconcile_runs()["enqueued"] == 1


def test_a_reconciler_enqueues_and_takes_over_nothing_that_lives(jump: timedelta, chat: Chat, no_grace: None) -> None:
    request_run(chat.pk, Run.Mode.REST)
    other = factories.chat(message("m1", "I keep zinc in the workshop."))
    leases.claim(request_run(other.pk, Run.Mode.REST).pk)
    with elsewhere(jump):
        assert reconcile.reconcile_runs() == {"enqueued": 1}


def test_a_job_that_was_taken_and_not_begun_waits_no_longer(
    jump: timedelta, chat: Chat, no_grace: None, rq_connection: redis.Redis
) -> None:
    run = request_run(chat.pk, Run.Mode.REST)
    assert reconcile.reconcile_runs() == {"enqueued": 1}
    assert rq_connection.lmove("rq:queue:chats", "rq:queue:chats:intermediate")
    with elsewhere(jump):
        assert reconcile.reconcile_runs() == {}
    assert queueing.release_stuck(queueing.CHATS) == 0, "its worker may be about to begin"
    rq_connection.expire(f"rq:queue:chats:intermediate:met:run-{run.pk}-1", queueing.MET_SECONDS - 61)
    assert queueing.release_stuck(queueing.CHATS) == 1
    assert reconcile.reconcile_runs() == {"enqueued": 1}


def test_a_failed_run_is_tried_again_after_its_pause(jump: timedelta, chat: Chat, no_grace: None) -> None:
    run = leases.claim(request_run(chat.pk, Run.Mode.REST).pk)
    with elsewhere(jump):
        endings.end_unavailable(run, "the model is away", timedelta(minutes=5))
    pause = Run.objects.get(pk=run.pk).retry_at - timezone.now()
    assert timedelta(minutes=4) < pause <= timedelta(minutes=5)
    with elsewhere(jump):
        assert reconcile.reconcile_runs() == {}


def test_an_import_is_neither_taken_from_its_worker_nor_left_waiting(
    jump: timedelta, rq_connection: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("osii.imports.reconcile.QUEUED_GRACE", -MINUTE)
    with elsewhere(jump):
        row = ChatImport.objects.create()
    assert reconcile_imports()["enqueued"] == 1
    with elsewhere(jump):
        held = attempts.claim(row.pk)
    assert reconcile_imports() == {}
    with elsewhere(jump):
        assert reconcile_imports() == {}
        assert list(check_imports()) == []
        attempts.Attempt(held).hand_back()
    assert reconcile_imports()["enqueued"] == 1


def test_an_offered_steer_waits_for_its_answer_as_long_as_it_should(
    jump: timedelta, rq_connection: object, settings: object
) -> None:
    chat = factories.chat(message("m1", "tin"))
    Proposition.objects.create(learner=chat.learner, text="Tin is soft.", kind="fact", identity="tin")
    steer = Steer.objects.create(
        pk=steers.steer_id(chat.pk), chat=chat, budget=100, text="Tin is soft.", status=Steer.Status.READY
    )
    with elsewhere(jump):
        assert delivery.turn(chat, "t1") is not None
    steer.refresh_from_db()
    assert abs(steer.offered_at - timezone.now()) < MINUTE
    assert delivery.turn(chat, "t2") is None
    Steer.objects.update(offered_at=timezone.now() - MINUTE)
    with elsewhere(jump):
        assert delivery.turn(chat, "t2") is not None

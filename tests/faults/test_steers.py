"""A worker that is killed while it prepares a steer: the chat gets its steer from another one, once."""

import time
from typing import Any

import django_rq
import pytest
from rq.registry import StartedJobRegistry

from coverage.models import Chat
from coverage.queueing import STEERS
from coverage.services import get_or_create_learner, put_messages
from extraction.reconcile import reconcile_runs
from graphctx import delivery, steers
from graphctx.models import Steer
from tests.factories import message
from tests.graphctx.conftest import SOLAR, add_propositions

from .conftest import Faults, wait_until
from .held import SELECTING

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def status() -> str:
    return Steer.objects.get().status


def pass_life_seconds(connection: Any) -> None:
    """As if the time had passed for which a killed worker and its job still look alive."""
    registry = StartedJobRegistry(queue=django_rq.get_queue(STEERS))
    running = connection.zrange(registry.key, 0, -1)
    assert running
    connection.zadd(registry.key, dict.fromkeys(running, time.time() - 1))


def test_a_killed_workers_steer_is_prepared_by_another_once(faults: Faults, rq_connection: Any) -> None:
    learner = get_or_create_learner("Ada")
    add_propositions(learner, SOLAR)
    chat = Chat.objects.create(learner=learner)
    put_messages(chat.pk, [message("u1", "What causes the tides?")])
    steers.begin(chat.pk)
    faults.hold(SELECTING)
    killed = faults.worker(STEERS)
    faults.reached()
    faults.kill(killed)
    assert (status(), delivery.turn(chat, "t1")) == (Steer.Status.PREPARING, None)
    assert reconcile_runs()["steers enqueued"] == 0  # it may still be at work
    faults.release()
    pass_life_seconds(rq_connection)
    faults.worker(STEERS)

    def ready() -> bool:
        reconcile_runs()
        return status() == Steer.Status.READY

    wait_until(ready, "the steer getting ready")
    assert delivery.turn(chat, "t1").count == len(SOLAR)
    assert Steer.objects.get().offers == 1

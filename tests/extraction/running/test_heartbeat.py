"""The thread that renews a lease: until it is told to stop, until the lease is lost, and through a database that is away."""

import threading
from collections.abc import Callable

import pytest
from django.db import InterfaceError, OperationalError

from extraction.running import heartbeat
from extraction.running.heartbeat import Heartbeat

WAIT = 10.0


class Renewing(Heartbeat):
    """Answers each renewal with what ``answer`` gives, and says when the second one was reached."""

    def __init__(self, answer: Callable[[int], int]) -> None:
        super().__init__("work 7")
        self.answer = answer
        self.count = 0
        self.again = threading.Event()

    def renew(self) -> int:
        self.count += 1
        if self.count > 1:
            self.again.set()
        return self.answer(self.count)


@pytest.fixture(autouse=True)
def _quick(settings, monkeypatch) -> None:
    settings.EXTRACTION_LEASE_SECONDS = 0.04
    monkeypatch.setattr(heartbeat, "connection", type("Closed", (), {"close": staticmethod(lambda: None)}))


def test_it_renews_again_and_again_until_the_work_is_over() -> None:
    with Renewing(lambda _count: 1) as beating:
        assert beating.again.wait(WAIT)
    assert not beating._thread.is_alive()
    assert not beating._lost.is_set()


def test_a_lease_that_another_took_is_lost_and_not_asked_for_again() -> None:
    with Renewing(lambda _count: 0) as beating:
        assert beating._lost.wait(WAIT)
        beating._thread.join(WAIT)
    assert beating.count == 1


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_ends_no_heartbeat(error: type[Exception], caplog) -> None:
    def away_once(count: int) -> int:
        if count == 1:
            raise error("the connection is closed")
        return 1

    with Renewing(away_once) as beating:
        assert beating.again.wait(WAIT)
        assert not beating._lost.is_set()
    assert "lease of work 7" in caplog.text

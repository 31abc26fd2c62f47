"""Two reviewers who press a button at the same moment make one decision; without the lock they would make two."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from extraction.merging import resolving
from extraction.models import Candidate, Resolution
from tests.osii import review_rows as review


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has read what stands waits for the other one to have read it too, as long as that may take."""
    barrier = threading.Barrier(2)
    read = resolving._standing

    def standing(*arguments: object) -> Resolution:
        found = read(*arguments)
        with suppress(threading.BrokenBarrierError):
            barrier.wait(0.3)
        return found

    monkeypatch.setattr(resolving, "_standing", standing)


def reject(client: Client, candidate: Candidate, expected: object) -> int:
    try:
        given = {"decision": "reject", "reason": "Passing talk", "expected": expected}
        return client.post(reverse("review-decide", args=[candidate.pk]), given).status_code
    finally:
        connection.close()


def both(candidate: Candidate) -> list[int]:
    """The answers to two reviewers who saw the same page."""
    clients = [Client(), Client()]
    for client, name in zip(clients, ("rita", "otto"), strict=True):
        client.force_login(review.reviewer(name))
    expected = candidate.resolutions.get().pk
    with ThreadPoolExecutor(2) as pool:
        return sorted(pool.map(lambda client: reject(client, candidate, expected), clients))


@pytest.mark.django_db(transaction=True)
def test_two_reviewers_at_the_same_moment_make_one_decision(rq_connection, together):
    candidate = review.waiting(review.read(review.talk("Ice floats.")), "Ice floats.")
    assert both(candidate) == [302, 409]
    assert candidate.resolutions.count() == 2


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_they_would_make_two(rq_connection, together, monkeypatch):
    def unlocked(candidate: Candidate, work: Callable) -> Resolution:
        with transaction.atomic():
            return work(candidate.batch.chat.learner)

    monkeypatch.setattr(resolving, "_locked", unlocked)
    candidate = review.waiting(review.read(review.talk("Ice floats.")), "Ice floats.")
    assert both(candidate) == [302, 302]
    assert candidate.resolutions.count() == 3

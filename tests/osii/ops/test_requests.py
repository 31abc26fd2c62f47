"""Probes, metrics, request ids, limits and the record of what staff did: as a load balancer, Prometheus and a guesser see them."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.test import Client, RequestFactory
from django.urls import reverse

from coverage.models import ChatSummary
from graphctx.models import Steer
from osii.models import ChatImport, ProcessingItem, ProcessingRun, ProcessingStep, StaffAction
from osii.ops import metrics, probes
from osii.ops.limits import _name, limits
from osii.ops.requests import address_of
from tests.osii import rows
from tests.osii.api import Caller, learner_caller


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "ready", probes.Ready())
    monkeypatch.setattr(metrics, "page", metrics.Page())


# --- Probes ---


def test_healthz_needs_nothing_and_takes_any_host(client: Client, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    found = client.get("/healthz", headers={"Host": "10.0.0.7:8000"})
    assert (found.status_code, found.json()) == (200, {"status": "ok"})
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_readyz_says_which_part_is_away(client: Client, rq_connection: Any, settings: Any, tmp_path: Any) -> None:
    settings.OSII_HOME = tmp_path
    assert client.get("/readyz").json() == {"status": "ok", "parts": dict.fromkeys(probes.PARTS, "ok")}
    probes.ready._due = 0
    settings.RQ_QUEUES = {"chats": {"URL": "redis://127.0.0.1:1/0"}}
    (tmp_path / "restoring.json").write_text("{}")
    found = client.get("/readyz")
    assert found.status_code == 503
    assert found["Retry-After"] == "5"
    assert found.json()["parts"] == {
        "database": "ok", "redis": "does not answer", "store": "ok", "restore": "a restore did not end",
    }  # fmt: skip


# --- Metrics ---


def samples(text: str) -> dict[str, float]:
    return {match[1]: float(match[2]) for match in re.finditer(r"^(osii\S+) (\S+)$", text, re.MULTILINE)}


@pytest.mark.django_db
def test_metrics_tell_of_queues_tokens_batches_and_failures(client: Client, rq_connection: Any) -> None:
    chat = rows.chat(4, tokens=20)
    assert ChatSummary.objects.filter(chat=chat, fresh=False).exists()  # nobody has looked at it yet
    rows.batch(chat, positions=range(1, 3), finished_at=rows.timezone.now())
    rows.batch(
        chat, "parked", positions=range(3, 5), finished_at=rows.timezone.now(), run=rows.run(chat, "failed"),
        error="too long for the model: 9 tokens",
    )  # fmt: skip
    rows.run(chat, "queued")
    found = samples(client.get("/metrics").content.decode())
    assert found['osii_part_up{part="database"}'] == found['osii_part_up{part="redis"}'] == 1
    assert (found["osii_tokens"], found["osii_uncovered_tokens"], found["osii_chats_not_counted"]) == (80, 40, 0)
    assert found['osii_queue_jobs{queue="chats"}'] == 0
    assert found['osii_runs{status="queued"}'] == 1
    assert found['osii_failures_last_hour{of="batch",reason="too_long"}'] == 1
    assert found["osii_batches_parked"] == 1
    assert 'osii_batch_seconds{quantile="0.95"}' in found


@pytest.mark.django_db
def test_failures_of_every_kind_are_told_by_reason(rq_connection: Any) -> None:
    now = rows.timezone.now()
    run = ProcessingRun.objects.create(actor="staff", status="running", started_at=now)
    for position, ago in enumerate((timedelta(0), timedelta(0), timedelta(hours=2)), 1):
        item = ProcessingItem.objects.create(run=run, position=position, path=f"/{position}.md", steps=["chunks"])
        ProcessingStep.objects.create(
            item=item, step="chunks", status="failed", error="x", attempt=1, finished_at=now - ago
        )
    Steer.objects.create(id=uuid4(), chat=rows.chat(), budget=1024, status="failed", reason="no model")
    ChatImport.objects.create(status="failed", error="no room", finished_at=now)
    told = metrics.page.text().decode()
    found = {key: value for key, value in samples(told).items() if key.startswith("osii_failures")}
    assert found == {
        'osii_failures_last_hour{of="processing",reason="chunks"}': 2,
        'osii_failures_last_hour{of="steer",reason="not_prepared"}': 1,
        'osii_failures_last_hour{of="import",reason="failed"}': 1,
    }


@pytest.mark.django_db
def test_a_part_that_is_away_hides_no_other(client: Client, settings: Any) -> None:
    settings.RQ_QUEUES = {"chats": {"URL": "redis://127.0.0.1:1/0"}}
    found = samples(client.get("/metrics").content.decode())
    assert found['osii_part_up{part="redis"}'] == 0
    assert "osii_tokens" in found


@pytest.mark.parametrize(
    ("token", "proxies", "headers", "address", "status"),
    [
        ("", 0, {}, "127.0.0.1", 200),
        ("", 0, {}, "::1", 200),
        ("", 0, {}, "10.0.0.7", 403),
        ("", 0, {"X-Forwarded-For": "127.0.0.1"}, "127.0.0.1", 403),
        ("", 1, {}, "127.0.0.1", 403),
        ("t0ken-of-metrics", 0, {}, "127.0.0.1", 401),
        ("t0ken-of-metrics", 1, {"Authorization": "Bearer t0ken-of-metrics"}, "10.0.0.7", 200),
        ("t0ken-of-metrics", 0, {"Authorization": "Bearer other"}, "127.0.0.1", 401),
    ],
)
def test_metrics_are_for_the_token_or_this_machine(
    settings: Any, monkeypatch: pytest.MonkeyPatch, token: str, proxies: int, headers: dict, address: str, status: int
) -> None:
    monkeypatch.setattr(metrics.page, "text", lambda: b"")
    settings.OSII_METRICS_TOKEN, settings.OSII_PROXIES = token, proxies
    assert Client().get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


# --- Ids and addresses ---


def test_a_request_keeps_a_sane_id_and_gets_one_otherwise(client: Client) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": "trace-0001"})["X-Request-ID"] == "trace-0001"
    for given in ("", "x", "a b c d e f g", "é" * 9):
        assert re.fullmatch(r"[0-9a-f]{16}", client.get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"])


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [(0, "6.6.6.6", "9.9.9.9"), (1, "6.6.6.6, 1.1.1.1", "1.1.1.1"), (2, "6.6.6.6, 1.1.1.1", "6.6.6.6"), (2, "1.1.1.1", "9.9.9.9")],
)  # fmt: skip
def test_only_as_many_forwarded_addresses_are_believed_as_there_are_proxies(
    settings: Any, proxies: int, forwarded: str, address: str
) -> None:
    settings.OSII_PROXIES = proxies
    request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="9.9.9.9")
    assert address_of(request) == address


# --- Limits ---


@pytest.fixture
def guesser(db: None, rq_connection: Any, settings: Any) -> Any:
    settings.OSII_LOGIN_ATTEMPTS = 3
    User.objects.create_user("root", password="right", is_staff=True)

    def try_in(password: str, name: str = "root", address: str = "1.1.1.1") -> Any:
        return Client().post(reverse("login"), {"username": name, "password": password}, REMOTE_ADDR=address)

    return try_in


def test_guessing_is_locked_with_a_time_to_wait_and_others_are_let_in(guesser: Any) -> None:
    assert [guesser("wrong").status_code for _ in range(3)] == [200] * 3
    locked = guesser("right")
    assert locked.status_code == 429
    assert 0 < int(locked["Retry-After"]) <= 900
    assert "Try again in 15 minutes" in locked.content.decode()
    assert guesser("right", "ROOT ").status_code == 429
    assert guesser("right", address="2.2.2.2").status_code == 302


def test_another_spelling_of_an_account_is_no_other_account(guesser: Any) -> None:
    """The form takes them for one, and so does the lock."""
    assert guesser("right", "ｒｏｏｔ").status_code == 302
    assert [guesser("wrong", name).status_code for name in ("ｒoot", "rｏot", "roｏt")] == [200] * 3
    assert guesser("right").status_code == 429


def test_a_login_forgets_the_failures_before_it(guesser: Any) -> None:
    for _ in range(3):
        assert [guesser("wrong").status_code for _ in range(2)] == [200, 200]
        assert guesser("right").status_code == 302


def test_many_names_from_one_address_and_many_addresses_for_one_name_are_locked_too(guesser: Any) -> None:
    assert {guesser("wrong", f"name {number}").status_code for number in range(18)} == {200}
    assert guesser("right").status_code == 429
    for _number in range(60):
        limits.count("login-account", "root", 900)
    assert guesser("right", address="3.3.3.3").status_code == 429


@pytest.mark.django_db
def test_without_redis_nobody_is_locked_out(guesser: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RQ_QUEUES = {"chats": {"URL": "redis://127.0.0.1:1/0"}}
    monkeypatch.setattr(limits, "_away_until", 0.0)
    assert [guesser("wrong").status_code for _ in range(5)] == [200] * 5
    assert guesser("right").status_code == 302
    monkeypatch.setattr(limits, "_away_until", 0.0)


def test_of_tries_at_once_no_more_are_looked_at_than_of_tries_in_turn(
    rq_connection: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OSII_LOGIN_ATTEMPTS = 3
    looked_at: list[str] = []
    together = threading.Barrier(8)

    def authenticate(_request: Any, **given: str) -> None:
        """A password is wrong only once all eight have come so far, or as many as come."""
        looked_at.append(given["password"])
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5)

    monkeypatch.setattr("django.contrib.auth.forms.authenticate", authenticate)

    def eight_tries() -> list[int]:
        looked_at.clear()
        together.reset()
        rq_connection.flushdb()
        with ThreadPoolExecutor(8) as pool:
            sent = [pool.submit(Client().post, "/login/", {"username": "ada", "password": f"{n}"}) for n in range(8)]
        return sorted(one.result().status_code for one in sent)

    assert eight_tries() == [200] * 3 + [429] * 5
    assert len(looked_at) == 3

    def looks_and_counts_apart(counters: Any, seconds: int) -> int:
        """The negative control: what it was before both were one step."""
        (kind, key, most), *_ = counters
        had = int(rq_connection.get(_name(kind, key)) or 0)
        with suppress(threading.BrokenBarrierError):
            looking.wait(30)
        limits.count(kind, key, seconds)
        return seconds if had >= most else 0

    looking = threading.Barrier(8)
    monkeypatch.setattr(limits, "admit", looks_and_counts_apart)
    assert eight_tries() == [200] * 8
    assert len(looked_at) == 8


def test_a_try_that_was_right_is_no_failure_of_its_address_and_a_window_that_ended_stays_ended(
    rq_connection: Any,
) -> None:
    ways = [("login", "a", 3), ("login-address", "b", 3)]
    assert [limits.admit(ways, 60) for _ in range(2)] == [0, 0]
    limits.clear("login", "a")
    limits.give_back("login-address", "b")
    assert [limits.admit(ways, 60) for _ in range(2)] == [0, 0]
    assert 0 < limits.admit(ways, 60) <= 60
    assert [int(rq_connection.get(_name(kind, key))) for kind, key, _ in ways] == [2, 3], "a refused try counts nowhere"
    limits.give_back("login", "never")
    assert not rq_connection.exists(_name("login", "never"))


@pytest.mark.parametrize("count", [limits.count, lambda *counter: limits.admit([(*counter[:2], 9)], counter[2])])
def test_a_window_ends_so_long_after_its_first_try_however_often_it_is_tried(rq_connection: Any, count: Any) -> None:
    count("window", "a", 60)
    rq_connection.expire(_name("window", "a"), 20)
    count("window", "a", 60)
    assert 0 < rq_connection.ttl(_name("window", "a")) <= 20
    assert int(rq_connection.get(_name("window", "a"))) == 2


@pytest.mark.django_db
def test_a_token_may_call_so_often_a_minute_and_is_told_when_again(rq_connection: Any, settings: Any) -> None:
    settings.OSII_API_PER_MINUTE = 2
    ada, bo = learner_caller("Ada"), learner_caller("Bo")
    assert [ada.get("/propositions").status for _ in range(3)] == [200, 200, 429]
    refused = ada.get("/propositions")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert "Too many calls" in refused.body["detail"]
    assert bo.get("/propositions").status == 200


@pytest.mark.django_db
def test_guessing_tokens_is_slowed_down(rq_connection: Any, settings: Any) -> None:
    settings.OSII_API_PER_MINUTE = 1000
    wrong = Caller(f"osii_abcd1234_{'x' * 43}")
    assert {wrong.get("/propositions").status for _ in range(60)} == {401}
    assert wrong.get("/propositions").status == 429


# --- The record of what staff did ---


@pytest.mark.django_db
def test_what_staff_do_is_on_record_and_stays_there(rq_connection: Any) -> None:
    chat = rows.chat()
    client = Client()
    client.force_login(rows.staff_user("add_run", username="ines"))
    client.get(reverse("chat", args=[chat.pk]))
    client.post(reverse("chat-extract", args=[chat.pk]), {"mode": "rest"})
    client.post(reverse("chat-purge", args=[chat.pk]), {"coverage": "keep"})
    told = list(StaffAction.objects.order_by("created_at", "id").values_list("username", "action", "about", "address"))
    about = {"chat_id": str(chat.pk)}
    assert told[0] == ("ines", "chat-extract", about, "127.0.0.1")
    assert [action for _name, action, *_rest in told] == ["chat-extract", "chat-purge"]
    assert StaffAction.objects.get(action="chat-purge").status == 403
    for change in (lambda rows: rows.update(username="bo"), lambda rows: rows.delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change(StaffAction.objects.all())
    User.objects.get(username="ines").delete()
    assert StaffAction.objects.count() == 2


def test_the_worker_names_what_its_job_is_about() -> None:
    from osii.workers import _subject

    assert _subject(SimpleNamespace(id="run-1-2", args=("1",))) == {"run": "1"}
    assert _subject(SimpleNamespace(id="other", args=("1",))) == {"subject": "1"}
    assert _subject(SimpleNamespace(id="run-1", args=())) == {}

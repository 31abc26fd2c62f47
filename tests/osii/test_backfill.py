"""Many chats through the queue: requested in bulk, joined by a second call, waited for, and shown as a backlog."""

import io
import json
import threading
import time
from datetime import timedelta
from typing import Any

import django_rq
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.queueing import CHATS
from extraction import backfill, jobs
from extraction.models import Batch, Run
from extraction.services import request_run
from osii import waiting
from tests import factories
from tests.factories import message
from tests.osii import rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _queue(rq_connection: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EXTRACTION_CHUNK_TOKENS = 500
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.05)


def talk(number: int, words: int = 40) -> Any:
    return factories.chat(
        message("a", f"I prefer answer {number} " + "in short words " * words), title=f"Chat {number}"
    )


def call(*arguments: str) -> str:
    out = io.StringIO()
    call_command("extract_chats", *arguments, stdout=out)
    return out.getvalue()


def work() -> None:
    """What one worker does until the queue is empty."""
    queue = django_rq.get_queue(CHATS)
    while ids := queue.job_ids[:1]:
        (run_id,) = queue.fetch_job(ids[0]).args
        queue.remove(ids[0])
        queue.connection.delete(f"rq:job:{ids[0]}")
        jobs.run_chat(run_id)


def in_the_background(function: Any) -> threading.Thread:
    def run() -> None:
        try:
            function()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_second_call_joins_what_the_first_requested() -> None:
    for number in range(5):
        talk(number)
    first = json.loads(call("--all", "--rest", "--queue", "--json"))
    assert (first["requested"], first["joined"], first["totals"]["queued"]) == (5, 0, 5)
    again = json.loads(call("--all", "--rest", "--queue", "--json"))
    assert (again["requested"], again["joined"]) == (0, 5)
    assert {row["run_id"] for row in first["chats"]} == {row["run_id"] for row in again["chats"]}
    assert len(django_rq.get_queue(CHATS).job_ids) == 5

    work()
    assert "Nothing to read" in call("--all", "--rest", "--queue")


def test_the_rest_widens_a_run_that_was_only_due_and_settles() -> None:
    chat = talk(1)
    run = request_run(chat.pk, "due")
    ((same, made),) = backfill.request_runs([chat.pk], "rest", "rules")
    assert (same.pk, made) == (run.pk, False)
    run.refresh_from_db()
    assert run.mode == "rest"


def test_without_rest_only_due_chats_are_requested() -> None:
    talk(1)
    long = talk(2, words=200)
    made = json.loads(call("--all", "--queue", "--json"))
    assert [row["chat_id"] for row in made["chats"]] == [str(long.pk)]


def test_requesting_takes_the_same_queries_for_any_number_of_chats(django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        talk(number)
    with django_assert_max_num_queries(20):
        assert sum(len(found) for _, found in backfill.request_all("rest", "rules")) == 30


def test_waiting_ends_with_totals(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        talk(number)
    call("--all", "--rest", "--queue")
    worker = in_the_background(work)
    out = call("--all", "--rest", "--queue", "--wait")
    worker.join()
    assert "4 chats: 4 succeeded" in out
    assert "4 batches" in out
    assert not Run.objects.exclude(status="succeeded").exists()


def test_waiting_says_what_holds_and_ctrl_c_leaves_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talk(1)

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    out = call("--all", "--rest", "--queue", "--wait")
    said = capsys.readouterr().err
    assert "0 of 1 chats done" in said
    assert "no worker is online" in said
    assert "The work goes on" in said
    assert "1 queued" in out
    assert Run.objects.get().status == "queued"


def test_a_failed_run_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from extraction.workers.rules import RulesWorker

    def broken(*_args: Any) -> None:
        raise RuntimeError("no good")

    monkeypatch.setattr(RulesWorker, "run", broken)
    talk(1)
    call("--all", "--rest", "--queue")
    work()
    assert Run.objects.get().status == "failed"
    talk(2)

    def wait(_command: Any, _ids: Any) -> bool:
        work()
        return True

    monkeypatch.setattr("osii.management.commands.extract_chats.wait_for", wait)
    with pytest.raises(CommandError, match=r"2 runs failed"):
        call("--all", "--rest", "--queue", "--wait")


def test_wait_goes_with_queue() -> None:
    with pytest.raises(CommandError, match="--queue"):
        call("--all", "--wait")


def test_in_process_the_daily_cap_ends_the_command(settings: Any) -> None:
    settings.EXTRACTION_TOKENS_PER_DAY = 10
    for number in range(3):
        talk(number)
    with pytest.raises(CommandError, match=r"EXTRACTION_TOKENS_PER_DAY is 10; 2 chats are left"):
        call("--all", "--rest")
    assert Batch.objects.count() == 1


# --- the backlog


def test_the_backlog_and_its_end() -> None:
    assert "0 running, 0 waiting" in call("--status")
    chat = talk(1)
    tokens = chat.messages.get().tokens
    request_run(chat.pk, "rest")
    state = backfill.backlog()
    assert (state.queued, state.running, state.unread_tokens, state.eta) == (1, 0, tokens, None)
    assert "not known before a batch has ended" in call("--status")

    done = rows.batch(rows.chat(2, tokens=500))
    now = timezone.now()
    Batch.objects.filter(pk=done.pk).update(created_at=now - timedelta(minutes=30), finished_at=now)
    state = backfill.backlog()
    # 1000 tokens in half an hour, or in the last ten minutes.
    assert state.hour_tokens == 1000
    assert state.slow_rate == pytest.approx(2000 * backfill.SLOWER, rel=0.01)
    assert state.fast_rate == pytest.approx(6000 * backfill.FASTER, rel=0.01)
    least, most = state.eta
    assert least < most
    assert json.loads(call("--status", "--json"))["eta_seconds"] == pytest.approx([least, most], rel=0.01)


def test_the_backlog_is_a_fixed_number_of_queries(django_assert_num_queries: Any) -> None:
    for number in range(6):
        request_run(talk(number).pk, "rest")
    with django_assert_num_queries(3):
        assert backfill.backlog().queued == 6


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59, "59 s"),
        (61, "1 min"),
        (3500, "58 min"),
        (3600, "1 h 0 min"),
        (7800, "2 h 10 min"),
        (100_000, "1 d 3 h"),
    ],
)
def test_spans(seconds: float, words: str) -> None:
    assert waiting.span(seconds) == words


# --- the activity page


@pytest.fixture
def staff(client: Any) -> Any:
    client.force_login(rows.staff_user())
    return client


def test_the_page_polls_only_while_something_is_active(staff: Any) -> None:
    quiet = staff.get("/activity/").text
    assert "No run is active" in quiet
    assert 'hx-trigger="every' not in quiet
    request_run(talk(1).pk, "rest")
    busy = staff.get("/activity/").text
    assert 'hx-get="/activity/"' in busy
    assert "No worker is online" in busy
    assert "not known before a batch has ended" in busy
    assert "Chat 1" in busy
    fragment = staff.get("/activity/", HTTP_HX_REQUEST="true").text
    assert "<html" not in fragment
    assert 'id="activity-live"' in fragment
    work()
    assert 'hx-trigger="every' not in staff.get("/activity/").text


def test_the_page_says_that_runs_wait_for_the_daily_cap(staff: Any, settings: Any) -> None:
    rows.batch(talk(1), attempt=1, finished_at=timezone.now())
    settings.EXTRACTION_TOKENS_PER_DAY = 1
    request_run(talk(2).pk, "rest")
    for url in ("/activity/", "/", reverse("chat", args=[Run.objects.first().chat_id])):
        assert "EXTRACTION_TOKENS_PER_DAY is 1" in staff.get(url).text


def test_the_page_takes_the_same_queries_for_any_number_of_runs(staff: Any) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get("/activity/")
        return len(captured)

    request_run(talk(0).pk, "rest")
    queries()  # the first page looks up the session's user and content types
    few = queries()
    for number in range(1, 8):
        request_run(talk(number).pk, "rest")
    assert queries() == few

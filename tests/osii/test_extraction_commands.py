"""extract_chats, coverage_report, reconcile and check_invariants, as their user calls them."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from coverage.ids import new_id
from coverage.services import append_entries, put_messages
from extraction.models import Batch, Run
from extraction.running import leases
from extraction.services import request_run
from tests import factories
from tests.factories import message

pytestmark = pytest.mark.django_db(transaction=True)

TALK = (
    message("a", "What do heat pumps need?"),
    message("b", "A heat pump needs a low flow temperature to work efficiently.", "assistant"),
    message("c", "I prefer short answers."),
)


@pytest.fixture(autouse=True)
def _store(settings: Any, tmp_path: Any) -> None:
    settings.OSII_HOME = tmp_path


def call(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def call_json(*arguments: str) -> dict[str, Any]:
    return json.loads(call(*arguments, "--json"))


def test_the_report_before_and_after_reading_and_again() -> None:
    chat = factories.chat(*TALK, title="Heating")
    before = call_json("coverage_report")["chats"][0]
    assert before["uncovered_tokens"] == before["total_tokens"] > 0
    assert "0 of" in call("coverage_report")

    done = call_json("extract_chats", "--chat", str(chat.pk), "--rest")
    assert done["totals"]["batches"] == 1
    assert done["totals"]["tokens"] == before["total_tokens"]

    after = call_json("coverage_report", "--chat", str(chat.pk))
    assert after["uncovered_tokens"] == 0
    assert [row["state"] for row in after["messages"]] == ["covered"] * 3
    assert "3 covered" in call("coverage_report", "--chat", str(chat.pk))

    again = call_json("extract_chats", "--all", "--rest")
    assert again["totals"]["batches"] == 0
    assert "Nothing to read" in call("extract_chats", "--all")


def test_the_end_of_a_manual_run_counts_what_waits_for_review(settings: Any) -> None:
    settings.OSII_REVIEW_MODE = "manual"
    factories.chat(*TALK, title="Heating")
    said = call("extract_chats", "--all", "--rest").splitlines()[-1]
    assert "2 candidates: 0 new propositions, 0 already known, 2 waiting for review" in said


def test_without_rest_only_what_is_due_is_read(settings: Any) -> None:
    factories.chat(*TALK, title="Short")
    assert call_json("extract_chats", "--all")["chats"] == []
    settings.EXTRACTION_CHUNK_TOKENS = 20
    assert call_json("extract_chats", "--all")["totals"]["batches"] >= 1


def test_left_to_the_workers_a_run_waits_in_the_queue(rq_connection: Any) -> None:
    factories.chat(*TALK)
    done = call_json("extract_chats", "--all", "--rest", "--queue")
    assert done["chats"][0]["status"] == "queued"
    assert rq_connection.llen("rq:queue:chats") == 1


def test_parked_batches_end_the_command_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from extraction.workers.rules import RulesWorker

    def broken(*_args: Any) -> None:
        raise RuntimeError("no good")

    monkeypatch.setattr(RulesWorker, "run", broken)
    factories.chat(*TALK)
    with pytest.raises(CommandError, match=r"1 chat ended with parked batches"):
        call("extract_chats", "--all", "--rest")
    assert Batch.objects.get().status == Batch.Status.PARKED


@pytest.mark.parametrize("command", [("extract_chats", "--chat"), ("coverage_report", "--chat")])
@pytest.mark.parametrize(
    ("chat_id", "says"),
    [("nonsense", "is not a chat id"), ("019a0000-0000-7000-8000-000000000000", "there is no chat")],
)
def test_a_wrong_chat_id_is_named(command: tuple[str, str], chat_id: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        call(*command, chat_id)


def test_no_chats_yet() -> None:
    assert "import_chats" in call("coverage_report")


def test_a_fixed_number_of_queries_however_many_chats(django_assert_max_num_queries: Any) -> None:
    for number in range(20):
        factories.chat(*TALK, title=f"Chat {number}")
    with django_assert_max_num_queries(3):
        assert len(call_json("coverage_report")["chats"]) == 20


# --- reconcile and invariants


def test_reconcile_says_what_it_would_do_and_then_does_it(rq_connection: Any) -> None:
    chat = factories.chat(*TALK)
    request_run(chat.pk, "rest", enqueue=False)
    Run.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert "1 would be waiting" in call("reconcile", "--dry-run")
    assert rq_connection.llen("rq:queue:chats") == 0
    assert "1 enqueued" in call("reconcile")
    assert rq_connection.llen("rq:queue:chats") == 1


def test_every_invariant_holds_after_reading() -> None:
    factories.chat(*TALK)
    call("extract_chats", "--all", "--rest")
    found = call_json("check_invariants")
    assert {"coverage", "graph", "extraction", "documents"} <= set(found["violations"])
    assert found["count"] == sum(len(rows) for rows in found["violations"].values()) == 0
    assert "All invariants hold" in call("check_invariants")


TAMPERING = [
    ("UPDATE coverage_message SET fingerprint = 'v1:wrong'", "fingerprint is not that of its view"),
    ("UPDATE coverage_message SET tokens = tokens + 1", "tokens stored"),
    ("UPDATE coverage_message SET position = position + 1", "positions of its transcript"),
    ("INSERT INTO coverage_coverageentry (chat_id, fingerprint, tokens, kind) SELECT id, 'v1:x', 1, 'release' FROM coverage_chat",
     "the ledger's sum"),
    ("INSERT INTO coverage_coverageentry (chat_id, fingerprint, tokens, kind, batch) SELECT chat_id, 'v1:x', 1, 'cover', id "
     "FROM extraction_batch", "such cover lines in the ledger"),
    ("ALTER TABLE coverage_coverageentry DISABLE TRIGGER coverage_coverageentry_guard; "
     "UPDATE coverage_coverageentry SET fingerprint = 'v1:another'; "
     "ALTER TABLE coverage_coverageentry ENABLE TRIGGER coverage_coverageentry_guard", "0 messages read as v1:another"),
    ("ALTER TABLE coverage_coverageentry DISABLE TRIGGER coverage_coverageentry_guard", "trigger is missing or disabled"),
    ("UPDATE extraction_batch SET staged_count = 17", "finished with 17 candidates"),
    ("SET LOCAL osii.erase = 'on'; DELETE FROM extraction_resolution", "no resolution"),
    ("SET LOCAL osii.erase = 'on'; DELETE FROM graphctx_instance", "no evidence"),
    ("ALTER TABLE extraction_referenceenvironment DISABLE TRIGGER USER; "
     "UPDATE extraction_referenceenvironment SET content = jsonb_set(content, '{evidence,1,text}', '\"forged\"'); "
     "ALTER TABLE extraction_referenceenvironment ENABLE TRIGGER USER", "environment is not what was stored"),
    ("SET LOCAL osii.erase = 'on'; DELETE FROM extraction_referenceenvironment", "does not stand in its environment"),
    ("UPDATE extraction_run SET status = 'running', attempt_token = gen_random_uuid(), lease_expires_at = now() - interval '1 day'",
     "lease expired"),
    ("UPDATE coverage_message SET streaming = true", "streaming is stored as True"),
    ("ALTER TABLE extraction_candidate DISABLE TRIGGER USER; "
     "UPDATE extraction_candidate SET evidence = jsonb_set(evidence, '{0,quote}', '\"Nobody said this.\"'); "
     "ALTER TABLE extraction_candidate ENABLE TRIGGER USER", "does not stand in its environment"),
    ("ALTER TABLE graphctx_instance DISABLE TRIGGER USER; UPDATE graphctx_instance SET quote = 'Nobody said this.'; "
     "ALTER TABLE graphctx_instance ENABLE TRIGGER USER", "does not stand in the environment of batch"),
    ("UPDATE extraction_batch SET status = 'running'", "open, but its run is succeeded"),
    ("UPDATE graphctx_instance SET live = NOT live", "but its quote stands"),
    ("DROP TRIGGER extraction_candidate_guard_truncate ON extraction_candidate", "trigger against TRUNCATE is missing"),
    ("ALTER TABLE extraction_batch DISABLE TRIGGER extraction_batch_keeps_chat_id", "extraction_batch_keeps_chat_id is disabled"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "says"), TAMPERING)
def test_each_violated_invariant_is_found_and_named(statement: str, says: str) -> None:
    factories.chat(*TALK)
    call("extract_chats", "--all", "--rest")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
        out = io.StringIO()
        with pytest.raises(CommandError, match="violated"):
            call_command("check_invariants", stdout=out)
        transaction.set_rollback(True)
    assert says in out.getvalue()


def violations() -> list[str]:
    out = io.StringIO()
    with pytest.raises(CommandError, match="violated"):
        call_command("check_invariants", "--json", stdout=out)
    return [line for lines in json.loads(out.getvalue())["violations"].values() for line in lines]


def test_a_version_that_was_read_once_too_often_is_found() -> None:
    chat = factories.chat(*TALK)
    call("extract_chats", "--all", "--rest")
    again = Batch.objects.get()
    messages = list(again.messages.all())
    again.pk, again.staged_count, again.reason = new_id(), 0, "read again"
    again.save(force_insert=True)
    for row in messages:
        row.pk, row.batch = None, again
        row.save(force_insert=True)
    append_entries(chat, messages, batch_id=again.pk)
    found = violations()
    assert len(found) == len(messages)
    assert all("was read 2 times, more often than it was there" in line for line in found)


def test_an_imported_checkpoint_is_no_violation(tmp_path: Any) -> None:
    chat = factories.chat(
        message("a", "Tea has caffeine.", said_at=timezone.now() - timedelta(days=2)),
        external_id="old",
        source="claude",
    )
    file = tmp_path / "sessions.jsonl"
    file.write_text(json.dumps({"chatId": "old", "foldedAt": timezone.now().isoformat()}) + "\n")
    call("import_chats", str(file), "--learner", chat.learner.name)
    assert call_json("coverage_report")["chats"][0]["uncovered_tokens"] == 0
    assert "All invariants hold" in call("check_invariants")


def test_a_run_whose_worker_was_lost_is_taken_over_here(settings: Any) -> None:
    chat = factories.chat(*TALK)
    leases.claim(request_run(chat.pk, "rest", enqueue=False).pk)
    Run.objects.update(lease_expires_at=timezone.now() - timedelta(minutes=10))
    assert call_json("extract_chats", "--all", "--rest")["chats"][0]["status"] == "succeeded"


def test_the_same_words_said_again_are_not_read_twice_by_mistake() -> None:
    chat = factories.chat(message("a", "Yes, please do that."), message("b", "Tea has caffeine."))
    call("extract_chats", "--all", "--rest")
    put_messages(
        chat.pk, [message("z", "Yes, please do that."), message("a", "Yes, please do that.")], whole_transcript=True
    )
    call("extract_chats", "--all", "--rest")
    assert "All invariants hold" in call("check_invariants")

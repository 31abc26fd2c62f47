"""Old checkpoints of whole chats enter the ledger once, as imported batches, and cover nothing that was not read."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command

from coverage import invariants, services
from coverage.ids import new_id
from coverage.importers.checkpoints import CheckpointReport, imported_batch, is_imported
from coverage.importers.load import Report
from coverage.models import Chat, CoverageEntry, Message, MessageCoverage
from extraction.models import Run
from tests.coverage.import_helpers import said, write
from tests.coverage.test_import_load import problems, run, state

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def timed(message_id: str, minutes: int | None, text: str = "") -> dict[str, Any]:
    """A message said so many minutes after noon; without a time when it is None."""
    more = {} if minutes is None else {"createdAt": (NOON + timedelta(minutes=minutes)).isoformat()}
    return said(message_id, text or f"This is {message_id}.", **more)


def chat_file(tmp_path: Path, *messages: dict[str, Any], chat_id: str = "c1", **more: Any) -> Path:
    return write(tmp_path / f"{chat_id}.json", {"id": chat_id, "messages": list(messages), **more})


def lines(tmp_path: Path, *pairs: tuple[Any, Any]) -> Path:
    rows = [{"chatId": chat_id, "foldedAt": moment} for chat_id, moment in pairs]
    return write(tmp_path / "checkpoints.jsonl", rows, lines=True)


def folded(reports: list[Report]) -> list[tuple[str, int]]:
    return [(report.state, report.messages) for report in reports if isinstance(report, CheckpointReport)]


def covered(external_id: str = "c1") -> list[str]:
    assert list(invariants.check()) == []
    rows = MessageCoverage.objects.filter(chat__external_id=external_id, covered=True).order_by("position")
    return list(rows.values_list("message_id", flat=True))


FOUR = [timed("a", 0), timed("b", 1), timed("c", 2), timed("d", 3)]


@pytest.mark.parametrize(
    "moment",
    [
        "2026-05-01T12:01:30Z",
        "2026-05-01T14:01:30+02:00",
        "2026-05-01 12:01:30",
        (NOON + timedelta(seconds=90)).timestamp(),
        (NOON + timedelta(seconds=90)).timestamp() * 1000,
        str((NOON + timedelta(seconds=90)).timestamp()),
    ],
)
def test_messages_up_to_the_moment_are_covered(tmp_path: Path, moment: Any) -> None:
    run(chat_file(tmp_path, *FOUR))
    assert folded(run(lines(tmp_path, ("c1", moment)))) == [("covered", 2)]
    assert covered() == ["a", "b"]
    entries = CoverageEntry.objects.all()
    assert {entry.kind for entry in entries} == {"cover"}
    (batch,) = {entry.batch for entry in entries}
    assert is_imported(batch)
    assert sum(entry.tokens for entry in entries) == sum(
        Message.objects.filter(message_id__in="ab").values_list("tokens", flat=True)
    )


def test_importing_again_never_covers_twice(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    path = lines(tmp_path, ("c1", "2026-05-01T12:01:30Z"))
    run(path)
    before = list(CoverageEntry.objects.values())
    assert folded(run(path)) == [("already", 0)]
    assert list(CoverageEntry.objects.values()) == before


def test_what_changed_or_was_released_since_stays_open(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    path = lines(tmp_path, ("c1", "2026-05-01T12:02:30Z"))
    run(path)
    chat = Chat.objects.get()
    services.append_entries(chat, Message.objects.filter(message_id="b"), kind=CoverageEntry.Kind.RELEASE)
    run(chat_file(tmp_path, timed("a", 0, "Edited since."), *FOUR[1:]))
    assert covered() == ["c"]
    assert folded(run(path)) == [("already", 0)]
    older = lines(tmp_path, ("c1", "2026-05-01T12:01:30Z"))
    assert folded(run(older)) == [("already", 0)]
    assert covered() == ["c"]


def test_a_later_checkpoint_covers_the_rest(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    run(lines(tmp_path, ("c1", "2026-05-01T12:00:30Z")))
    assert folded(run(lines(tmp_path, ("c1", "2026-05-01T12:02:30Z")))) == [("covered", 2)]
    assert covered() == ["a", "b", "c"]
    assert CoverageEntry.objects.count() == 3


def test_of_several_lines_the_latest_counts(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    path = lines(tmp_path, ("c1", "2026-05-01T12:02:30Z"), ("c1", "2026-05-01T12:00:30Z"))
    assert folded(run(path)) == [("covered", 3)]


def test_what_was_covered_before_is_not_covered_again(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    services.append_entries(Chat.objects.get(), Message.objects.filter(message_id__in=["a", "b"]), batch_id=new_id())
    assert folded(run(lines(tmp_path, ("c1", "2026-05-01T13:00:00Z")))) == [("covered", 2)]
    assert CoverageEntry.objects.count() == 4
    assert folded(run(lines(tmp_path, ("c1", "2026-05-01T13:30:00Z")))) == [("nothing", 0)]


def test_equal_messages_are_counted(tmp_path: Path) -> None:
    same = [timed("a", 0, "Yes."), timed("b", 1, "Yes."), timed("c", 2, "Yes.")]
    run(chat_file(tmp_path, *same))
    run(lines(tmp_path, ("c1", "2026-05-01T12:01:30Z")))
    assert covered() == ["a", "b"]


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([0, None, 1, None, 9, None], ["a", "b", "c"]),
        ([None, None, 1], ["a", "b", "c"]),
        ([0, 9, 1], ["a", "c"]),
        ([9, None], []),
    ],
)
def test_messages_without_a_time_count_by_their_place(
    tmp_path: Path, minutes: list[int | None], expected: list[str]
) -> None:
    run(chat_file(tmp_path, *[timed(key, minute) for key, minute in zip("abcdef", minutes, strict=False)]))
    assert problems(run(lines(tmp_path, ("c1", "2026-05-01T12:05:00Z")))) == []
    assert covered() == expected


def test_a_chat_without_any_time_is_told(tmp_path: Path) -> None:
    run(chat_file(tmp_path, timed("a", None), timed("b", None)))
    reports = run(lines(tmp_path, ("c1", "2026-05-01T12:05:00Z")))
    assert "checkpoints.jsonl, line 1: none of its messages tells when it was said" in problems(reports)[0]
    assert not CoverageEntry.objects.exists()


def test_messages_that_were_stored_by_then_count(tmp_path: Path) -> None:
    """A chat held here, whose client gives no times: when a message was stored is known."""
    learner = services.get_or_create_learner("me")
    chat = Chat.objects.create(learner=learner)
    services.put_messages(chat.pk, [services.IncomingMessage("a", "user", [{"type": "text", "text": "One"}])])
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert folded(run(lines(tmp_path, (str(chat.pk), later.isoformat())))) == [("covered", 1)]


def test_messages_with_nothing_in_them_need_no_line(tmp_path: Path) -> None:
    run(chat_file(tmp_path, timed("a", 0), {**timed("s", 1), "role": "system"}, timed("b", 2)))
    assert folded(run(lines(tmp_path, ("c1", "2026-05-01T13:00:00Z")))) == [("covered", 2)]


# --- whose chat ------------------------------------------------------------------------------------------------------


def test_unknown_and_doubtful_chats_are_reported_and_the_others_covered(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR), chat_file(tmp_path, *FOUR, chat_id="c2", learner="Ada"))
    run(chat_file(tmp_path, *FOUR, chat_id="c2"), learner="Grace")
    noon = "2026-05-01T13:00:00Z"
    path = lines(tmp_path, ("gone", noon), ("c1", noon), ("c2", noon), (str(uuid4()), noon), (7, noon))
    reports = run(path)
    assert folded(reports) == [("covered", 4)]
    told = problems(reports)
    assert len(told) == 4
    assert told[0].endswith(
        "line 1: no chat has the id 'gone' (import the chat first, or together with the checkpoints)"
    )
    assert "line 3: 2 chats have the id 'c2' (say with --learner whose chat is meant)" in told[1]
    assert folded(run(path, learner="Ada")) == [("covered", 4)]
    assert CoverageEntry.objects.count() == 8


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"chatId": "c1", "foldedAt": "soon"}, "the foldedAt is not a time"),
        ({"chatId": "c1", "foldedAt": None}, "the foldedAt is not a time"),
        ({"chatId": ["c1"], "foldedAt": 1}, "the chatId is neither"),
        ({"chatId": "", "foldedAt": 1}, "the chatId is neither"),
        ({"chatId": "\ud800", "foldedAt": 1}, "lone surrogate"),
        ({"chatId": "c1"}, "it has no chatId and foldedAt"),
        ('{"chatId": ', "not valid JSON"),
    ],
)
def test_lines_that_cannot_be_used_are_refused_by_position(tmp_path: Path, row: Any, reason: str) -> None:
    run(chat_file(tmp_path, *FOUR))
    good = {"chatId": "c1", "foldedAt": "2026-05-01T13:00:00Z"}
    reports = run(write(tmp_path / "x.jsonl", [good, row], lines=True))
    assert folded(reports) == [("covered", 4)]
    (told,) = problems(reports)
    assert "x.jsonl, line 2: " in told
    assert reason in told


# --- in one import, in a dry run, during a run -----------------------------------------------------------------------


def test_checkpoints_come_last_wherever_they_lie(tmp_path: Path) -> None:
    lines(tmp_path / "a", ("c1", "2026-05-01T13:00:00Z"))
    chat_file(tmp_path / "z", *FOUR)
    reports = run(tmp_path)
    assert problems(reports) == []
    assert folded(reports) == [("covered", 4)]
    assert covered() == ["a", "b", "c", "d"]


def test_a_folder_of_checkpoints_alone_is_fine(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    lines(tmp_path / "x", ("c1", "2026-05-01T13:00:00Z"))
    assert problems(run(tmp_path / "x")) == []


def test_a_dry_run_says_what_would_be_covered(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    new = chat_file(tmp_path, *FOUR, chat_id="c2")
    before = state()
    reports = run(new, lines(tmp_path, ("c1", "2026-05-01T13:00:00Z"), ("c2", 1_777_640_400)), dry_run=True)
    assert problems(reports) == []
    assert folded(reports) == [("covered", 4), ("pending", 0)]
    assert state() == before
    assert not CoverageEntry.objects.exists()


def command(*arguments: Any) -> tuple[str, str]:
    out = io.StringIO()
    try:
        call_command("import_chats", *map(str, arguments), stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def test_what_the_command_prints(tmp_path: Path) -> None:
    path = lines(tmp_path, ("c1", "2026-05-01T12:01:30Z"))
    out, error = command(chat_file(tmp_path, *FOUR, title="Talk"), path)
    assert error == ""
    tokens = sum(entry.tokens for entry in CoverageEntry.objects.all())
    assert f"       2 {tokens:>9}  2026-05-01 12:01 UTC  covered   Talk" in out.splitlines()
    assert f"; covered by checkpoints: 2 messages, {tokens} tokens.\n" in out
    data = json.loads(command(path, "--json")[0])
    (row,) = data["checkpoints"]
    assert (row["state"], row["external_id"], row["folded_at"]) == ("already", "c1", "2026-05-01T12:01:30+00:00")
    assert data["totals"]["checkpoints"] == {"already": 1}


def test_a_chat_that_a_run_is_reading_is_left_alone(tmp_path: Path) -> None:
    run(chat_file(tmp_path, *FOUR))
    Run.objects.create(chat=Chat.objects.get(), mode=Run.Mode.REST, worker="rules", status=Run.Status.QUEUED)
    out, error = command(lines(tmp_path, ("c1", "2026-05-01T13:00:00Z")))
    assert "a run is reading this chat now, so nothing was covered" in out
    assert error
    assert not CoverageEntry.objects.exists()


def test_batch_ids_are_ordered_by_their_time_and_told_from_others() -> None:
    chat = uuid4()
    ids = [imported_batch(chat, NOON + timedelta(days=days)) for days in range(-20_000, 30_000, 999)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert all(is_imported(batch) and batch.variant == UUID(int=1 << 63).variant for batch in ids)
    assert imported_batch(chat, NOON) != imported_batch(uuid4(), NOON)
    assert not is_imported(uuid4())
    assert not is_imported(None)

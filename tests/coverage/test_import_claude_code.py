"""Claude Code sessions: messages over several lines, results in user lines, sidechains, branches, compaction."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from coverage.ids import new_id
from coverage.importers.records import ParsedChat, Problem, Skipped
from coverage.models import Chat, Message, MessageCoverage
from coverage.services import append_entries
from tests.coverage.import_helpers import complaints, detected, ids, only_chat, read, texts, tools, write
from tests.coverage.test_import_load import chats, problems, run, transcript


class Session:
    """Writes lines; each follows the one before unless told otherwise."""

    def __init__(self, name: str = "s1"):
        self.name = name
        self.lines: list[Any] = []
        self.last: str | None = None

    def line(self, uuid: str, kind: str, message: Any = None, **more: Any) -> "Session":
        base = {"type": kind, "uuid": uuid, "parentUuid": self.last, "sessionId": self.name, "isSidechain": False}
        base |= {"timestamp": f"2026-05-01T10:00:{len(self.lines):02}.000Z"}
        self.lines.append(base | ({} if message is None else {"message": message}) | more)
        if not more.get("isSidechain"):
            self.last = uuid
        return self

    def user(self, uuid: str, content: Any, **more: Any) -> "Session":
        return self.line(uuid, "user", {"role": "user", "content": content}, **more)

    def answer(self, uuid: str, content: Any, message_id: str | None = None, **more: Any) -> "Session":
        content = [{"type": "text", "text": content}] if isinstance(content, str) else [content]
        message = {"id": message_id or f"msg-{uuid}", "role": "assistant", "model": "m", "content": content}
        return self.line(uuid, "assistant", message, **more)

    def use(self, uuid: str, call_id: str, message_id: str, **more: Any) -> "Session":
        return self.answer(uuid, {"type": "tool_use", "id": call_id, "name": "look", "input": {}}, message_id, **more)

    def result(self, uuid: str, call_id: str, content: Any = "seen", **more: Any) -> "Session":
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return self.user(uuid, [block], toolUseResult={"raw": content}, **more)

    def extra(self, **line: Any) -> "Session":
        self.lines.append(line)
        return self


def parse(tmp_path: Path, session: Session) -> ParsedChat:
    return only_chat(read(write(tmp_path / "s.jsonl", session.lines, lines=True)))


def test_a_session_is_a_chat(tmp_path: Path) -> None:
    session = Session().extra(type="summary", summary="A talk", leafUuid="a1").user("u1", "Hi").answer("a1", "Hello")
    path = write(tmp_path / "x", session.lines, lines=True)
    assert detected(path) == "claude-code"
    chat = only_chat(read(path))
    assert (chat.external_id, chat.title, chat.complete) == ("s1", "A talk", True)
    assert [(m.message_id, m.role, m.metadata) for m in chat.messages] == [
        ("u1", "user", {}),
        ("msg-a1", "assistant", {"model": "m"}),
    ]
    assert chat.created_at == datetime(2026, 5, 1, 10, 0, 1, tzinfo=UTC)
    assert chat.updated_at == datetime(2026, 5, 1, 10, 0, 2, tzinfo=UTC)


def test_one_message_spans_several_lines(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi")
    session.answer("a1", {"type": "thinking", "thinking": "Hm.", "signature": "s"}, "m1")
    session.answer("a2", "I look.", "m1").use("a3", "t1", "m1").result("r1", "t1").answer("a4", "Done.", "m2")
    chat = parse(tmp_path, session)
    assert ids(chat) == ["u1", "m1", "m2"]
    assert [part["type"] for part in chat.messages[1].parts] == ["reasoning", "text", "dynamic-tool"]
    assert tools(chat)[0]["output"] == "seen"
    assert chat.messages[1].said_at == datetime(2026, 5, 1, 10, 0, 1, tzinfo=UTC)


def test_results_in_user_lines_are_no_user_messages(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi").use("a1", "t1", "m1").result("r1", "t1")
    session.user(
        "u2", [{"type": "tool_result", "tool_use_id": "t9", "content": "x"}, {"type": "text", "text": "Stop."}]
    )
    chat = parse(tmp_path, session)
    assert [m.role for m in chat.messages if texts(ParsedChat("", "", "", messages=[m]))] == ["user", "user"]
    assert texts(chat) == ["Hi", "Stop."]


def test_calls_side_by_side_fork_the_path_and_lose_nothing(tmp_path: Path) -> None:
    """The first result lies beside the path that leads to the last message."""
    session = Session().user("u1", "Hi").use("a1", "t1", "m1").use("a2", "t2", "m1")
    session.result("r1", "t1", "one", parentUuid="a1").result("r2", "t2", "two", parentUuid="a2").answer("a3", "Done")
    for lines in (session.lines, session.lines[:-1], session.lines[:-2]):
        chat = only_chat(read(write(tmp_path / "s.jsonl", lines, lines=True)))
        assert [part["toolCallId"] for part in tools(chat)] == ["t1", "t2"]
        assert tools(chat)[0]["output"] == "one"
    assert texts(parse(tmp_path, session)) == ["Hi", "Done"]


def test_sidechains_are_not_imported(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi")
    session.user("x1", "Count the words", isSidechain=True).answer("x2", "Four", isSidechain=True)
    assert texts(parse(tmp_path, session.answer("a1", "Hello"))) == ["Hi", "Hello"]


def test_a_file_of_a_sidechain_is_passed_over(tmp_path: Path) -> None:
    lines = Session().user("x1", "Count", isSidechain=True).answer("x2", "Four", isSidechain=True).lines
    (skipped,) = read(write(tmp_path / "agent-1.jsonl", lines, lines=True))
    assert isinstance(skipped, Skipped)
    assert "side conversation" in skipped.reason
    (skipped,) = read(write(tmp_path / "t.jsonl", [{"type": "summary", "summary": "x", "leafUuid": "y"}], lines=True))
    assert isinstance(skipped, Skipped)


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("Caveat: the messages below were written by the user while running local commands", {"isMeta": True}),
        ("This session is being continued from a previous conversation", {"isCompactSummary": True}),
        ("<local-command-stdout>ok</local-command-stdout>", {}),
        (
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            {},
        ),
        ("<system-reminder>Be brief.</system-reminder>", {}),
        ("<bash-input>ls</bash-input><bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", {}),
        ([{"type": "text", "text": "[Request interrupted by user for tool use]"}], {}),
        ([{"type": "text", "text": "  \n"}], {}),
    ],
)
def test_what_the_program_wrote_in_the_users_name(tmp_path: Path, content: Any, more: dict[str, Any]) -> None:
    session = Session().user("u1", "Hi").answer("a1", "Hello").user("n1", content, **more).user("u2", "Bye")
    assert texts(parse(tmp_path, session)) == ["Hi", "Hello", "Bye"]


@pytest.mark.parametrize(
    "content",
    [
        "<command-name>/ask</command-name>\n<command-args>why is the sky blue</command-args>",
        "<system-reminder>Be brief.</system-reminder> And why is the sky blue?",
        "<system-reminder> is an element I do not know",
        "<b>bold</b>",
    ],
)
def test_what_the_user_said_in_elements_is_kept(tmp_path: Path, content: str) -> None:
    assert texts(parse(tmp_path, Session().user("u1", content))) == [content]


def test_answers_that_no_model_gave(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi").answer("a1", "API Error: 500", isApiErrorMessage=True)
    session.line("a2", "assistant", {"id": "z", "role": "assistant", "model": "<synthetic>", "content": "No response"})
    assert texts(parse(tmp_path, session.answer("a3", "Hello"))) == ["Hi", "Hello"]


# --- branches --------------------------------------------------------------------------------------------------------


def branched() -> Session:
    session = Session().user("u1", "Hi").answer("a1", "First").user("u2", "Wrong turn").answer("a2", "Lost")
    return session.user("u3", "Right turn", parentUuid="a1").answer("a3", "Found")


def test_the_branch_of_the_last_message_is_the_transcript(tmp_path: Path) -> None:
    assert ids(parse(tmp_path, branched())) == ["u1", "msg-a1", "u3", "msg-a3"]


def test_going_back_to_the_first_message(tmp_path: Path) -> None:
    session = branched().user("u9", "Something else", parentUuid=None).answer("a9", "Fine")
    assert ids(parse(tmp_path, session)) == ["u9", "msg-a9"]


@pytest.mark.django_db
def test_switching_the_branch_reopens_only_what_differs(tmp_path: Path) -> None:
    session = branched()
    path = write(tmp_path / "s.jsonl", session.lines[:4], lines=True)
    run(path)
    chat = Chat.objects.get()
    with transaction.atomic():
        append_entries(chat, Message.objects.filter(chat=chat), batch_id=new_id())
    (report,) = chats(run(write(path, session.lines, lines=True)))
    assert (report.added, report.unchanged, report.left) == (2, 2, 2)
    assert transcript(chat) == ["u1", "msg-a1", "u3", "msg-a3"]
    uncovered = MessageCoverage.objects.filter(chat=chat, covered=False).order_by("position")
    assert [row.message_id for row in uncovered] == ["u3", "msg-a3"]


@pytest.mark.parametrize("link", [{"logicalParentUuid": "a1"}, {}])
def test_compaction_does_not_end_the_transcript(tmp_path: Path, link: dict[str, str]) -> None:
    session = Session().user("u1", "Hi").answer("a1", "Hello")
    session.line(
        "c1", "system", subtype="compact_boundary", content="Conversation compacted", **{"parentUuid": None, **link}
    )
    session.user("c2", "This session is being continued", isCompactSummary=True).user("u2", "Go on")
    assert texts(parse(tmp_path, session)) == ["Hi", "Hello", "Go on"]


def test_a_lost_line_does_not_take_along_what_came_before(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi").answer("a1", "Hello").user("u2", "How?").answer("a2", "So.")
    lines = [json.dumps(line) for line in session.lines]
    lines[2] = lines[2][:40]
    results = read(write(tmp_path / "s.jsonl", lines, lines=True))
    assert [(position, "not valid JSON" in why) for position, why in complaints(results)] == [("line 3", True)]
    chat = next(result for result in results if isinstance(result, ParsedChat))
    assert texts(chat) == ["Hi", "Hello", "So."]
    assert not chat.complete


def test_a_circle_of_lines_ends(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi", parentUuid="a1").answer("a1", "Hello")
    assert texts(parse(tmp_path, session)) == ["Hi", "Hello"]


# --- several sessions in one file ------------------------------------------------------------------------------------


def test_a_stream_of_sessions(tmp_path: Path) -> None:
    lines = [*Session("s1").user("u1", "One").lines, *Session("s2").user("u2", "Two").answer("a2", "Zwei").lines]
    lines.append({"type": "custom-title", "customTitle": "Second", "sessionId": "s2"})
    first, second = read(write(tmp_path / "all.jsonl", lines, lines=True))
    assert isinstance(first, ParsedChat)
    assert isinstance(second, ParsedChat)
    assert (first.external_id, second.external_id, second.title) == ("s1", "s2", "Second")
    assert (first.complete, second.complete) == (True, True)


@pytest.mark.django_db
@pytest.mark.parametrize("order", [["s1", "s2"], ["s2", "s1"]])
def test_a_continued_session_is_copied_into_the_next_file(tmp_path: Path, order: list[str]) -> None:
    """The copy may stop earlier than the session itself did: it takes nothing away, in whichever order they come."""
    old = Session("s1").user("u1", "One").answer("a1", "Uno").user("u2", "Two").answer("a2", "Dos")
    new = Session("s2")
    new.last = "a1"
    new.user("n1", "Three").answer("n2", "Tres")
    files = {"s1": old.lines, "s2": [*old.lines[:2], *new.lines]}
    reports = []
    for name in order:
        reports += run(write(tmp_path / f"{name}.jsonl", files[name], lines=True))
    assert problems(reports) == []
    assert transcript(Chat.objects.get(external_id="s1")) == ["u1", "msg-a1", "u2", "msg-a2"]
    assert transcript(Chat.objects.get(external_id="s2")) == ["n1", "msg-n2"]
    assert problems(run(tmp_path)) == []
    assert Chat.objects.count() == 2


def test_lines_written_twice_count_once(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi").answer("a1", "Hello")
    session.lines += session.lines[:2]
    assert texts(parse(tmp_path, session)) == ["Hi", "Hello"]


def test_a_bad_line_is_refused_by_its_number(tmp_path: Path) -> None:
    session = Session().user("u1", "Hi").answer("a1", "a\ud800").user("u2", "Bye")
    chat = parse(tmp_path, session)
    ((position, why),) = complaints([chat])
    assert position == "line 2"
    assert "lone surrogate" in why
    assert texts(chat) == ["Hi", "Bye"]


@pytest.mark.parametrize("uuid", ["x" * 201, "a\x00b"])
def test_a_session_whose_id_cannot_be_used(tmp_path: Path, uuid: str) -> None:
    (problem,) = read(write(tmp_path / "s.jsonl", Session(uuid).user("u1", "Hi").lines, lines=True))
    assert isinstance(problem, Problem)

"""Claude Code sessions: JSONL in which each line names the one before it, and one message may span several lines.

A session is a chat. What a helper said aside (sidechains), what the program wrote in the user's name, and branches that
were given up are not imported.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import values
from .claude_code_lines import Line, read_line, transcript
from .documents import Document, Layout
from .records import Draft, Fit, ParsedChat, Problem, Skipped, UnusableChat

NAME = SOURCE = "claude-code"
LABEL = "Claude Code session"

_MESSAGES = ("user", "assistant")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}


def recognises(value: Any) -> Fit:
    """A line of a session."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Fit.NO
    if isinstance(value.get("message"), dict) and value["type"] in _MESSAGES and "role" in value["message"]:
        return Fit.SURE if "uuid" in value or "sessionId" in value else Fit.LIKELY
    if (value["type"] == "summary" and "leafUuid" in value) or ("uuid" in value and "sessionId" in value):
        return Fit.SURE
    return Fit.POSSIBLE if value["type"] == "file-history-snapshot" or "sessionId" in value else Fit.NO


def read(document: Document) -> Iterator[ParsedChat | Problem | Skipped]:
    """The sessions of a document, each as soon as its last line has been read."""
    survey = _Survey(document)
    open_sessions: dict[str, list[Line]] = {}
    for item in document.items():
        if item.error:
            yield Problem(document.source.label, f"{_unit(document)} {item.number}", item.error, item.remedy)
            continue
        line = read_line(item.number, item.value)
        if line is None:
            continue
        open_sessions.setdefault(line.session, []).append(line)
        if survey.last_line[line.session] == item.number:
            yield from _session(document, survey, open_sessions.pop(line.session))
    if not survey.last_line and not survey.broken:
        aside = "a helper's side conversation" if survey.sidechains else "titles and notes"
        yield Skipped(document.source.label, f"it holds only {aside}")


def _unit(document: Document) -> str:
    return "line" if document.layout is Layout.LINES else "message"


@dataclass(slots=True)
class _Survey:
    """What must be known of the whole file before its first session is put together."""

    document: Document
    last_line: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    # Sessions that others in this file go on from: what stands here of them may be only their beginning.
    continued: set[str] = field(default_factory=set)
    sidechains: bool = False
    broken: bool = False

    def __post_init__(self) -> None:
        owners: dict[str, str] = {}
        for item in self.document.items():
            if item.error:
                self.broken = True
                continue
            line = read_line(item.number, item.value)
            if line:
                self.last_line[line.session] = item.number
                owners[line.uuid] = line.session
                before = owners.get(line.parent or "")
                if before is not None and before != line.session:
                    self.continued.add(before)
            elif isinstance(item.value, dict):
                self._note(item.value)

    def _note(self, value: dict[str, Any]) -> None:
        kind = value.get("type")
        self.sidechains = self.sidechains or value.get("isSidechain") is True
        if kind == "summary" and isinstance(value.get("summary"), str) and isinstance(value.get("leafUuid"), str):
            self.summaries[value["leafUuid"]] = value["summary"]
        elif isinstance(kind, str) and kind in _TITLES and isinstance(value.get(_TITLES[kind]), str):
            session = value.get("sessionId")
            if isinstance(session, str) and (kind == "custom-title" or session not in self.titles):
                self.titles[session] = value[_TITLES[kind]]

    def title(self, session: str, lines: list[Line]) -> str | None:
        """The title that was given to the session, else the last summary of what was said in it."""
        named = [self.summaries[line.uuid] for line in lines if line.uuid in self.summaries]
        return self.titles.get(session) or (named[-1] if named else None)


def _session(document: Document, survey: _Survey, lines: list[Line]) -> Iterator[ParsedChat | Problem]:
    session = lines[0].session
    place = f"session {session[:60]}" if len(survey.last_line) > 1 else ""
    external_id = session or values.derived_id("chat", lines[0].uuid)
    try:
        draft = Draft(document.source.label, place, external_id, survey.title(session, lines))
    except UnusableChat as error:
        yield Problem(document.source.label, place, error.reason, error.remedy)
        return
    draft.unit = _unit(document)
    times = [line.said_at for line in lines if line.said_at]
    draft.chat.created_at, draft.chat.updated_at = min(times, default=None), max(times, default=None)
    draft.chat.complete = not survey.broken and session not in survey.continued
    transcript(lines, draft)
    yield draft.chat

"""What a format hands to the loader, and the one place where a message is accepted or refused by position."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any

from coverage import services
from coverage import view as views
from coverage.models import Chat, Learner

from . import values

MAX_ID = 200
MAX_TITLE: int = Chat._meta.get_field("title").max_length or 0
MAX_LEARNER: int = Learner._meta.get_field("name").max_length or 0


class Fit(IntEnum):
    """How well an item of a file fits a format. The first SURE decides, else the best."""

    NO = 0
    POSSIBLE = 1  # an empty or a broken one of these, or of something else
    LIKELY = 2  # nothing speaks against it
    SURE = 3


@dataclass(slots=True)
class Problem:
    """Something that was not imported: in which file, where in it, why, and what the person can do."""

    source: str
    position: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.source}, {self.position}" if self.position else self.source
        return f"{place}: {self.reason}" + (f" ({self.remedy})" if self.remedy else "")


@dataclass(slots=True)
class Skipped:
    """A file inside a folder that holds no chats; normal in an export, so not a problem.

    ``told`` is True for what somebody may miss: it has a line of its own, where the others are counted.
    """

    source: str
    reason: str
    told: bool = False


@dataclass(slots=True)
class ParsedChat:
    """One conversation as its file has it: the messages of the active path, in order.

    ``refused`` lists (index in ``messages`` before which it stood, message id) of messages that could not be taken.
    ``complete`` is False when the file broke off inside this conversation, so that what follows is unknown.
    """

    source: str
    where: str
    external_id: str
    title: str = ""
    learner: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    messages: list[services.IncomingMessage] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    complete: bool = True


class UnusableChat(ValueError):
    """The conversation as a whole cannot be imported; the text says why."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Draft:
    """Collects one conversation; refuses by position what cannot be stored and keeps the rest.

    Raises UnusableChat from ``__init__`` and ``take_learner`` when the conversation cannot be identified or owned.
    """

    def __init__(self, source: str, place: str, external_id: Any, title: Any = None):
        self.chat = ParsedChat(source, place, external_id="")
        self.unit = "message"
        self._seen: set[str] = set()
        self._take_title(title)
        self.chat.external_id = _usable_id(external_id)

    def _take_title(self, title: Any) -> None:
        """Keep the title; one that cannot be stored is reported, and the conversation goes without it."""
        place = self.chat.where
        if title is None:
            return
        if not isinstance(title, str):
            self.problem("the title is not a text", "make it a text", place)
            return
        try:
            views.check_storable(title, "the title")
        except views.MalformedParts as error:
            self.problem(str(error), "imported without its title", place)
            return
        title = " ".join(title.split())
        if len(title) > MAX_TITLE:
            self.problem(f"the title has {len(title):,} characters", f"cut to {MAX_TITLE}", place)
            title = title[: MAX_TITLE - 1] + "…"
        self.chat.title = title
        if title:
            self.chat.where = f"{place} ('{shorten(title)}')"

    def take_learner(self, learner: Any) -> None:
        """Whose conversation the file says it is; a wrong owner would be worse than none."""
        if learner is None:
            return
        if not isinstance(learner, str):
            raise UnusableChat("the learner is not a text", "give the learner's name, or leave the field out")
        name = learner.strip()
        try:
            views.check_storable(name, "the learner")
        except views.MalformedParts as error:
            raise UnusableChat(str(error), "correct the learner's name") from None
        if len(name) > MAX_LEARNER:
            raise UnusableChat(f"the learner's name is longer than {MAX_LEARNER} characters", "shorten it")
        self.chat.learner = name

    def add(
        self,
        number: int,
        message_id: str,
        role: str,
        parts: Any,
        *,
        metadata: Mapping[str, Any] | None = None,
        said_at: datetime | None = None,
    ) -> bool:
        """Take message ``number`` (counted as the file counts); False when it had to be refused."""
        message = services.IncomingMessage(message_id, role, parts, dict(metadata or {}), said_at)
        if message_id in self._seen:
            self.refuse(
                number, f"the id {shorten(message_id)!r} occurs twice in this conversation", "the first is kept"
            )
            return False
        try:
            services.check_message(message)
        except ValueError as error:
            self.refuse(number, str(error), "correct the message, or remove it", message_id)
            return False
        self._seen.add(message_id)
        self.chat.messages.append(message)
        return True

    def refuse(self, number: int, reason: str, remedy: str, message_id: str = "") -> None:
        """Report message ``number`` and go on without it."""
        self.problem(reason, remedy, self.position(number))
        # An id that cannot be stored is no stored message's, and the database could not even be asked for it.
        if message_id and message_id not in self._seen and views.is_storable(message_id):
            self.chat.refused.append((len(self.chat.messages), message_id))

    def problem(self, reason: str, remedy: str, position: str = "") -> None:
        self.chat.problems.append(Problem(self.chat.source, position or self.chat.where, reason, remedy))

    def position(self, number: int) -> str:
        return f"{self.chat.where}, {self.unit} {number}" if self.chat.where else f"{self.unit} {number}"


def _usable_id(external_id: Any) -> str:
    if isinstance(external_id, bool) or not isinstance(external_id, str | int):
        raise UnusableChat("the conversation's id is neither a text nor a number", "give it a text, or leave it out")
    text = str(external_id)
    if len(text) > MAX_ID:
        raise UnusableChat(f"the conversation's id is longer than {MAX_ID} characters", "shorten it")
    try:
        views.check_storable(text, "the conversation's id")
    except views.MalformedParts as error:
        raise UnusableChat(str(error), "correct the id") from None
    return text


def shorten(text: str, limit: int = 60) -> str:
    """A text for one line of a report: printable, at most ``limit`` characters."""
    return values.printable(text if len(text) <= limit else text[: limit - 1] + "…")

"""Chats, runs and answers for tests of the llm worker against a scripted endpoint."""

from typing import Any

from coverage.models import Chat
from extraction.models import Run
from extraction.running import runs
from extraction.selectors import chat_coverage
from extraction.services import request_run
from tests.extraction.scripted_endpoint import Received, Says, Status, calls, finish, stage
from tests.factories import message

OVERLOADED = Status(503, {"error": {"message": "the server is overloaded"}})


def tea(number: int = 0, tokens: int = 10) -> Any:
    return message(f"m{number}", f"Tea number {number} has caffeine. ".ljust(tokens * 4, "x"))


def execute(chat: Chat, mode: str = "rest") -> Run:
    return runs.execute(request_run(chat.pk, mode, "llm", enqueue=False).pk)


def states(chat: Chat) -> list[str]:
    return [row["state"] for row in chat_coverage(chat.pk)["messages"]]


def to_read(received: Received) -> list[str]:
    """The overview's lines of the messages that the batch reads, without those shown as context."""
    system_first = received.body["messages"][0]["role"] == "system"
    content = received.body["messages"][1 if system_first else 0]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return [line for line in text.splitlines() if line.startswith("[m") and "(context" not in line]


def reads_all(received: Received) -> Says:
    """Stages a claim on the first message of the batch, and finishes."""
    name = to_read(received)[0].partition("]")[0][1:]
    return calls(stage(f"A claim on {name}.", name), finish(1))

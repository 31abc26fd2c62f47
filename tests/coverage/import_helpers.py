"""Files to import, and chats as a format reads them, without a database."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coverage.importers.documents import open_document
from coverage.importers.formats import detect
from coverage.importers.records import ParsedChat, Problem
from coverage.importers.sources import File


def write(path: Path, content: Any, *, lines: bool = False) -> Path:
    """A file with this content: bytes and text as they are, anything else as JSON (one value per line with lines)."""
    if lines:
        content = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in content) + "\n"
    if not isinstance(content, bytes | str):
        content = json.dumps(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def read(path: Path) -> list[ParsedChat | Problem]:
    """Everything that the detected format reads from a file. Raises UnreadableFile."""
    document = open_document(File(path, path.name))
    return list(detect(document).read(document))


def detected(path: Path) -> str:
    return detect(open_document(File(path, path.name))).NAME


def only_chat(results: Iterable[ParsedChat | Problem]) -> ParsedChat:
    (chat,) = results
    assert isinstance(chat, ParsedChat)
    return chat


def ids(chat: ParsedChat) -> list[str]:
    return [message.message_id for message in chat.messages]


def texts(chat: ParsedChat) -> list[str]:
    return [part["text"] for message in chat.messages for part in message.parts if part["type"] == "text"]


def tools(chat: ParsedChat) -> list[dict[str, Any]]:
    """Every call of a tool, in order."""
    return [part for message in chat.messages for part in message.parts if part["type"] == "dynamic-tool"]


def complaints(results: Iterable[ParsedChat | Problem]) -> list[tuple[str, str]]:
    """(position, reason) of every problem, of the chats and beside them."""
    found: list[Problem] = []
    for result in results:
        found += [result] if isinstance(result, Problem) else result.problems
    return [(problem.position, problem.reason) for problem in found]


def said(message_id: str | None, text: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    """A UIMessage; without an id when it is None."""
    message = {"role": role, "parts": [{"type": "text", "text": text}], **more}
    return message if message_id is None else {"id": message_id, **message}

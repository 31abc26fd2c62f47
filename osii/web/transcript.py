"""A message's UIMessage parts as blocks for its page: text, quiz, tool call, reasoning, file, source, anything else."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coverage.view import tool_name, transcript_view
from extraction.exploring.environment import is_quiz

from . import markdown

HIDDEN = {"step-start"}
WRITING = {"input-streaming"}


@dataclass(frozen=True, slots=True)
class Block:
    """``kind`` names the template ``chats/part_<kind>.html``; ``data`` is what it shows."""

    kind: str
    data: dict[str, Any]

    @property
    def template(self) -> str:
        return f"chats/part_{self.kind}.html"


def blocks(role: str, parts: Iterable[Mapping[str, Any]]) -> list[Block]:
    """Blocks in the order of the parts; parts that show nothing are left out."""
    shown = (_block(role, part) for part in parts)
    return [block for block in shown if block is not None]


def _block(role: str, part: Mapping[str, Any]) -> Block | None:
    kind = str(part.get("type", ""))
    if kind in HIDDEN:
        return None
    if kind in {"text", "reasoning"}:
        return _text(kind, part, rich=kind == "text" and role == "assistant")
    if kind == "dynamic-tool" or kind.startswith("tool-"):
        return _tool(role, part)
    if kind == "file":
        return Block("file", {"name": part.get("filename") or "unnamed file", "media_type": part.get("mediaType", "")})
    if kind in {"source-url", "source-document"}:
        return Block("source", _source(part))
    return Block("other", {"name": kind, "json": pretty(part.get("data", part))})


def _text(kind: str, part: Mapping[str, Any], *, rich: bool) -> Block | None:
    """People's texts are shown as they typed them; an assistant writes Markdown."""
    text = str(part.get("text") or "").strip("\n")
    if not text.strip():
        return None
    return Block(kind, {"text": text, "html": markdown.render(text) if rich else None})


def _tool(role: str, part: Mapping[str, Any]) -> Block:
    view = transcript_view(role if role != "system" else "assistant", [part])["parts"][0]
    return Block("quiz", _quiz(view, part)) if is_quiz(view) else Block("tool", _call(view, part))


def _call(view: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    flag = ""
    if view.get("error"):
        flag = "error"
    elif view.get("denied"):
        flag = "denied"
    elif part.get("state") in WRITING:
        flag = "writing"
    elif "output" not in view:
        flag = "unanswered"
    return {
        "name": tool_name(part) or "unnamed tool",
        "flag": flag,
        "input": pretty(view.get("input")),
        "output": pretty(view["output"]) if "output" in view else "",
        "error": str(view.get("error") or ""),
    }


def _quiz(view: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    asked = view.get("input") if isinstance(view.get("input"), dict) else {}
    output = view.get("output") if isinstance(view.get("output"), dict) else None
    given = (
        next((output[key] for key in ("answer", "given", "choice", "selected") if key in output), None)
        if output
        else None
    )
    right = next((asked[key] for key in ("answer", "correct", "correctAnswer", "solution") if key in asked), None)
    options = asked.get("options") if isinstance(asked.get("options"), list) else []
    return {
        "name": tool_name(part),
        "question": plain(asked.get("question")),
        "options": [
            _option(option, index, given, right, answered=output is not None) for index, option in enumerate(options)
        ],
        "given": plain(given),
        "given_listed": any(_same(option, index, given) for index, option in enumerate(options)),
        "right": plain(right) if output is not None else "",
        "explanation": plain((output or {}).get("explanation") or (output or {}).get("feedback")),
        "flag": "unanswered" if output is None else "right" if output["correct"] else "wrong",
    }


def _option(option: Any, index: int, given: Any, right: Any, *, answered: bool) -> dict[str, Any]:
    chosen = answered and _same(option, index, given)
    return {"text": plain(option), "chosen": chosen, "right": answered and _same(option, index, right)}


def _same(option: Any, index: int, answer: Any) -> bool:
    """An answer names an option by its text or by its index."""
    if answer is None or isinstance(answer, bool):
        return False
    return answer == index if isinstance(answer, int) else plain(option) == plain(answer)


def _source(part: Mapping[str, Any]) -> dict[str, Any]:
    url = str(part.get("url") or "")
    return {
        "title": part.get("title") or part.get("filename") or url or "untitled source",
        # Only what a browser may follow; anything else is shown as text.
        "url": url if url.startswith(("http://", "https://")) else "",
    }


def plain(value: Any) -> str:
    """A value as a person reads it: a text as it is, an option object by its text, anything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, dict):
        value = next((value[key] for key in ("text", "label", "title") if isinstance(value.get(key), str)), value)
    return value if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    """JSON for people; a plain text stays a plain text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

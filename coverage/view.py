"""The transcript view: what an extractor sees of a message, and the fingerprint and token count of exactly that.

Visible: the role, text parts, and tool parts with their inputs and outputs. Invisible: reasoning, ``data-*``,
``step-start``, sources, files, part states, ids, times, and the whole of a system message, which is an instruction to
a model and not something that was said. The fingerprint changes exactly when the view changes.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

VIEW_VERSION = "v1"
STREAMING_TOOL_STATES = {"input-streaming"}
TOOL_KEYS = ("input", "output", "error", "denied")
"""What the text of a tool part shows of it, beside its name."""
# JSON deeper than this is refused: the parsers on the way give up a little later, each at its own depth.
MAX_DEPTH = 100


class MalformedParts(ValueError):
    """The parts of a message cannot be stored; the text says which part and why."""


def transcript_view(role: str, parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The view of one message: ``{"role", "parts": [{"type": "text", "text"} | {"type": "tool", …}]}``.

    Parts are addressed by their index *in the view*, so an invisible part never moves an evidence anchor.
    """
    if role == "system":
        return {"role": role, "parts": []}
    visible = (_visible_part(part) for part in parts)
    return {"role": role, "parts": [part for part in visible if part is not None]}


def _visible_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = part.get("type", "")
    if kind == "text":
        text = part.get("text") or ""
        return {"type": "text", "text": text} if text.strip() else None
    if kind == "dynamic-tool" or kind.startswith("tool-"):
        view: dict[str, Any] = {"type": "tool", "name": tool_name(part), "input": part.get("input")}
        if part.get("output") is not None:
            view["output"] = part["output"]
        if part.get("errorText"):
            view["error"] = part["errorText"]
        if part.get("state") == "output-denied":
            view["denied"] = True
        return view
    return None


def tool_name(part: Mapping[str, Any]) -> str:
    """The tool's name of a ``tool-<name>`` or ``dynamic-tool`` part."""
    if part.get("type") == "dynamic-tool":
        return str(part.get("toolName") or "")
    return str(part.get("type", "")).removeprefix("tool-")


def canonical_json(value: Any) -> str:
    """One text per JSON value, unchanged by a round trip through PostgreSQL's ``jsonb``."""
    return json.dumps(_canonical(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: Any) -> Any:
    # jsonb keeps the decimal digits that were written: 1e2 comes back as 100 and 1e23 as 10**23, which is not the
    # number that the float holds.
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value)))
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def fingerprint(view: Mapping[str, Any]) -> str:
    """``v1:`` and the 128-bit blake2b of the view's canonical JSON, in hexadecimal."""
    digest = hashlib.blake2b(canonical_json(view).encode(), digest_size=16).hexdigest()
    return f"{VIEW_VERSION}:{digest}"


def part_text(part: Mapping[str, Any]) -> str:
    """A view part as text: a text part verbatim, a tool part as name, input and output in canonical JSON."""
    if part["type"] == "text":
        return part["text"]
    shown = {key: part[key] for key in TOOL_KEYS if part.get(key) is not None}
    return f"{part['name']} {canonical_json(shown)}"


def count_tokens(text_or_length: str | int) -> int:
    """Tokens of a text, everywhere in the product: characters / 4, rounded up."""
    length = text_or_length if isinstance(text_or_length, int) else len(text_or_length)
    return math.ceil(length / 4)


def view_tokens(view: Mapping[str, Any]) -> int:
    """Tokens of a view; 0 exactly when it is empty, and then the message needs no coverage."""
    return count_tokens(sum(len(part_text(part)) for part in view["parts"]))


def is_streaming(parts: Iterable[Mapping[str, Any]]) -> bool:
    """True while a text or tool part is still being written."""
    return any(
        (part.get("state") in ("streaming", *STREAMING_TOOL_STATES) and part.get("type") != "reasoning")
        or part.get("preliminary") is True
        for part in parts
    )


def check_parts(parts: Any) -> list[dict[str, Any]]:
    """The parts, if they can be stored unchanged; else MalformedParts naming the part and what is wrong."""
    if not isinstance(parts, list):
        raise MalformedParts(f"parts must be a list, not {type(parts).__name__}")
    for index, part in enumerate(parts):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise MalformedParts(f'parts[{index}] must be an object with a text "type"')
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise MalformedParts(f"parts[{index}].text must be a text")
        check_storable(part, f"parts[{index}]")
    return parts


def is_storable(value: Any) -> bool:
    """Whether ``check_storable`` would take it."""
    return _flaw(value, 0) is None


def check_storable(value: Any, where: str) -> None:
    """Refuse what cannot be stored and read back: NUL characters, lone surrogates, numbers that are not finite,
    values nested deeper than MAX_DEPTH."""
    found = _flaw(value, 0)
    if found is not None:
        path, what = found
        raise MalformedParts(f"{where}{path}: {what}")


def _flaw(value: Any, depth: int) -> tuple[str, str] | None:
    """(path below ``value``, what is wrong there). The path is put together only on the way back from a flaw."""
    if isinstance(value, str):
        what = _text_flaw(value)
        return ("", what) if what else None
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", f"{value} is not a finite number")
    if not isinstance(value, dict | list):
        return None
    if depth == MAX_DEPTH:
        return "…", f"nested more than {MAX_DEPTH} levels deep"
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and (what := _text_flaw(key)):
            return " (a key)", what
        if found := _flaw(item, depth + 1):
            # A path that nests deeply is cut off; a key may be as long as a text.
            step = f".{key[:80]}" if isinstance(key, str) else f"[{key}]"
            return f"{step}{found[0]}"[:200], found[1]
    return None


def _text_flaw(text: str) -> str:
    if "\x00" in text:
        return f"NUL character at offset {text.index(chr(0))}"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"lone surrogate at offset {error.start}"
    return ""

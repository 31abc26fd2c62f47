"""Content as model APIs write it (a text, or a list of typed blocks) as parts, tool calls and tool results."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from coverage.view import MalformedParts, check_storable

from .assembly import Call, Part, Piece, Result

Block = Mapping[str, Any]

_UNKNOWN_TYPE = "application/octet-stream"
_SUBSTANCE = ("thinking", "reasoning", "text", "summary")


def pieces(content: Any) -> Iterator[Piece]:
    """Everything in a message's content, in order. Blocks that have no meaning here are kept as data parts."""
    if isinstance(content, list):
        for block in content:
            yield from _block(block)
    elif content is not None:
        yield from _block(content)


def text_part(text: Any) -> list[Part]:
    """A text part, none for what is empty or no text."""
    return [{"type": "text", "text": text}] if isinstance(text, str) and text.strip() else []


def reasoning_parts(block: Any) -> list[Part]:
    """What a block of reasoning says openly; encrypted and redacted reasoning says nothing."""
    texts = [block] if isinstance(block, str) else list(_reasoning_texts(block))
    return [{"type": "reasoning", "text": text} for text in texts if text.strip()]


def _reasoning_texts(block: Any) -> Iterator[str]:
    if isinstance(block, list):
        for item in block:
            yield from _reasoning_texts(item)
    elif isinstance(block, str):
        yield block
    elif isinstance(block, dict):
        for name in _SUBSTANCE:
            yield from _reasoning_texts(block.get(name))
        if block.get("type") == "reasoning":
            yield from _reasoning_texts(block.get("content"))


def json_or_text(text: Any) -> Any:
    """Arguments of a call: the value where the text is JSON that can be stored, else the text as it stands."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
        check_storable(value, "arguments")
    except (ValueError, RecursionError, MalformedParts):
        return text
    return value


def result(call_id: Any, name: Any, content: Any, *, failed: bool = False) -> Result:
    """A tool's result from its content. Pictures and documents in it become file parts beside the call."""
    output, files = _output(content)
    made = Result(_text(call_id), _text(name), output, files=files)
    if failed:
        made.error = (
            output
            if isinstance(output, str) and output
            else json.dumps(output, ensure_ascii=False)
            if output
            else "error"
        )
    return made


def _output(content: Any) -> tuple[Any, list[Part]]:
    """(output, file parts). Texts alone become one text; a file in between leaves a mark of its kind."""
    if content is None:
        return "", []
    if not isinstance(content, list):
        return _without_ciphers(content), []
    found: list[Any] = []
    files: list[Part] = []
    for block in content:
        kind = _text(block.get("type")) if isinstance(block, dict) else ""
        if isinstance(block, str):
            found.append({"type": "text", "text": block})
        elif kind in _TEXTS and isinstance(block.get("text"), str):
            found.append({"type": "text", "text": block["text"]})
        elif kind in _FILES:
            parts = _FILES[kind](block)
            files += parts
            found += [{"type": "file", "mediaType": part.get("mediaType", "text/plain")} for part in parts]
        else:
            found.append(_without_ciphers(block))
    if all(isinstance(item, dict) and item.get("type") == "text" for item in found):
        return "\n".join(item["text"] for item in found), files
    return found, files


def _without_ciphers(value: Any) -> Any:
    """Without the fields that hold what only the vendor can read."""
    if isinstance(value, dict):
        return {key: _without_ciphers(item) for key, item in value.items() if not key.startswith("encrypted_")}
    return [_without_ciphers(item) for item in value] if isinstance(value, list) else value


def _block(block: Any) -> Iterator[Piece]:
    if isinstance(block, str):
        yield from text_part(block)
        return
    if not isinstance(block, dict):
        yield {"type": "data-content", "data": {"value": block}}
        return
    kind = _text(block.get("type"))
    if kind in _TEXTS or (not kind and "text" in block):
        yield from text_part(_plain_text(block))
    elif kind in _REASONING:
        yield from reasoning_parts(block)
    elif kind in _FILES:
        yield from _FILES[kind](block)
    elif kind in _CALLS:
        yield _call(block)
    elif kind == "tool-result" or kind.endswith("tool_result"):
        yield _result(block)
    elif kind not in _NOTHING:
        yield {"type": "data-content", "data": _without_ciphers(block)}


def _plain_text(block: Block) -> Any:
    text = block.get("text", block.get("refusal"))
    return text.get("value") if isinstance(text, dict) else text


def _call(block: Block) -> Call:
    name = block.get("name") or block.get("toolName") or block.get("tool_name")
    given: Any = next((block[key] for key in ("input", "args", "arguments") if block.get(key) is not None), {})
    return Call(_text(name), json_or_text(given), _text(block.get("id") or block.get("toolCallId")))


def _result(block: Block) -> Result:
    content = block.get("content", block.get("output", block.get("result")))
    failed = bool(block.get("is_error") or block.get("isError"))
    if isinstance(content, dict) and _text(content.get("type")).endswith("_error"):
        failed = True
    call_id = block.get("tool_use_id") or block.get("toolCallId") or block.get("tool_call_id")
    return result(call_id, block.get("name") or block.get("toolName"), content, failed=failed)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# --- files -----------------------------------------------------------------------------------------------------------


def file_part(url: str, media_type: str, filename: Any = None) -> Part:
    """A file part; the type inside a data URL counts more than a guess."""
    if url.startswith("data:"):
        media_type = url[5 : url.find(",", 5, 200)].split(";", maxsplit=1)[0] or media_type
    part = {"type": "file", "mediaType": media_type, "url": url}
    return part | {"filename": filename} if isinstance(filename, str) and filename else part


def attachment_part(filename: Any, text: str) -> Part:
    """A document that was given with a message: kept, and seen by no extractor, for nobody said it."""
    return {"type": "data-attachment", "data": {"filename": _text(filename), "text": text}}


def _from_url_field(name: str, guess: str) -> Callable[[Block], list[Part]]:
    """Blocks that keep an address, or an object with it, in a field: ``image_url``, ``input_image``…"""

    def parts(block: Block) -> list[Part]:
        holder = block.get(name)
        url = holder.get("url") if isinstance(holder, dict) else holder
        return [file_part(url, guess)] if isinstance(url, str) and url else _from_source(block, guess)

    return parts


def _from_source(block: Block, guess: str) -> list[Part]:
    """Blocks with a ``source``: base64, an address, a file id, or the text itself."""
    source = block.get("source")
    source = source if isinstance(source, dict) else block
    media_type = _text(source.get("media_type") or source.get("mediaType") or source.get("mime_type")) or guess
    name = block.get("title") or block.get("filename")
    data = source.get("data") or source.get("base64")
    if source.get("type") == "text" and isinstance(data, str):
        return [attachment_part(name, data)]
    if source.get("type") == "content":
        texts = [
            piece["text"] for piece in pieces(source.get("content")) if isinstance(piece, dict) and "text" in piece
        ]
        return [attachment_part(name, "\n".join(texts))]
    if isinstance(data, str) and data:
        return [file_part(f"data:{media_type};base64,{data}", media_type, name)]
    for key in ("url", "file_id", "image"):
        if isinstance(source.get(key), str) and source[key]:
            address = source[key]
            return [file_part(f"file-id:{address}" if key == "file_id" else address, media_type, name)]
    return [file_part("", media_type, name)]


def _input_file(block: Block) -> list[Part]:
    inner = block.get("file")
    holder = inner if isinstance(inner, dict) else block
    name = holder.get("filename") or holder.get("name")
    for key in ("file_data", "file_url", "url", "data"):
        if isinstance(holder.get(key), str) and holder[key]:
            return [file_part(holder[key], _text(holder.get("mediaType")) or _UNKNOWN_TYPE, name)]
    file_id = _text(holder.get("file_id"))
    return [file_part(f"file-id:{file_id}" if file_id else "", _UNKNOWN_TYPE, name)]


def _input_audio(block: Block) -> list[Part]:
    holder = block.get("input_audio")
    holder = holder if isinstance(holder, dict) else {}
    kind = f"audio/{_text(holder.get('format')) or '*'}"
    return [file_part(f"data:{kind};base64,{_text(holder.get('data'))}", kind)]


_TEXTS = {"text", "input_text", "output_text", "refusal"}
_REASONING = {"thinking", "reasoning"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call"}
# Says nothing that could be read.
_NOTHING = {"redacted_thinking", "token_budget"}
_FILES: dict[str, Callable[[Block], list[Part]]] = {
    "image_url": _from_url_field("image_url", "image/*"),
    "input_image": _from_url_field("image_url", "image/*"),
    "image": lambda block: _from_source(block, "image/*"),
    "document": lambda block: _from_source(block, _UNKNOWN_TYPE),
    "input_file": _input_file,
    "file": _input_file,
    "input_audio": _input_audio,
}

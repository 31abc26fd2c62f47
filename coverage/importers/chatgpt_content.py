"""What a ChatGPT message's ``content`` says, as UIMessage parts or as a tool's input and output."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Custom instructions and memory: text that steers the model. The person did not say it in this conversation.
INSTRUCTIONS = {"user_editable_context", "model_editable_context"}
REASONING = {"thoughts", "reasoning_recap"}

_MEDIA_TYPES = {
    "image_asset_pointer": "image/*",
    "audio_asset_pointer": "audio/*",
    "real_time_user_audio_video_asset_pointer": "audio/*",
    "video_container_asset_pointer": "video/*",
}
# Fields that say nothing by themselves.
_ENVELOPE = {"content_type", "language", "text", "result", "summary", "response_format_name"}
# In "file-service://file-AbC" and "sediment://file_00c".
_FILE_ID = re.compile(r"\bfile[-_][A-Za-z0-9]+")

Part = dict[str, Any]


def said_parts(content: Mapping[str, Any], metadata: Any) -> list[Part]:
    """The parts of a message that the person saw; empty when there is nothing in it."""
    attachments = _attachments(metadata)
    parts = list(_parts(content, attachments))
    # An attachment that no pointer in the text refers to is a document beside it.
    parts += [_file_part(f"file-service://{file_id}", "", attachment) for file_id, attachment in attachments.items()]
    return parts


def reasoning_parts(content: Mapping[str, Any]) -> list[Part]:
    """Thoughts and recaps as reasoning parts, which no extractor sees."""
    if isinstance(content.get("thoughts"), list):
        texts = [_thought(thought) for thought in content["thoughts"]]
    else:
        texts = [content.get("content"), *_texts(content)]
    return [{"type": "reasoning", "text": text} for text in texts if isinstance(text, str) and text.strip()]


def _thought(thought: Any) -> str:
    if not isinstance(thought, dict):
        return thought if isinstance(thought, str) else ""
    pieces = (thought.get("summary"), thought.get("content"))
    return "\n\n".join(piece for piece in pieces if isinstance(piece, str) and piece.strip())


def tool_input(content: Mapping[str, Any]) -> Any:
    """What a tool was called with: an object or array where the text is one, else the text."""
    text = "\n".join(_texts(content))
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def tool_output(content: Mapping[str, Any]) -> tuple[Any, str]:
    """(output, error text) of a tool's message. The output is a text, or a list of parts where it holds more."""
    if content.get("content_type") == "system_error":
        pieces = (content.get("name"), content.get("text"))
        return None, ": ".join(piece for piece in pieces if isinstance(piece, str) and piece) or "error"
    parts = list(_parts(content, {}))
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts), ""
    return parts, ""


def _texts(content: Mapping[str, Any]) -> list[str]:
    return [part["text"] for part in _parts(content, {}) if part["type"] == "text"]


def _parts(content: Mapping[str, Any], attachments: dict[str, Mapping[str, Any]]) -> Iterator[Part]:
    """The parts of any content. What has no meaning here is kept as a data part, which no extractor sees."""
    if isinstance(content.get("parts"), list):
        for value in content["parts"]:
            yield from _part(value, attachments)
        return
    texts = [content.get(name) for name in ("text", "result")]
    texts = [text for text in texts if isinstance(text, str) and text.strip()]
    if content.get("content_type") == "tether_quote":
        texts = [value for name in ("title", "url") if isinstance(value := content.get(name), str) and value] + texts
    if texts:
        yield {"type": "text", "text": "\n".join(texts)}
    elif any(value for name, value in content.items() if name not in _ENVELOPE):
        yield _data_part(content)


def _part(value: Any, attachments: dict[str, Mapping[str, Any]]) -> Iterator[Part]:
    if isinstance(value, str):
        if value.strip():
            yield {"type": "text", "text": value}
        return
    if not isinstance(value, dict):
        return
    text = value.get("text")
    pointer = _pointer(value)
    if isinstance(text, str):  # transcriptions of speech, and plain text in its newer wrapping
        if text.strip():
            yield {"type": "text", "text": text}
    elif pointer:
        file_id = "".join(_FILE_ID.findall(pointer)[-1:])
        kind = _MEDIA_TYPES.get(str(value.get("content_type")), "application/octet-stream")
        yield _file_part(pointer, kind, attachments.pop(file_id, {}))
    else:
        yield _data_part(value)


def _pointer(value: Mapping[str, Any]) -> str:
    for holder in (value, value.get("audio_asset_pointer"), value.get("video_container_asset_pointer")):
        if isinstance(holder, dict) and isinstance(holder.get("asset_pointer"), str):
            return holder["asset_pointer"]
    return ""


def _data_part(value: Mapping[str, Any]) -> Part:
    return {"type": "data-chatgpt-content", "data": dict(value)}


def _attachments(metadata: Any) -> dict[str, Mapping[str, Any]]:
    """The files named beside a message, by their id."""
    listed = metadata.get("attachments") if isinstance(metadata, dict) else None
    if not isinstance(listed, list):
        return {}
    return {entry["id"]: entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)}


def _file_part(url: str, media_type: str, attachment: Mapping[str, Any]) -> Part:
    named = attachment.get("mimeType") or attachment.get("mime_type")
    part = {"type": "file", "mediaType": named if isinstance(named, str) else media_type, "url": url}
    if not part["mediaType"]:
        part["mediaType"] = "application/octet-stream"
    if isinstance(attachment.get("name"), str):
        part["filename"] = attachment["name"]
    return part

"""E-mails (.eml): the usual headers, the body, and what is attached by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..bundle import Bundle
from ..errors import ExtractionFailed
from .base import Extractor, SourceFile
from .blocks import plain_blocks
from .charsets import decode
from .flow import Flow, Piece, clean, lacking, tool
from .htmltext import parse, pieces

HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_PARTS = 1_000


class MailExtractor(Extractor):
    name = "eml"
    version = "1.1"
    label = "E-mail"
    media_types = ("message/rfc822",)

    def ready(self) -> str:
        return lacking("lxml")

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        from email import message_from_bytes, policy

        try:
            message = message_from_bytes(source.path.read_bytes(), policy=policy.default)
            parts = _parts(message)
        except RecursionError:
            raise ExtractionFailed("damaged", "the parts of the mail are nested too deeply") from None
        headers = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
        if not headers:
            raise ExtractionFailed("wrong_format", "this is no e-mail: it has none of the usual headers")
        body = list(_body(parts))
        attached = [_attachment(part) for part in parts if _is_attached(part)]
        bundle.source |= {"media_type": source.media_type, "attachments": [line for line in attached if line]}
        bundle.tools |= tool("lxml")
        bundle.units_attempted = bundle.units_completed = 1
        bundle.errors += [f"the mail is damaged: {type(defect).__name__}" for defect in message.defects]
        listed = (
            [Piece("attachments", "\n".join(["Attachments:", *(f"- {line}" for line in attached)]))] if attached else []
        )
        Flow(bundle, "email", "message").page(None, [Piece("headers", "\n".join(headers)), *body, *listed])


def _parts(message: Any) -> list[Any]:
    """The parts that are no containers, without those inside of an attached message."""
    found: list[Any] = []
    waiting = [message]
    while waiting and len(found) < MAX_PARTS:
        part = waiting.pop()
        if part.get_content_maintype() == "multipart" and isinstance(part.get_payload(), list):
            waiting.extend(reversed(part.get_payload()))
        else:
            found.append(part)
    return found


def _header(message: Any, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError):  # what the library's parser raises for some broken headers
        return ""


def _is_attached(part: Any) -> bool:
    return (
        part.get_content_disposition() == "attachment"
        or part.get_content_maintype() != "text"
        or bool(part.get_filename())
    )


def _body(parts: list[Any]) -> Iterator[Piece]:
    """The plain text parts; HTML parts where there is none."""
    texts = [part for part in parts if not _is_attached(part)]
    plain = [part for part in texts if part.get_content_type() == "text/plain"]
    for part in plain:
        text = clean(_decoded(part))
        yield from (Piece(block.type, text[block.start : block.end]) for block in plain_blocks(text))
    if not plain:
        for part in texts:
            if part.get_content_type() in {"text/html", "application/xhtml+xml"}:
                yield from pieces(parse(_decoded(part)))


def _decoded(part: Any) -> str:
    data = part.get_payload(decode=True) or b""
    try:
        return data.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return decode(data)[0]


def _attachment(part: Any) -> str:
    name = " ".join((part.get_filename() or "without a name").split())
    payload = part.get_payload()
    size = len(part.get_payload(decode=True) or b"") if isinstance(payload, str) else 0
    return f"{name} ({part.get_content_type()}{f', {size:,} bytes' if size else ''})"

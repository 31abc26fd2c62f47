"""One learner's data as a readable zip: everything that is theirs, in forms that other programs open."""

import contextlib
import csv
import errno
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from coverage.cells import safe_cell
from coverage.importers.values import printable
from coverage.models import Chat, Learner, Message
from extraction.documents.bundle import TEXT
from extraction.documents.store import library_store
from extraction.models import Document
from graphctx.models import Instance, Link, Proposition, Steer
from osii import tokens
from osii.console import encode

from .backups import publish

README = """What OSII keeps of {name}, exported {when}.

chats.jsonl        one chat per line, as AI SDK UIMessages; manage.py import_chats reads this file again
propositions.json  what was learned, each with its evidence: the quote, where it stands, and whether it still stands
propositions.csv   the same claims as a table, and evidence.csv their quotes
links.csv          which claim supersedes, contradicts or follows which
contexts.json      what chats were given of these claims, and when
documents.csv      the documents; each lies in documents/ with its text as it was read
tokens.csv         tokens of the HTTP API, without their secrets

In the tables, a cell that a spreadsheet would run as a formula begins with an apostrophe.
"""

UNSAFE_IN_A_NAME = re.compile(r'[\\/:*?"<>|]')


class ExportError(Exception):
    """Nothing was exported; the text says why."""


def export(learner: Learner, target: Path, *, now: str, progress: Callable[..., Any]) -> dict[str, Any]:
    """Write the zip to ``target``, which appears whole or not at all; returns counts. Raises ExportError."""
    if os.path.lexists(target) or not target.parent.is_dir():
        raise ExportError(f"{target} exists already" if os.path.lexists(target) else f"{target.parent} is no folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "r+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("README.txt", README.format(name=learner.name, when=now))
                counts = _fill(archive, learner, progress)
            file.flush()
            os.fsync(file.fileno())
        publish(partial, target)
    except OSError as error:
        room = ": free some space there" if error.errno == errno.ENOSPC else ""
        raise ExportError(f"{target} cannot be written ({error.strerror}){room}; nothing of it is kept") from None
    finally:
        partial.unlink(missing_ok=True)
    return {"file": str(target), "bytes": target.stat().st_size, "learner": learner.name, **counts}


def _fill(archive: zipfile.ZipFile, learner: Learner, progress: Callable[..., Any]) -> dict[str, int]:
    chats = Chat.objects.filter(learner=learner).order_by("created_at", "id")
    documents = Document.objects.filter(learner=learner).select_related("primary").order_by("added_at", "pk")
    counts = {"chats": chats.count(), "documents": documents.count()}
    with progress("Exporting", sum(counts.values())) as advance:
        with archive.open("chats.jsonl", "w") as file:
            for chat in chats.iterator(chunk_size=50):
                file.write((json.dumps(_chat(chat, learner), ensure_ascii=False, default=encode) + "\n").encode())
                advance(1)
        counts |= _claims(archive, learner)
        for document in documents.iterator(chunk_size=200):
            _document(archive, document)
            advance(1)
    _table(archive, "documents.csv", ("file_id", "filename", "mime", "size_bytes", "added_at"), documents)
    columns = ("name", "prefix", "created_at", "expires_at", "revoked_at", "last_used_at")
    _table(archive, "tokens.csv", columns, tokens.ApiToken.objects.filter(learner=learner).order_by("created_at"))
    return counts


def _chat(chat: Chat, learner: Learner) -> dict[str, Any]:
    """A chat in the form that the importer of UIMessages reads; what is not on the active branch stands apart."""
    rows = list(Message.objects.filter(chat=chat).order_by("position", "id"))
    return {
        "id": str(chat.pk),
        "title": chat.title,
        "learner": learner.name,
        "created_at": chat.created_at,
        "source": chat.source,
        "settings": chat.settings | {"graph_context_tokens": chat.graph_context_tokens},
        "messages": [_message(row) for row in rows if row.position is not None],
        "other_branches": [_message(row) for row in rows if row.position is None],
    }


def _message(row: Message) -> dict[str, Any]:
    told = {"id": row.message_id, "role": row.role, "parts": row.parts}
    if row.metadata:
        told["metadata"] = row.metadata
    if row.said_at is not None:
        told["createdAt"] = row.said_at
    return told


def _claims(archive: zipfile.ZipFile, learner: Learner) -> dict[str, int]:
    claims = Proposition.objects.filter(learner=learner).order_by("created_at", "id")
    quotes = Instance.objects.filter(proposition__learner=learner).order_by("folded_at", "id")
    by_claim: dict[Any, list[dict[str, Any]]] = {}
    evidence = (
        *("proposition_id", "quote", "level", "speaker", "occurred_at", "folded_at", "chat_id", "message_id"),
        *("document_id", "extraction_id", "part", "char_start", "char_end", "live"),
    )
    for row in quotes.values(*evidence).iterator():
        by_claim.setdefault(row.pop("proposition_id"), []).append(row)
    columns = ("id", "text", "kind", "state", "created_at")
    rows = [row | {"evidence": by_claim.get(row["id"], [])} for row in claims.values(*columns)]
    archive.writestr("propositions.json", json.dumps(rows, ensure_ascii=False, indent=1, default=encode))
    _table(archive, "propositions.csv", columns, claims)
    _table(archive, "evidence.csv", evidence, quotes)
    links = Link.objects.filter(learner=learner)
    _table(archive, "links.csv", ("source_id", "type", "target_id", "reason", "created_at", "withdrawn_at"), links)
    steers = Steer.objects.filter(chat__learner=learner).order_by("created_at")
    told = list(steers.values("chat_id", "status", "topic", "text", "tokens", "created_at", "delivered_at"))
    archive.writestr("contexts.json", json.dumps(told, ensure_ascii=False, indent=1, default=encode))
    return {"propositions": len(rows), "evidence": sum(map(len, by_claim.values())), "contexts": len(told)}


def _document(archive: zipfile.ZipFile, document: Document) -> None:
    store = library_store()
    place = f"documents/{document.pk[:23]}"
    source = store.source_path(document.pk)
    if source is not None:
        with contextlib.suppress(FileNotFoundError):
            archive.write(source, f"{place}/{_entry_name(source.name)}")
    if document.primary_id is not None:
        with contextlib.suppress(FileNotFoundError):
            archive.write(store.version_dir(document.pk, document.primary_id) / TEXT, f"{place}/as read/{TEXT}")


def _entry_name(name: str) -> str:
    """A file's name as a name in the zip: for some programs a backslash or a colon would lead out of its folder."""
    return UNSAFE_IN_A_NAME.sub("_", printable(name)).strip(" .") or "file"


def _table(archive: zipfile.ZipFile, name: str, columns: Iterable[str], rows: Any) -> None:
    with archive.open(name, "w") as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        text.write("\ufeff")  # without it spreadsheets read UTF-8 as something else
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(_cells(rows.values_list(*columns).iterator(chunk_size=2000)))


def _cells(rows: Iterable[tuple]) -> Iterator[list[Any]]:
    for row in rows:
        yield [safe_cell("" if value is None else str(value)) for value in row]

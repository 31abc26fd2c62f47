"""What a load wrote and was told to be stored: afterwards it must be there.

Of a write without an answer nobody knows whether it was done, so both are right; an acknowledged one must have been.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

GONE = ""


@dataclass
class Written:
    """One message. Each write of it has the next version, and a text of its own."""

    version: int = 0
    texts: dict[int, str] = field(default_factory=dict)
    acknowledged: int = 0  # the version that must be there at least; 0 while none was acknowledged
    unsure: bool = False  # a write of it was not answered, and may still arrive
    deleting: bool = False
    deleted: bool = False


@dataclass
class Talk:
    """One chat of one client."""

    id: str
    learner: str
    begun: bool = False
    unsure: bool = False  # its beginning was not answered at first, and may arrive once more
    messages: dict[str, Written] = field(default_factory=dict)
    erasing: bool = False
    erased: bool = False
    finished: bool = False  # acknowledged, and nothing was written since
    stopped: bool = False  # somebody asked a run of it to stop
    steer: str = ""  # whose acknowledgement was acknowledged


@dataclass
class Memory:
    """Everything that one client did; one thread writes it."""

    talks: list[Talk] = field(default_factory=list)
    runs: dict[str, list[str]] = field(default_factory=dict)  # processing run → paths that it adds
    removing: dict[str, str] = field(default_factory=dict)  # document → its file name
    removed: set[str] = field(default_factory=set)
    promoted: list[tuple[str, str]] = field(default_factory=list)


MESSAGES = """
SELECT chat_id, message_id, (metadata->>'version')::int,
       (SELECT string_agg(part->>'text', '') FROM jsonb_array_elements(parts) part WHERE part->>'type' = 'text')
FROM coverage_message WHERE chat_id = ANY(%s)
"""


def lost(memories: list[Memory], rows) -> Iterator[str]:
    """Each acknowledged write that is not there, one line each. ``rows`` asks the database (Installation.rows)."""
    talks = [talk for memory in memories for talk in memory.talks]
    yield from _lost_chats(talks, rows)
    yield from _lost_messages(talks, rows)
    yield from _lost_library(memories, rows)


def _lost_chats(talks: list[Talk], rows) -> Iterator[str]:
    ids = [UUID(talk.id) for talk in talks]
    there = {str(key) for (key,) in rows("SELECT id FROM coverage_chat WHERE id = ANY(%s)", [ids])}
    delivered = {
        str(key)
        for (key,) in rows("SELECT id FROM graphctx_steer WHERE status = 'delivered' AND chat_id = ANY(%s)", [ids])
    }
    for talk in talks:
        if talk.begun and not talk.erasing and talk.id not in there:
            yield f"chat {talk.id} was acknowledged and is not there"
        if talk.erased and talk.id in there:
            yield f"chat {talk.id} was erased and is there"
        if talk.steer and talk.id in there and talk.steer not in delivered:
            yield f"chat {talk.id}: its steer was acknowledged and is not delivered"


def _lost_messages(talks: list[Talk], rows) -> Iterator[str]:
    found: dict[tuple[str, str], tuple[int, str]] = {
        (str(chat), message): (version, text)
        for chat, message, version, text in rows(MESSAGES, [[UUID(talk.id) for talk in talks]])
    }
    for talk in talks:
        if talk.erasing:
            continue
        for name, written in talk.messages.items():
            where = f"message {name} of chat {talk.id}"
            version, text = found.pop((talk.id, name), (0, GONE))
            if written.deleted and version:
                yield f"{where} was deleted and is there"
            elif version < written.acknowledged and not written.deleting:
                yield f"{where}: version {written.acknowledged} was acknowledged, version {version} is there"
            elif version and text != written.texts.get(version):
                yield f"{where}: version {version} is not the text that was sent with it"
        for chat, name in [key for key in found if key[0] == talk.id]:
            yield f"message {name} of chat {chat} was never sent"


def _lost_library(memories: list[Memory], rows) -> Iterator[str]:
    sent = {run: paths for memory in memories for run, paths in memory.runs.items()}
    removed = {key for memory in memories for key in memory.removed}
    gone = {key: name for memory in memories for key, name in memory.removing.items()}
    status = {
        str(key): value
        for key, value in rows(
            "SELECT id, status FROM osii_processingrun WHERE id = ANY(%s)", [[UUID(r) for r in sent]]
        )
    }
    items = rows(
        "SELECT run_id, path, status, document_id, error FROM osii_processingitem WHERE run_id = ANY(%s)",
        [[UUID(run) for run in sent]],
    )
    added = {(str(run), path): (state, document, error) for run, path, state, document, error in items}
    documents = {key for (key,) in rows("SELECT file_id FROM extraction_document")}
    for run, paths in sent.items():
        if run not in status:
            yield f"processing run {run} was acknowledged and is not there"
            continue
        for path in [path for path in paths if Path(path).name not in gone.values()]:
            state, document, error = added.get((run, path), ("nothing", None, ""))
            if state == "succeeded" and document not in documents:
                yield f"{path} of run {run} was added as {document}, which is not there"
            elif state not in ("succeeded", "failed", "cancelled") or (state == "failed" and not error):
                yield f"{path} of run {run} is {state}, and nobody says why"
    for key in removed & documents:
        yield f"document {key} was removed and is there"
    kept = {tuple(row) for row in rows("SELECT document_id, after_id FROM extraction_promotion")}
    for document, version in [one for memory in memories for one in memory.promoted]:
        if (document, version) not in kept and document not in gone:
            yield f"the promotion of {version} of {document} was acknowledged and is not on record"

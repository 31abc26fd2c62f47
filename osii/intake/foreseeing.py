"""What adding files would do, before anything is written: new, known, replaces another one, chats, or not taken and why."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from extraction.documents.chat_exports import chat_export
from extraction.documents.ids import file_id_of
from extraction.models import Document, DocumentSource
from osii.library.intake import CHAT_EXPORT, Candidate

NEW, KNOWN, REPLACES, CHATS, REFUSED, UNREAD = VERDICTS = ("new", "known", "replaces", "chats", "refused", "unread")
READ_FILES = 500
READ_BYTES = 512 * 2**20
"""So much is read to tell what is known already; of the rest only name, size and type are told."""


@dataclass(slots=True)
class Foreseen:
    """One file. ``verdict`` is one of VERDICTS; ``note`` says why it is refused; ``document`` is the one that is known, or
    that this one would replace."""

    path: str
    size_bytes: int
    media_type: str
    extractor: str
    verdict: str
    note: str = ""
    document: Document | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class Foresight:
    files: list[Foreseen] = field(default_factory=list)

    @property
    def counts(self) -> list[tuple[str, int]]:
        found = Counter(file.verdict for file in self.files)
        return [(verdict, found[verdict]) for verdict in VERDICTS if found[verdict]]

    def paths(self, *verdicts: str) -> list[str]:
        return [file.path for file in self.files if file.verdict in verdicts]

    @property
    def to_add(self) -> int:
        return len(self.paths(NEW, KNOWN, REPLACES, UNREAD))

    @property
    def only_known(self) -> bool:
        return self.to_add == len(self.paths(KNOWN))

    @property
    def chats(self) -> int:
        return len(self.paths(CHATS))


def foresee(candidates: Iterable[Candidate], learner: str = "") -> Foresight:
    """Read the files' bytes, so far as there are not too many, and compare them with the library: two queries."""
    candidates = list(candidates)
    digests = _digests(candidates)
    known = Document.objects.select_related("learner").in_bulk(list(digests.values()))
    named = _named_before([one.path for one in candidates])
    return Foresight([_foreseen(one, digests.get(one.path), known, named, learner) for one in candidates])


def _digests(candidates: Sequence[Candidate]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = READ_BYTES
    for one in candidates:
        if one.refusal or len(found) == READ_FILES or one.size_bytes > left:
            continue
        try:
            with Path(one.path).open("rb") as file:
                found[one.path] = file_id_of(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError:
            continue
        left -= one.size_bytes
    return found


def _named_before(paths: list[str]) -> dict[str, Document]:
    """What each path names in the library now."""
    newest = Window(RowNumber(), partition_by=[F("path")], order_by=[F("seen_at").desc(), F("id").desc()])
    rows = DocumentSource.objects.filter(path__in=paths).annotate(place=newest).filter(place=1)
    return {row.path: row.document for row in rows.select_related("document__learner").order_by()}


def _foreseen(
    one: Candidate, file_id: str | None, known: dict[str, Document], named: dict[str, Document], learner: str
) -> Foreseen:
    made = Foreseen(one.path, one.size_bytes, one.media_type, one.extractor, UNREAD)
    if one.refusal.startswith(f"{CHAT_EXPORT}:"):
        made.verdict, made.note = CHATS, chat_export(Path(one.path))
    elif one.refusal:
        made.verdict, made.note = REFUSED, one.refusal
    elif file_id is None:
        made.note = "not read yet: whether it is known shows when it is added"
    elif file_id in known:
        made.verdict, made.document = KNOWN, known[file_id]
        _check_learner(made, known[file_id], learner)
    elif one.path in named:
        made.verdict, made.document = REPLACES, named[one.path]
    else:
        made.verdict = NEW
    return made


def _check_learner(made: Foreseen, document: Document, learner: str) -> None:
    if learner and document.learner is not None and document.learner.name != learner:
        made.verdict = REFUSED
        made.note = f"other_learner: the same bytes are already a document of {document.learner.name}"

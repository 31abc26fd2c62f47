"""Import chats from files and folders: one transaction per conversation, so nothing is ever half written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import DataError, IntegrityError, OperationalError, transaction
from psycopg.errors import ProgramLimitExceeded

from coverage import services, summaries
from coverage.models import Chat, Message

from . import archives, checkpoints, sources
from .checkpoints import Checkpoint, CheckpointReport
from .documents import NotJson, UnreadableFile, open_document
from .formats import FORMATS, NAMES, Format, UnknownFormat, detect
from .manifest import manifest_problems
from .records import ParsedChat, Problem, Skipped
from .streams import PackedFileError
from .values import printable

DEFAULT_LEARNER = "me"

Progress = Callable[[int], None]
"""Told how many more bytes of the files have been dealt with."""


@dataclass(slots=True)
class ChatReport:
    """What became of one conversation.

    ``state``: new, changed, unchanged, empty (nothing was said in it), older (the same import had met a newer copy) or
    failed (``problems`` says why).
    The counts are messages; ``moved`` only changed their place, ``left`` left the transcript because the file no longer
    has them.
    """

    source: str
    where: str
    format: str
    learner: str
    title: str
    state: str
    chat_id: UUID | None = None
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    left: int = 0
    problems: list[Problem] = field(default_factory=list)


Report = ChatReport | CheckpointReport | Problem | Skipped


def import_paths(
    paths: Iterable[sources.Given],
    *,
    format: str = "auto",
    learner: str = "",
    dry_run: bool = False,
    on_progress: Progress | None = None,
    is_busy: checkpoints.IsBusy | None = None,
) -> Iterator[Report]:
    """Import every conversation in the files, folders and archives; yields a report of each as it is done.

    ``format`` is "auto" (found from the content, file by file) or a name from ``formats.NAMES``. All chats go to
    ``learner``; if it is empty, to the learner whom the file names, else to "me". With ``dry_run`` everything is done
    and rolled back, so the reports say what would happen. Import never starts an extraction. Checkpoints of whole chats
    come last, whatever their place, for the chats may be in the same import; ``is_busy`` is ``checkpoints.apply``'s.

    Raises ValueError on an unknown format, and what the database raises when it cannot be reached.
    """
    if format not in NAMES:
        raise ValueError(f"format {format!r} is not one of {', '.join(NAMES)}")
    run = _Import(FORMATS.get(format), learner, dry_run=dry_run, on_progress=on_progress or (lambda _: None))
    for found in sources.find(paths):
        if isinstance(found, Problem):
            yield found
        elif isinstance(found, sources.Folder):
            yield from run.folder(found)
        elif sources.is_zip(found):
            yield from run.archive(found)
        else:
            yield from run.file(found)
    yield from run.checkpoints(is_busy or (lambda _: False))
    run.summarise()


def total_bytes(paths: Iterable[sources.Given]) -> int:
    """The size of all files that the paths name, those in archives unpacked, for a progress bar."""
    total = 0
    for found in sources.find(paths):
        if isinstance(found, sources.Folder):
            total += sum(file.size for file in found.files) + sum(_archive_bytes(source) for source in found.archives)
        elif isinstance(found, sources.Source):
            total += _archive_bytes(found) if sources.is_zip(found) else found.size
    return total


def _archive_bytes(source: sources.Source) -> int:
    try:
        with archives.opened(source) as (folder, _):
            return sum(file.size for file in folder.files)
    except OSError:
        return 0


@dataclass(slots=True)
class _Seen:
    """A conversation that this import has met: where, and how new that copy was."""

    source: str
    where: str
    updated_at: datetime | None


class _Import:
    """One call of ``import_paths``: its options, and the conversations it has met."""

    def __init__(self, fixed: Format | None, learner: str, *, dry_run: bool, on_progress: Progress):
        self._format = fixed
        self._learner = learner.strip()
        self._dry_run = dry_run
        self._on_progress = on_progress
        self._seen: dict[tuple[str, str, str], _Seen] = {}
        # Reports of anything but files of other kinds.
        self._told = 0
        # The latest of each chat.
        self._checkpoints: dict[str, Checkpoint] = {}
        # Chats that were written and have no memo yet.
        self._written: list[UUID] = []

    def folder(self, folder: sources.Folder) -> Iterator[Report]:
        """All files of a folder; one without any chat is a problem unless its files told theirs."""
        before = self._told
        yield from folder.left_out
        yield from self._files(folder)
        for source in folder.archives:
            yield from self.archive(source)
        if self._told == before:
            yield Problem(folder.label, "", "the folder holds no chats", "give the folder with the export in it")

    def archive(self, source: sources.Source) -> Iterator[Report]:
        """All files of a zip archive. One that was named must hold chats."""
        before = self._told
        try:
            with archives.opened(source) as (folder, problems):
                yield from map(self._tell, problems)
                yield from self._files(folder)
            if source.named and self._told == before:
                yield Problem(source.label, "", "the archive holds no chats", "give the archive of the export")
        except OSError as error:
            if source.named or source.looks_like_zip:
                yield self._tell(_unreadable_file(source, error))
            else:
                yield Skipped(source.label, "it is not a zip archive")

    def _files(self, folder: sources.Folder) -> Iterator[Report]:
        for source in folder.files:
            yield from self.file(source)
        yield from map(self._tell, manifest_problems(folder))

    def file(self, source: sources.Source) -> Iterator[Report]:
        """One file. Whatever is wrong with it is reported, and the import goes on with the next."""
        counted = 0
        try:
            document = open_document(source)
            chosen = self._format or detect(document)
            for parsed in chosen.read(document):
                if isinstance(parsed, Checkpoint):
                    self._keep(parsed)
                else:
                    yield self._tell(self._chat(parsed, chosen) if isinstance(parsed, ParsedChat) else parsed)
                self._on_progress(document.bytes_read - counted)
                counted = document.bytes_read
        except UnreadableFile as error:
            yield self._tell(_unreadable(source, error))
        except OSError as error:
            yield self._tell(_unreadable_file(source, error))
        self._on_progress(max(0, source.size - counted))

    def _tell(self, report: Report) -> Report:
        if not isinstance(report, Skipped):
            self._told += 1
        return report

    def _keep(self, checkpoint: Checkpoint) -> None:
        self._told += 1
        kept = self._checkpoints.get(checkpoint.external_id)
        if kept is None or checkpoint.folded_at > kept.folded_at:
            self._checkpoints[checkpoint.external_id] = checkpoint

    def checkpoints(self, is_busy: checkpoints.IsBusy) -> Iterator[Report]:
        """The latest checkpoint of each chat."""
        if self._checkpoints:
            met = {external_id for _, _, external_id in self._seen}
            yield from checkpoints.apply(
                self._checkpoints.values(),
                self._learner,
                dry_run=self._dry_run,
                is_busy=is_busy,
                is_new=met.__contains__,
            )

    def summarise(self) -> None:
        """Let the lists know what was written: a cache, so whatever an import that breaks off leaves undone is done later."""
        if not self._dry_run:
            summaries.fill(chat_ids=self._written)
        self._written.clear()

    def _chat(self, parsed: ParsedChat, chosen: Format) -> ChatReport:
        learner = self._learner or parsed.learner or DEFAULT_LEARNER
        report = ChatReport(
            parsed.source, parsed.where, chosen.NAME, learner, parsed.title, "failed", problems=parsed.problems
        )
        if self._is_second_copy(parsed, report, chosen.SOURCE):
            return report
        try:
            with transaction.atomic():
                _store(parsed, report, chosen.SOURCE)
                transaction.set_rollback(self._dry_run)
        except (DataError, IntegrityError, OperationalError) as error:
            # An operational error is about the server, but for a value beyond what PostgreSQL can hold.
            if isinstance(error, OperationalError) and not isinstance(error.__cause__, ProgramLimitExceeded):
                raise
            reason = str(error).strip().splitlines()[0]
            report.problems.append(
                Problem(parsed.source, parsed.where, f"the database refused it: {reason}", "nothing of it was imported")
            )
        if report.chat_id:
            self._written.append(report.chat_id)
        if len(self._written) == summaries.AT_ONCE:
            self.summarise()
        if self._dry_run and report.state == "new":
            report.chat_id = None
        return report

    def _is_second_copy(self, parsed: ParsedChat, report: ChatReport, source: str) -> bool:
        """Whether this import has met the conversation before, in a copy that is as new or newer.

        Two exports in one folder overlap, and then the newer copy counts. Where nothing tells which is newer, two
        chats under one id are a mistake in the file: the first is kept, the second reported.
        """
        key = (report.learner, source, parsed.external_id)
        first = self._seen.get(key)
        if first is None or (parsed.updated_at and first.updated_at and parsed.updated_at > first.updated_at):
            self._seen[key] = _Seen(parsed.source, parsed.where, parsed.updated_at)
            return False
        if parsed.updated_at and first.updated_at:
            report.state = "older"
            return True
        place = f"{first.source}, {first.where}" if first.where else first.source
        reason = f"the id {printable(parsed.external_id)!r} was already used by {place}"
        report.problems.append(Problem(parsed.source, parsed.where, reason, "the first is kept; give it its own id"))
        return True


def _unreadable_file(source: sources.Source, error: OSError) -> Problem:
    if isinstance(error, PackedFileError):
        return Problem(source.label, "", error.strerror, error.remedy)
    return Problem(source.label, "", f"it cannot be read: {error.strerror or error}", "check the file")


def _unreadable(source: sources.Source, error: UnreadableFile) -> Problem | Skipped:
    """In a folder, files that are something else are passed over; a named file must hold chats."""
    something_else = isinstance(error, UnknownFormat) or (isinstance(error, NotJson) and not source.looks_like_json)
    if something_else and not source.named:
        return Skipped(source.label, error.reason)
    return Problem(source.label, "", error.reason, error.remedy)


def _store(parsed: ParsedChat, report: ChatReport, source: str) -> None:
    """Write one conversation. The caller holds the transaction."""
    if not parsed.messages:
        # Nothing was said in it, or nothing of it can be stored: a chat that is there stays as it is.
        report.state = "failed" if parsed.problems else "empty"
        return
    learner = services.get_or_create_learner(report.learner)
    started_at = parsed.created_at
    chat, created = Chat.objects.get_or_create(
        learner=learner,
        source=source,
        external_id=parsed.external_id,
        defaults={"title": parsed.title or _first_words(parsed), "started_at": started_at},
    )
    retitled = False
    if not created:
        given = {"title": parsed.title, "started_at": started_at}
        retitled = services.update_chat(chat, {name: value for name, value in given.items() if value})
    _put_back_refused(chat, parsed)
    result = services.put_messages(chat.pk, parsed.messages, whole_transcript=parsed.complete, checked=True)
    report.chat_id = chat.pk
    report.title = chat.title
    report.added, report.changed = len(result.added), len(result.changed)
    report.moved, report.unchanged, report.left = len(result.moved), len(result.unchanged), len(result.shelved)
    report.state = "new" if created else "changed" if result.touched or retitled else "unchanged"


def _put_back_refused(chat: Chat, parsed: ParsedChat) -> None:
    """Where the file's version of a message was refused but an earlier one is stored, that one keeps its place."""
    if not parsed.refused:
        return
    # One id may be refused in one place and good in another.
    refused = {message_id for _, message_id in parsed.refused} - {message.message_id for message in parsed.messages}
    stored = {
        message.message_id: message
        for message in Message.objects.filter(chat=chat, message_id__in=refused, position__isnull=False)
    }
    for index, message_id in reversed(parsed.refused):
        if message := stored.pop(message_id, None):
            kept = services.IncomingMessage(
                message.message_id, message.role, message.parts, message.metadata, message.said_at
            )
            parsed.messages.insert(index, kept)


def _first_words(parsed: ParsedChat, limit: int = 80) -> str:
    """A title for a chat that has none: how its first message of the user begins."""
    for message in parsed.messages:
        if message.role == Message.Role.USER:
            text = " ".join(" ".join(p["text"] for p in message.parts if p["type"] == "text").split())
            if text:
                return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
    return ""

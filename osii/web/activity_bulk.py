"""What can be done with many rows of the activity list, whatever kinds they are: retry what failed, cancel, acknowledge.

Who may do it depends on the kind of each row; what an account may not do, or does not fit, is left alone and counted.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict

from coverage.models import Chat
from coverage.words import counted
from extraction import services
from extraction.models import Run
from osii.imports import services as imports
from osii.library import runs
from osii.models import ChatImport, ProcessingRun

from .activity_list import CHAT, IMPORT, NEEDS, PROCESSING, VIEWS, ActivityFilter, kinds_of, merged, titles
from .bulk import Action, Bulk, Doer

Key = tuple[str, UUID]
MAY = {CHAT: "extraction.change_run", IMPORT: "osii.add_chatimport", PROCESSING: "osii.change_processingrun"}


def _key(text: str) -> Key | None:
    """From "kind:id"."""
    kind, _, rest = text.partition(":")
    try:
        return (kind, UUID(rest)) if kind in MAY else None
    except ValueError:
        return None


def _all_keys(query: QueryDict, user: User, most: int) -> list[Key]:
    chosen = ActivityFilter(query, ProcessingRun.objects.none())
    view = query.get("view", "all")
    if not chosen.is_valid() or view not in VIEWS:
        return []
    return merged(chosen.kinds(view, kinds_of(user)), chosen.order(), 0, most)


def _retry_chat(key: UUID, _: Doer) -> bool:
    """Only the last run of its chat: what a later one did is not asked for again."""
    run = Run.objects.filter(pk=key, status=Run.Status.FAILED).first()
    if run is None or Run.objects.filter(chat=run.chat_id, queued_at__gt=run.queued_at).exists():
        return False
    try:
        services.request_run(run.chat_id, run.mode, run.worker, run.model)
    except (ValueError, Chat.DoesNotExist):  # its worker or its model is not there any more, or the chat was erased
        return False
    return True


def _retry_import(key: UUID, by: Doer) -> bool:
    """Once: an import that failed is not repeated while a later one of the same files waits, works or is done."""
    row = ChatImport.objects.filter(pk=key, status=ChatImport.Status.FAILED).first()
    if row is None or _was_repeated(row):
        return False
    try:
        imports.repeat(row, dry_run=row.dry_run, by=by.user)
    except (imports.FilesGone, OSError):
        return False
    return True


def _was_repeated(row: ChatImport) -> bool:
    later = ChatImport.objects.filter(files=row.files, learner=row.learner, dry_run=row.dry_run)
    return later.filter(created_at__gt=row.created_at).exclude(status=ChatImport.Status.FAILED).exists()


def _cancel_chat(key: UUID, _: Doer) -> bool:
    active = Run.objects.filter(pk=key, status__in=Run.ACTIVE).values_list("chat", flat=True).first()
    return active is not None and services.abort_run(active)


def _on_each(
    done: str, per_kind: dict[str, Callable[[UUID, Doer], bool]]
) -> Callable[[Sequence[Key], Doer], list[str]]:
    def do(keys: Sequence[Key], by: Doer) -> list[str]:
        count = sum(per_kind[kind](key, by) for kind, key in keys if kind in per_kind and by.user.has_perm(MAY[kind]))
        left = len(keys) - count
        return [f"{counted(count, 'activity', 'activities')} {done}.{f' {left:,} left as before.' if left else ''}"]

    return do


class _AnyKind(Action):
    """Offered to whoever may do it with one kind at least."""

    @property
    def one_of(self) -> tuple[str, ...]:
        return tuple(MAY.values())


ACTIVITY = Bulk(
    "activity",
    ("activity", "activities"),
    200,
    (
        _AnyKind(
            "retry", "Retry what failed", "arrow-clockwise", "",
            "A chat whose last run failed is read again, a failed import is imported again, and of library runs the documents "
            "that failed are tried again. What was done stays done.",
            _on_each(
                "started again",
                {CHAT: _retry_chat, IMPORT: _retry_import, PROCESSING: lambda key, _: runs.retry(key) > 0},
            ),
        ),
        _AnyKind(
            "cancel", "Cancel", "stop-circle", "",
            "What waits or works is told to stop. What was done until then is kept.",
            _on_each(
                "told to stop",
                {CHAT: _cancel_chat, IMPORT: lambda key, _: imports.cancel(key), PROCESSING: lambda key, _: runs.cancel(key)},
            ),
            danger=True,
        ),
        Action(
            "acknowledge", "Acknowledge", "eye", MAY[PROCESSING],
            "Library runs that have ended ask for attention no more; what failed can still be tried again.",
            _on_each("acknowledged", {PROCESSING: lambda key, by: runs.acknowledge(key, by.name)}),
        ),
    ),
    titles,
    key=_key,
    all_keys=_all_keys,
    seen=lambda user, key: NEEDS[key[0]].allow(user),
)  # fmt: skip

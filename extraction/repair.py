"""Repair of a chat: have messages read again, and purge what was learned from it.

Reading again never deletes a line of the ledger: it appends releases, so the diff opens the messages. Purging deletes
the chat's evidence, and says of coverage what the caller chose: a purge that silently kept it would leave the chat
"all read" and empty, and no later run would say so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, Max, OuterRef, Q, Sum, Value, When

from coverage.guards import allow_erase
from coverage.models import Chat, CoverageEntry, Learner, Message, MessageCoverage
from coverage.services import append_entries, lock_chat
from graphctx import links
from graphctx.models import Instance

from .erasure import Fate, foreseen, remove_bare, standing
from .locking import with_runs_locked
from .models import Batch, Candidate, Resolution, Run
from .prompts import older_rows

KEEP, RESET = "keep", "reset"
COVERAGE_CHOICES = (KEEP, RESET)
ACTOR = "purge"


class BeingRead(ValueError):
    """A run reads the chat just now, and would write what it finds after the purge."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be read again: one message, the positions ``first`` to ``last``, what was read last under ``older``
    instructions, or (nothing given) the whole chat."""

    first: int | None = None
    last: int | None = None
    message_id: str | None = None
    older: bool = False

    @property
    def whole(self) -> bool:
        return self.first is None and self.last is None and self.message_id is None and not self.older


@dataclass(frozen=True, slots=True)
class Reread:
    """What a re-reading opens: ``messages`` that are covered, with ``tokens``; ``copies`` of those are later messages
    with the same content outside the scope, which open too. ``releases`` lines are appended to the ledger. ``waiting``
    messages of the scope are not covered anyway."""

    messages: int = 0
    tokens: int = 0
    copies: int = 0
    releases: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge removes: ``instances``, and the ``fate`` of their propositions. ``reread`` is what a reset opens; it is
    empty after a purge that kept coverage."""

    instances: int
    fate: Fate
    reread: Reread


@dataclass(frozen=True, slots=True)
class _Line:
    """A line to append to the ledger."""

    fingerprint: str
    tokens: int


def preview_reread(chat_id: UUID, scope: Scope) -> Reread:
    """What ``request_reread`` would do now. Raises Chat.DoesNotExist, and ValueError when the scope names nothing."""
    return _plan(Chat.objects.get(pk=chat_id), scope)[0]


def request_reread(chat_id: UUID, scope: Scope) -> Reread:
    """Release the coverage of what ``scope`` names, so that the next run reads it again; starts no run.

    Afterwards nothing in the scope is covered. Messages with the same content are interchangeable to the ledger, so
    later copies of a message open with it; earlier ones stay. The whole chat includes what lies on other branches and
    versions that were edited away. Asking twice releases nothing more. Raises as ``preview_reread``.
    """
    with transaction.atomic():
        return _release(lock_chat(chat_id), scope)


def _release(chat: Chat, scope: Scope) -> Reread:
    effect, lines = _plan(chat, scope)
    append_entries(chat, lines, kind=CoverageEntry.Kind.RELEASE)
    return effect


def _plan(chat: Chat, scope: Scope) -> tuple[Reread, list[_Line]]:
    rows = list(MessageCoverage.objects.filter(chat=chat).order_by("position"))
    balances = _balances(chat)
    if scope.whole:
        opened, named = rows, rows
        released = {mark: balance for mark, (balance, _) in balances.items()}
    else:
        named = _named(chat, scope, rows)
        released, opened = _opened(rows, named, balances)
    covered = [row for row in opened if row.covered and row.tokens]
    lines = [_Line(mark, balances[mark][1]) for mark, count in released.items() for _ in range(count)]
    inside = {row.pk for row in named}
    return Reread(
        messages=len(covered),
        tokens=sum(row.tokens for row in covered),
        copies=sum(row.pk not in inside for row in covered),
        releases=len(lines),
        waiting=sum(not row.covered and row.tokens > 0 for row in named),
    ), lines


def _balances(chat: Chat) -> dict[str, tuple[int, int]]:
    """Per fingerprint that the ledger covers at all: cover lines minus releases, and its tokens."""
    sign = Case(When(kind=CoverageEntry.Kind.COVER, then=Value(1)), default=Value(-1))
    sums = (
        CoverageEntry.objects.filter(chat=chat)
        .values("fingerprint")
        .annotate(balance=Sum(sign), size=Max("tokens"))
        .filter(balance__gt=0)
    )
    return {row["fingerprint"]: (row["balance"], row["size"]) for row in sums}


def _named(chat: Chat, scope: Scope, rows: Sequence[MessageCoverage]) -> list[MessageCoverage]:
    if scope.older:
        if scope != Scope(older=True):
            raise ValueError("name either what was read under older instructions, or messages; not both")
        read = set(older_rows([chat.pk]).values_list("pk", flat=True))
        return [row for row in rows if row.pk in read]
    if scope.message_id is not None:
        if scope.first is not None or scope.last is not None:
            raise ValueError("name either one message or a range, not both")
        found = [row for row in rows if row.message_id == scope.message_id]
        if not found:
            where = Message.objects.filter(chat=chat, message_id=scope.message_id).exists()
            raise ValueError(
                f"the message {scope.message_id!r} "
                + ("lies on another branch; only the transcript is read" if where else "is not in this chat")
            )
        return found
    first = 1 if scope.first is None else scope.first
    last = len(rows) if scope.last is None else scope.last
    if not 1 <= first <= last <= len(rows):
        held = f"messages 1 to {len(rows)}" if rows else "no messages"
        raise ValueError(f"positions {first} to {last} are not a range of this transcript, which has {held}")
    return list(rows[first - 1 : last])


def _opened(
    rows: Iterable[MessageCoverage], named: Iterable[MessageCoverage], balances: dict[str, tuple[int, int]]
) -> tuple[dict[str, int], list[MessageCoverage]]:
    """How many lines to release per fingerprint, and the messages that this opens: of each content, the first covered
    message that is named and all that follow it."""
    marks = {row.fingerprint for row in named if row.covered and row.tokens}
    inside = {row.pk for row in named}
    before: dict[str, int] = dict.fromkeys(marks, 0)
    opened: dict[str, list[MessageCoverage]] = {mark: [] for mark in marks}
    for row in rows:
        if row.fingerprint not in marks:
            continue
        if opened[row.fingerprint] or row.pk in inside:
            opened[row.fingerprint].append(row)
        else:
            before[row.fingerprint] += 1
    released = {mark: balances[mark][0] - before[mark] for mark in marks}
    return released, [row for group in opened.values() for row in group]


def preview_purge(chat_id: UUID) -> Purge:
    """What ``purge_chat`` would remove now, and what a reset would open. Raises Chat.DoesNotExist."""
    chat = Chat.objects.get(pk=chat_id)
    instances, fate = foreseen(Q(chat=chat))
    return Purge(instances, fate, preview_reread(chat_id, Scope()))


def purge_chat(chat_id: UUID, coverage: str) -> Purge:
    """Remove this chat's evidence, and the propositions that have no other; ``coverage`` is "keep" (nothing of it will
    be read again) or "reset" (all of it will). What was forgotten stays forgotten, without its text.

    The chat's candidates get a resolution that says so. Raises Chat.DoesNotExist, BeingRead while a run reads the
    chat, and ValueError for an unknown choice.
    """
    if coverage not in COVERAGE_CHOICES:
        raise ValueError(f"coverage must be one of {', '.join(COVERAGE_CHOICES)}; not {coverage!r}")
    return with_runs_locked(chat_id, partial(_purge, coverage))


def _purge(coverage: str, chat: Chat) -> Purge:
    if _being_read(chat):
        raise BeingRead("a run reads this chat just now; abort it and wait until it has ended")
    reread = _release(chat, Scope()) if coverage == RESET else Reread()
    learner = Learner.objects.select_for_update(no_key=True).get(pk=chat.learner_id)
    evidence = Instance.objects.filter(chat=chat)
    touched = set(evidence.values_list("proposition", flat=True))
    replaced = links.below(touched)
    allow_erase()
    count = evidence.delete()[0]
    _resolve_purged(chat)
    removed, forgotten = remove_bare(touched, "the proposition it was merged into lost its last evidence to a purge")
    links.refresh_states(touched | replaced)
    if touched:
        Learner.objects.filter(pk=learner.pk).update(graph_revision=F("graph_revision") + 1)
    left = touched.difference(removed, forgotten)
    return Purge(count, Fate(**standing(left), removed=len(removed), forgotten=len(forgotten)), reread)


def _being_read(chat: Chat) -> bool:
    running = Run.objects.filter(chat=chat, status=Run.Status.RUNNING).exists()
    return running or Batch.objects.filter(chat=chat, status=Batch.Status.RUNNING).exists()


def _resolve_purged(chat: Chat) -> None:
    """What was merged from this chat is discarded now, also where the proposition stands on other evidence."""
    latest = Resolution.objects.filter(candidate=OuterRef("pk")).order_by("-created_at", "-id").values("outcome")[:1]
    merged = (
        Candidate.objects.filter(batch__chat=chat)
        .annotate(latest=latest)
        .exclude(latest=None)
        .exclude(latest=Resolution.Outcome.DISCARD)
    )
    Resolution.objects.bulk_create(
        (
            Resolution(
                candidate_id=candidate,
                outcome=Resolution.Outcome.DISCARD,
                reason="the knowledge from this chat was purged",
                actor=ACTOR,
            )
            for candidate in list(merged.values_list("pk", flat=True))
        ),
        batch_size=500,
    )

"""The chats list: its filters and orders, and what is added to a page of it. A page is taken first, its costly columns after."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, Q, QuerySet

from coverage.models import Chat, ChatFigures, ChatSummary
from extraction import figures
from extraction.figures import PARKED, Figures
from extraction.models import Batch, Run
from extraction.prompts import chats_read_by_older
from extraction.selectors import last_failed_runs

from .filters import ListFilter, NamedFilter, SortFilter, choice_filter, learner_filter


def _parked() -> list[UUID]:
    return [chat for chat, states in figures.held_tokens().items() if states[PARKED]]


def _last_failed() -> QuerySet[Run]:
    """The chats whose last run failed."""
    return last_failed_runs().order_by().values("chat")


def _active() -> QuerySet[Run]:
    return Run.objects.filter(status__in=Run.ACTIVE).order_by().values("chat")


SAID_LAST = F("last_said_at").desc(nulls_last=True)
BY_TIME = frozenset({"", "oldest"})
"""The orders by when something was said last; chats whose messages have no times come last in both."""


class ChatFilter(ListFilter):
    """Over all chats' figures (``summaries.listed``)."""

    learner = learner_filter("chat__learner")
    state = NamedFilter(
        {
            "due": ("due", lambda rows: figures.due(rows, figures.held_tokens())),
            "unread": ("with uncovered tokens", lambda rows: rows.filter(uncovered_tokens__gt=0)),
            "read": ("all read", lambda rows: rows.filter(tokens__gt=0, uncovered_tokens=0)),
            "attention": (
                "needs attention",
                lambda rows: rows.filter(Q(chat__in=_parked()) | Q(chat__in=_last_failed())),
            ),
            "parked": ("parked", lambda rows: rows.filter(chat__in=_parked())),
            "running": ("running or queued", lambda rows: rows.filter(chat__in=_active())),
            "failed": ("last run failed", lambda rows: rows.filter(chat__in=_last_failed())),
            "older": ("extracted with an older prompt", lambda rows: rows.filter(chat__in=chats_read_by_older())),
        }
    )
    sort = SortFilter(
        {
            "": ("said last", (SAID_LAST, "chat_id")),
            "oldest": ("said longest ago", (F("last_said_at").asc(nulls_last=True), "chat_id")),
            "uncovered": ("most uncovered", ("-uncovered_tokens", "chat_id")),
            "-uncovered": ("least uncovered", ("uncovered_tokens", "-chat_id")),
            "longest": ("most messages", ("-message_count", "chat_id")),
            "-longest": ("fewest messages", ("message_count", "-chat_id")),
            "changed": ("latest change here", ("-chat__updated_at", "chat_id")),
            "title": ("title", ("chat__title", "chat_id")),
            "-title": ("title, from the end", ("-chat__title", "-chat_id")),
            "learner": ("learner", ("chat__learner__name", SAID_LAST, "chat_id")),
            "-learner": ("learner, from the end", ("-chat__learner__name", SAID_LAST, "chat_id")),
        }
    )

    def search(self, rows: Figures, name: str, value: str) -> Figures:
        return rows.filter(Q(chat__title__icontains=value) | Q(chat__external_id__icontains=value))


class BatchFilter(ListFilter):
    """Over a chat's batches, in their order."""

    q = None
    state = choice_filter(Batch.Status.choices, "State", field_name="status")


def with_coverage(rows: Iterable[ChatSummary | ChatFigures]) -> list[Chat]:
    """The chats of a page of the list, with their coverage summary as ``coverage``, when something was said last
    as ``last_said_at`` and their latest run's status as ``run_status``: over these chats only.
    """
    listed = {row.chat_id: row for row in rows}
    there = Chat.objects.select_related("learner").in_bulk(list(listed))
    chats = [there[pk] for pk in listed if pk in there]
    latest = Run.objects.filter(chat__in=chats).order_by("chat", "-queued_at", "id").distinct("chat")
    statuses = dict(latest.values_list("chat", "status"))
    summaries = figures.coverage_of(chats, listed, figures.held_tokens(listed))
    for chat in chats:
        chat.coverage = summaries[chat.pk]
        chat.last_said_at = listed[chat.pk].last_said_at
        chat.run_status = statuses.get(chat.pk)
    return chats

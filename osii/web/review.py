"""Reads of the review pages: the queue, a candidate's place in it, and the record of what was decided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from coverage.models import Chat, Learner
from extraction.models import Candidate, Resolution, ReviewSetting
from graphctx.models import Proposition
from osii.permissions import REVIEW

from .statuses import status_of

PERMISSION = REVIEW

SHOWN_IN_NAVIGATION = 99
FOUND_MOST = 20


def waiting() -> QuerySet[Candidate]:
    """Candidates that wait for a decision, oldest first, each with ``deferred``: somebody looked and put it off."""
    return Candidate.objects.open().annotate(deferred=Exists(_put_off())).order_by("pk")


def _put_off() -> QuerySet[Resolution]:
    """The standing of a candidate that was decided to wait: pending, and not for the first time."""
    own = Resolution.objects.filter(candidate=OuterRef("candidate"))
    return Resolution.objects.filter(
        ~Exists(own.filter(_after())),
        Exists(own.filter(~_after(), ~Q(pk=OuterRef("pk")))),
        candidate=OuterRef("pk"),
        outcome=Resolution.Outcome.PENDING,
    )


def _after() -> Q:
    """Written after the outer resolution."""
    return Q(created_at__gt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__gt=OuterRef("pk"))


def queued() -> QuerySet[Candidate]:
    """What waits and nobody put off."""
    return waiting().filter(deferred=False)


def with_sources(rows: QuerySet[Candidate]) -> QuerySet[Candidate]:
    return rows.select_related("batch__chat__learner", "batch__document__learner")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate stands in its queue; ``position`` is None when it is no longer there."""

    position: int | None
    total: int
    previous: UUID | None
    next: UUID | None


def place_of(candidate: Candidate, queue: QuerySet[Candidate]) -> Place:
    """Three queries, whether or not it is in the queue."""
    key = candidate.pk
    counts = queue.order_by().aggregate(
        total=Count("pk"), within=Count("pk", filter=Q(pk__lte=key)), here=Count("pk", filter=Q(pk=key))
    )
    return Place(
        position=counts["within"] if counts["here"] else None,
        total=counts["total"],
        previous=queue.filter(pk__lt=key).order_by("-pk").values_list("pk", flat=True).first(),
        next=queue.filter(pk__gt=key).values_list("pk", flat=True).first(),
    )


def next_after(candidate_id: UUID, queue: QuerySet[Candidate]) -> UUID | None:
    """Who comes after a candidate that was just decided: the next one, else the oldest that was passed over."""
    rest = queue.exclude(pk=candidate_id).values_list("pk", flat=True)
    return rest.filter(pk__gt=candidate_id).first() or rest.first()


def navigation_count(request: HttpRequest) -> str:
    """What the navigation shows, at most "99+"; asked once per request, and only for those who may review."""
    if not hasattr(request, "_review_waiting"):
        may = request.user.has_perm(PERMISSION)
        count = queued().order_by()[: SHOWN_IN_NAVIGATION + 1].count() if may else 0
        request._review_waiting = f"{SHOWN_IN_NAVIGATION}+" if count > SHOWN_IN_NAVIGATION else str(count or "")
    return request._review_waiting


def history_of_candidate(candidate: Candidate) -> list[Resolution]:
    """A candidate's resolutions, newest first, each marked as in ``mark_standing``."""
    rows = candidate.resolutions.select_related("proposition").order_by("-created_at", "-pk")
    return mark_standing(rows)


def history_of_proposition(proposition: Proposition, most: int = 50) -> list[Resolution]:
    """What was decided about a proposition, newest first, with candidates, batches and chats; ``most`` rows."""
    sources = ("candidate__batch__chat", "candidate__batch__document")
    rows = proposition.resolutions.select_related(*sources).order_by("-created_at", "-pk")
    return mark_standing(rows, most)


def mark_standing(rows: QuerySet[Resolution], most: int | None = None) -> list[Resolution]:
    """The rows with ``is_standing`` (nothing was decided after it) and ``undoable``: one query."""
    own = Resolution.objects.filter(candidate=OuterRef("candidate"))
    marked = list(rows.annotate(is_standing=~Exists(own.filter(_after())))[:most])
    for row in marked:
        row.undoable = row.is_standing and row.outcome not in Resolution.OPEN
    return marked


def found_propositions(learner: Learner, words: str) -> list[Proposition]:
    """Propositions of a learner whose text has all the words, newest first; what was forgotten is not offered."""
    rows = Proposition.objects.filter(learner=learner).exclude(state=Proposition.State.FORGOTTEN)
    for word in words.split():
        rows = rows.filter(text__icontains=word)
    return list(rows.order_by("-created_at", "pk")[:FOUND_MOST])


def speakers(evidence: Iterable[Mapping[str, Any]]) -> str:
    """Who said what a candidate stands on: "user", "user and assistant"."""
    return " and ".join(sorted({str(item["speaker"]) for item in evidence}, reverse=True))


def chat_of(chat_id: UUID | None) -> Chat | None:
    return Chat.objects.filter(pk=chat_id).first() if chat_id else None


def is_deferred(history: list[Resolution]) -> bool:
    """Whether the newest of a candidate's resolutions put it off."""
    return len(history) > 1 and history[0].outcome == Resolution.Outcome.PENDING


def last_decision(request: HttpRequest) -> Resolution | None:
    """The decision that the query parameter ``last`` names, while it is this reviewer's and can be taken back."""
    try:
        key = UUID(request.GET.get("last", ""))
    except ValueError:
        return None
    rows = Resolution.objects.filter(pk=key, actor=request.user.get_username()).select_related("candidate")
    found = mark_standing(rows)
    return found[0] if found and found[0].is_standing else None


@dataclass(frozen=True, slots=True)
class Mode:
    """A learner's review mode in words; ``url`` is where this account may change it, or empty."""

    value: str
    label: str
    url: str


def mode_of(learner: Learner | None, user: User) -> Mode:
    """One query."""
    if learner is None:  # of a document
        return Mode(default_mode(), "no learner any more", "")
    setting = ReviewSetting.objects.filter(learner=learner).first()
    value = setting.mode if setting else settings.OSII_REVIEW_MODE
    whose = "set for this learner" if setting else "as OSII_REVIEW_MODE says"
    may = user.has_perm("extraction.change_reviewsetting")
    url = reverse("admin:coverage_learner_change", args=[learner.pk]) if may else ""
    return Mode(value, f"{value}, {whose}", url)


def default_mode() -> str:
    """The mode of learners that have none of their own."""
    return settings.OSII_REVIEW_MODE


def who_was_faster(candidate: Candidate, user: User) -> str:
    """Why a decision was not recorded: another one stands since its page was made."""
    standing = candidate.resolutions.order_by("-created_at", "-pk").first()
    if standing is None:
        return "Nothing was changed: this candidate has no decision to build on."
    # Pending again is what a reviewer calls deferred.
    waits_on = standing.outcome == Resolution.Outcome.PENDING
    word = status_of("flag", "deferred").word if waits_on else status_of("outcome", standing.outcome).word
    if standing.actor == user.get_username():
        said = f"You decided about this candidate already: it is {word}. Nothing was changed this time"
    else:
        said = f"{standing.actor} was faster: this candidate is {word} since {standing.created_at:%H:%M:%S} UTC. Nothing was changed"
    waits = "; it still waits, so decide again if you like." if standing.outcome in Resolution.OPEN else "."
    return said + waits


def sentence(refusal: Exception) -> str:
    """A refusal as a sentence on a page."""
    text = str(refusal)
    return f"Nothing was changed: {text}{'' if text.endswith('.') else '.'}"

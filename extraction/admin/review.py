"""Admin actions that decide about many candidates at once, and the review mode of a learner."""

from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from coverage.admin import LearnerAdmin
from coverage.admin_base import ReadOnlyAdmin
from coverage.models import Learner
from coverage.words import counted

from ..merging import resolving
from ..models import Candidate, Resolution, ReviewSetting

MOST = 400
"""Decisions of one action: each is a transaction of its own, and the answer waits for all of them. Each has two fields in the
form that confirms it, of which Django takes 1,000."""

REASONS_SHOWN = 5

REVIEW = "extraction.review_candidate"


class StandingFilter(admin.SimpleListFilter):
    """What became of candidates, by their latest resolution."""

    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [("open", "waits for a decision"), *Resolution.Outcome.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> QuerySet[Candidate]:
        if self.value() == "open":
            return queryset.open()
        return queryset.filter(standing=self.value()) if self.value() in Resolution.Outcome.values else queryset


class MarksFilter(admin.SimpleListFilter):
    """Whether there is something that a reader of the candidate should know."""

    title = "something to mind"
    parameter_name = "marked"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [("yes", "yes"), ("no", "no")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> QuerySet[Candidate]:
        if self.value() == "yes":
            return queryset.exclude(marks=[])
        return queryset.filter(marks=[]) if self.value() == "no" else queryset


class ReviewActions(ReadOnlyAdmin):
    """Mixed into the admin of candidates. An action says how many it decided, and why it left the others."""

    actions = ("accept", "reject", "defer", "undo")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Candidate]:
        return super().get_queryset(request).with_standing()

    @admin.display(description="standing", ordering="standing")
    def standing_word(self, candidate: Candidate) -> str:
        return _word(candidate)

    def has_review_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(REVIEW)

    @admin.action(description="Accept…", permissions=("review",))
    def accept(self, request: HttpRequest, candidates: QuerySet[Candidate]) -> HttpResponse | None:
        """Say what accepting brings, then accept."""
        return self._once_confirmed(request, candidates, "accept", "Accept candidates", "accepted")

    @admin.action(description="Defer…", permissions=("review",))
    def defer(self, request: HttpRequest, candidates: QuerySet[Candidate]) -> HttpResponse | None:
        """Say what deferring means, then defer."""
        return self._once_confirmed(request, candidates, "defer", "Defer candidates", "deferred")

    def _once_confirmed(
        self, request: HttpRequest, candidates: QuerySet[Candidate], decision: str, title: str, done: str
    ) -> HttpResponse | None:
        chosen = self._chosen(request, candidates)
        if chosen and "confirmed" not in request.POST:
            return self._ask(request, decision, title, chosen)
        self._decide(request, chosen, decision, done)
        return None

    @admin.action(description="Reject…", permissions=("review",))
    def reject(self, request: HttpRequest, candidates: QuerySet[Candidate]) -> HttpResponse | None:
        """Ask for the reason, then reject."""
        chosen = self._chosen(request, candidates)
        reason = request.POST.get("reason", "").strip()[:500]
        if chosen and not ("confirmed" in request.POST and reason):
            return self._ask(request, "reject", "Reject candidates", chosen)
        self._decide(request, chosen, "reject", "rejected", reason=reason)
        return None

    @admin.action(description="Undo the decision…", permissions=("review",))
    def undo(self, request: HttpRequest, candidates: QuerySet[Candidate]) -> HttpResponse | None:
        """Name what would be taken back, then take it back."""
        chosen = self._chosen(request, candidates)
        if chosen and "confirmed" not in request.POST:
            return self._ask(request, "undo", "Undo decisions", chosen)
        actor = request.user.get_username()
        self._each(
            request,
            chosen,
            "taken back",
            lambda one: resolving.undo(
                one.pk, actor=actor, reason="taken back in the admin", expected=_seen(request, one)
            ),
        )
        return None

    def _decide(
        self, request: HttpRequest, chosen: Sequence[Candidate], decision: str, done: str, *, reason: str = ""
    ) -> None:
        actor = request.user.get_username()
        self._each(
            request,
            chosen,
            done,
            lambda one: resolving.decide(one.pk, decision, actor=actor, reason=reason, expected=_seen(request, one)),
        )

    def _each(
        self, request: HttpRequest, chosen: Sequence[Candidate], done: str, decide: Callable[[Candidate], object]
    ) -> None:
        """Decide one by one: a candidate that somebody else decided meanwhile leaves the others as they are."""
        decided, refusals = list[Candidate](), Counter[str]()
        for candidate in chosen:
            try:
                decide(candidate)
                decided.append(candidate)
            except resolving.Refused as refusal:
                refusals[str(refusal)] += 1
        self.note(request, decided, f"{done.capitalize()}.")
        if decided:
            self.message_user(request, f"{counted(len(decided), 'candidate')} {done}.", messages.SUCCESS)
        for reason, times in refusals.most_common(REASONS_SHOWN):
            self.message_user(request, f"{counted(times, 'candidate')} left as before: {reason}", messages.WARNING)

    def _chosen(self, request: HttpRequest, candidates: QuerySet[Candidate]) -> list[Candidate]:
        sources = ("batch__chat__learner", "batch__document__learner")
        return self.chosen(request, candidates.select_related(*sources), most=MOST) or []

    def _ask(self, request: HttpRequest, action: str, title: str, chosen: Sequence[Candidate]) -> TemplateResponse:
        for candidate in chosen:
            candidate.standing_word = _word(candidate)
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.model._meta,
            "action": action,
            "candidates": chosen,
            "unsaid": "confirmed" in request.POST,
            "action_checkbox_name": admin.helpers.ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/review_confirm.html", context)


def _seen(request: HttpRequest, candidate: Candidate) -> UUID | None:
    """The resolution that stood when the person decided: on the confirmation page, else when the list was sent."""
    try:
        return UUID(request.POST[f"seen-{candidate.pk}"])
    except (KeyError, ValueError):
        return candidate.standing_id


def _word(candidate: Candidate) -> str:
    return str(dict(Resolution.Outcome.choices).get(candidate.standing, "never merged"))


class ReviewSettingInline(admin.StackedInline):
    model = ReviewSetting
    extra = 0
    verbose_name_plural = "Review mode: without one, what OSII_REVIEW_MODE says"


@admin.register(Learner)
class LearnerWithReviewAdmin(LearnerAdmin):
    inlines = (ReviewSettingInline,)
    list_select_related = ("review_setting",)
    list_display = (*LearnerAdmin.list_display, "review_mode")
    list_filter = ("review_setting__mode",)

    @admin.display(description="review mode", ordering="review_setting__mode")
    def review_mode(self, learner: Learner) -> str:
        setting = getattr(learner, "review_setting", None)
        return setting.mode if setting else "as OSII_REVIEW_MODE says"


@admin.register(ReviewSetting)
class ReviewSettingAdmin(ReadOnlyAdmin):
    """The learners that have a mode of their own; it is changed and removed at its learner."""

    list_display = ("learner", "mode")
    list_filter = ("mode",)
    list_select_related = ("learner",)
    search_fields = ("learner__name",)
    ordering = ("learner__name",)

"""Filters of the propositions list and of the graph view, kept in the URL."""

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django_filters import ModelChoiceFilter

from coverage.models import Chat
from extraction.models import Document
from graphctx.models import Kind, Level, Proposition
from osii.propositions import NO_EVIDENCE, NO_LEVEL, ORDERS, ids_in_order, matching

from .filters import FilterForm, ListFilter, SortFilter, choice_filter, learner_filter

MEANING = "meaning"

MIDDLES = ("proposition", "chat", "document")
"""What an address may put in the middle of the graph; the first of these that it names."""


class ClaimFilter(ListFilter):
    """What the list and the graph filter by; ``osii.propositions.matching`` does it, as for the API."""

    learner = learner_filter()
    kind = choice_filter(Kind.choices, "Kind")
    level = choice_filter([*Level.choices, (NO_LEVEL, "no level")], "Level")
    state = choice_filter(
        [*((state, state) for state in Proposition.State.values), (NO_EVIDENCE, "without live evidence")], "State"
    )

    def matched(self, *without: str) -> QuerySet[Proposition]:
        """The propositions that the filters let through, but for those named ``without``."""
        known = {"q", "learner", "kind", "level", "state", "chat"}.difference(without)
        return matching(self.queryset, **{name: value for name, value in self.chosen().items() if name in known})


class PropositionForm(FilterForm):
    field_order = ("q", "mode", "learner", "kind", "level", "state", "sort", "chat")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("mode") == MEANING:
            if not cleaned.get("q"):
                self.add_error("q", "Say what to look for.")
            if "learner" not in self.errors and not cleaned.get("learner"):
                self._only_learner(cleaned)
        return cleaned

    def _only_learner(self, cleaned: dict[str, Any]) -> None:
        """Where there is one learner only, nobody needs to choose."""
        learners = list(self.fields["learner"].queryset[:2])
        if len(learners) == 1:
            cleaned["learner"] = learners[0]
        else:
            self.add_error("learner", "Choose whose graph to search.")


class PropositionFilter(ClaimFilter):
    """``mode`` says how ``q`` is searched: by its text, or by its meaning, which is one learner's graph at a time."""

    mode = choice_filter([(MEANING, "meaning")], "Search by", empty_label="text")
    sort = SortFilter(
        {
            "": ("newest", ORDERS["newest"]),
            "oldest": ("oldest", ORDERS["oldest"]),
            "text": ("text", ORDERS["text"]),
            "-text": ("text, from the end", ORDERS["-text"]),
            "evidence": ("most evidence", ORDERS["evidence"]),
            "-evidence": ("least evidence", ORDERS["-evidence"]),
        }
    )
    chat = ModelChoiceFilter(queryset=Chat.objects.all(), label="Chat", widget=forms.HiddenInput)

    class Meta:
        form = PropositionForm

    def filter_queryset(self, queryset: QuerySet[Proposition]) -> QuerySet:
        """Ids in order."""
        return ids_in_order(self.matched(), self.chosen().get("sort", "newest"))


class GraphForm(FilterForm):
    def visible_fields(self) -> list[forms.BoundField]:
        return [field for field in super().visible_fields() if field.name not in MIDDLES]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if middle := next((cleaned[name] for name in MIDDLES if cleaned.get(name)), None):
            cleaned["learner"] = middle.learner
            self.data["learner"] = str(middle.learner_id or "")
        return cleaned


class GraphFilter(ClaimFilter):
    """Which part of a graph is drawn: what is around one proposition, what a chat or a document gave, or what of a learner's
    matches.
    """

    # In the address only: whoever filters leaves the middle that was chosen.
    proposition = ModelChoiceFilter(queryset=Proposition.objects.select_related("learner"))
    chat = ModelChoiceFilter(queryset=Chat.objects.select_related("learner"))
    document = ModelChoiceFilter(queryset=Document.objects.select_related("learner"))

    class Meta:
        form = GraphForm

    def __init__(self, query: QueryDict) -> None:
        """The filter always shows whose graph it is: of those who did not choose, the one with the newest proposition."""
        query = query.copy()
        middle = any(query.get(name) for name in MIDDLES)
        if not middle and not query.get("learner") and (newest := _newest_learner()):
            query["learner"] = str(newest)
        super().__init__(query, Proposition.objects.all())


def _newest_learner() -> UUID | None:
    return Proposition.objects.order_by("-created_at", "id").values_list("learner", flat=True).first()

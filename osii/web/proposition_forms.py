"""Filters of the propositions list and of the graph view, kept in the URL."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from coverage.models import Chat
from graphctx.models import Kind, Level, Proposition
from osii.propositions import NO_EVIDENCE, NO_LEVEL

from .forms import ANY, FilterForm

MEANING = "meaning"


class PropositionFilter(FilterForm):
    """``mode`` says how ``q`` is searched: by its text, or by its meaning, which is one learner's graph at a time."""

    mode = forms.ChoiceField(required=False, label="Search by", choices=[("", "text"), (MEANING, "meaning")])
    kind = forms.ChoiceField(required=False, choices=[ANY, *Kind.choices])
    level = forms.ChoiceField(required=False, choices=[ANY, *Level.choices, (NO_LEVEL, "no level")])
    state = forms.ChoiceField(
        required=False,
        choices=[
            ANY,
            *((state, state) for state in Proposition.State.values),
            (NO_EVIDENCE, "without live evidence"),
        ],
    )
    sort = forms.ChoiceField(
        required=False,
        label="Sort by",
        choices=[("", "newest"), ("oldest", "oldest"), ("text", "text"), ("evidence", "most evidence")],
    )
    chat = forms.ModelChoiceField(Chat.objects.all(), required=False, widget=forms.HiddenInput)

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

    def filters(self) -> int:
        return len([name for name in self.chosen() if name not in {"sort", "mode"}])


class GraphFilter(FilterForm):
    """Which part of a graph is drawn: what is around one proposition, what a chat gave, or what of a learner's matches."""

    kind = forms.ChoiceField(required=False, choices=[ANY, *Kind.choices])
    level = forms.ChoiceField(required=False, choices=[ANY, *Level.choices, (NO_LEVEL, "no level")])
    state = forms.ChoiceField(
        required=False,
        choices=[
            ANY,
            *((state, state) for state in Proposition.State.values),
            (NO_EVIDENCE, "without live evidence"),
        ],
    )
    # In the address only: whoever filters leaves the middle that was chosen.
    proposition = forms.ModelChoiceField(Proposition.objects.select_related("learner"), required=False)
    chat = forms.ModelChoiceField(Chat.objects.select_related("learner"), required=False)

    field_order = ("q", "learner", "kind", "level", "state")

    def __init__(self, query: QueryDict) -> None:
        """The filter always shows whose graph it is: of those who did not choose, the one with the newest proposition."""
        query = query.copy()
        middle = query.get("proposition") or query.get("chat")
        if not middle and not query.get("learner") and (newest := _newest_learner()):
            query["learner"] = str(newest)
        super().__init__(query)

    def visible_fields(self) -> list[forms.BoundField]:
        return [field for field in super().visible_fields() if field.name not in {"proposition", "chat"}]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if middle := cleaned.get("proposition") or cleaned.get("chat"):
            cleaned["learner"] = middle.learner
            self.data["learner"] = str(middle.learner_id)
        return cleaned


def _newest_learner() -> UUID | None:
    return Proposition.objects.order_by("-created_at", "id").values_list("learner", flat=True).first()

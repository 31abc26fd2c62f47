"""The queue's filters, and what a reviewer decides."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import QueryDict

from extraction.bounds import CLAIM_CHARACTERS
from extraction.workers import worker_names
from graphctx.models import Kind, Proposition

from .forms import ANY, FilterForm
from .review import DEFERRED, EVERYTHING, MARKED, UNMARKED

QUEUE_FILTERS = ("q", "learner", "kind", "worker", "marks", "chat", "state")


def _workers() -> list[tuple[str, str]]:
    return [ANY, *((name, name) for name in worker_names())]


class ReviewFilter(FilterForm):
    kind = forms.ChoiceField(required=False, choices=[ANY, *Kind.choices])
    worker = forms.ChoiceField(required=False, choices=_workers)
    marks = forms.ChoiceField(
        required=False, label="To mind", choices=[ANY, (MARKED, "something"), (UNMARKED, "nothing")]
    )
    state = forms.ChoiceField(
        required=False, label="Show", choices=[("", "waiting"), (DEFERRED, "deferred"), (EVERYTHING, "both")]
    )
    # Chosen by a link in a row: there may be thousands of chats.
    chat = forms.UUIDField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, query: str | QueryDict) -> "ReviewFilter":
        """The filters of a query string, validated; what is not allowed filters nothing."""
        form = cls(QueryDict(query) if isinstance(query, str) else query)
        form.is_valid()
        return form

    def fields_kept(self) -> list[tuple[str, str]]:
        """The valid filters as names and values, for hidden fields."""
        return [(name, self.data[name]) for name in QUEUE_FILTERS if self.cleaned_data.get(name)]

    def query(self, *, without: str = "", last: UUID | None = None) -> str:
        """The valid filters as a query string, for links back into the same queue; ``last`` names a decision."""
        kept = [(name, value) for name, value in self.fields_kept() if name != without]
        return urlencode([*kept, *([("last", last)] if last else [])])


ACCEPT, EDIT, REJECT, DEFER = "accept", "edit", "reject", "defer"
ABOUT_ANOTHER = {"merge_into": "merge into", "supersede": "supersede", "contradict": "contradict"}
DECISIONS = (ACCEPT, EDIT, *ABOUT_ANOTHER, REJECT, DEFER)


class DecisionForm(forms.Form):
    """One decision about one candidate. ``expected`` is the resolution that stood when the page was made."""

    decision = forms.ChoiceField(choices=[(value, value) for value in DECISIONS])
    expected = forms.UUIDField()
    text = forms.CharField(required=False, max_length=CLAIM_CHARACTERS)
    reason = forms.CharField(required=False, max_length=500)
    target = forms.ModelChoiceField(Proposition.objects.none(), required=False)
    queue = forms.CharField(required=False, max_length=2000, strip=False)
    find = forms.CharField(required=False, max_length=200)

    def __init__(self, data: QueryDict, learner: Any) -> None:
        super().__init__(data)
        self.fields["target"].queryset = Proposition.objects.filter(learner=learner)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        decision = given.get("decision")
        if decision == EDIT and not given.get("text") and "text" not in self.errors:
            self.add_error("text", "Write the claim as it should stand.")
        if decision == REJECT and not given.get("reason") and "reason" not in self.errors:
            self.add_error("reason", "Say why: the reason is kept with the decision.")
        if decision in ABOUT_ANOTHER and not given.get("target"):
            self.errors.pop("target", None)
            self.add_error("target", f"Choose which proposition it is to {ABOUT_ANOTHER[decision]}.")
        return given

    def messages(self) -> dict[str, str]:
        """The first error of each field, as text."""
        return {name: str(errors[0]) for name, errors in self.errors.items()}

    def unusable(self) -> str:
        """What to say of a form that no page of ours sends; empty when its fields say it themselves."""
        if {"decision", "expected"} & set(self.errors):
            return "Nothing was changed: the form does not say which decision, or about what. Load it again and decide."
        return ""

    def arguments(self) -> dict[str, Any]:
        """What ``extraction.resolving.decide`` takes; only of a valid form."""
        given = self.cleaned_data
        decision = given["decision"]
        return {
            "decision": decision,
            "expected": given["expected"],
            "reason": given["reason"],
            "text": given["text"] if decision == EDIT else None,
            "target": given["target"].pk if decision in ABOUT_ANOTHER else None,
        }

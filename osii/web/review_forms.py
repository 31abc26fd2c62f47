"""The queue's filters, and what a reviewer decides."""

from typing import Any, Self

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django_filters import UUIDFilter

from coverage.models import Learner
from extraction.bounds import CLAIM_CHARACTERS
from extraction.models import Candidate
from extraction.workers import worker_names
from graphctx.models import Kind, Proposition

from .filters import ListFilter, NamedFilter, choice_filter, learner_filter
from .review import waiting


def _workers() -> list[tuple[str, str]]:
    return [(name, name) for name in worker_names()]


def _of_learner(rows: QuerySet[Candidate], name: str, value: Learner) -> QuerySet[Candidate]:
    return rows.filter(Q(batch__chat__learner=value) | Q(batch__document__learner=value))


class ReviewFilter(ListFilter):
    """Over what waits (``review.waiting``), in its order."""

    learner = learner_filter(method=_of_learner)
    kind = choice_filter(Kind.choices, "Kind")
    worker = choice_filter(_workers, "Worker", field_name="batch__worker")
    marks = NamedFilter(
        {
            "marked": ("something", lambda rows: rows.exclude(marks=[])),
            "unmarked": ("nothing", lambda rows: rows.filter(marks=[])),
        },
        "To mind",
    )
    state = NamedFilter(
        {
            "": ("waiting", lambda rows: rows.filter(deferred=False)),
            "deferred": ("deferred", lambda rows: rows.filter(deferred=True)),
            "all": ("both", lambda rows: rows),
        },
        "Show",
    )
    # Chosen by a link in a row: there may be thousands of chats.
    chat = UUIDFilter("batch__chat", label="Chat", widget=forms.HiddenInput)

    @classmethod
    def of(cls, query: str | QueryDict) -> Self:
        """The filters of a query string; what is not allowed filters nothing."""
        return cls(QueryDict(query) if isinstance(query, str) else query, waiting())

    def search(self, rows: QuerySet[Candidate], name: str, value: str) -> QuerySet[Candidate]:
        return rows.filter(
            Q(claim__icontains=value)
            | Q(batch__chat__title__icontains=value)
            | Q(batch__document__filename__icontains=value)
        )


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
        """What ``extraction.merging.resolving.decide`` takes; only of a valid form."""
        given = self.cleaned_data
        decision = given["decision"]
        return {
            "decision": decision,
            "expected": given["expected"],
            "reason": given["reason"],
            "text": given["text"] if decision == EDIT else None,
            "target": given["target"].pk if decision in ABOUT_ANOTHER else None,
        }

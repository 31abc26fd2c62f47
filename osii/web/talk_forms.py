"""The forms of the built-in chat: how it begins, and what the learner says."""

from typing import Any

from django import forms
from django.db.models.functions import Lower

from coverage.importers.records import MAX_LEARNER
from coverage.models import GRAPH_CONTEXT_DEFAULT, GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP, Learner
from coverage.view import MalformedParts, check_storable
from extraction.llm.choice import choose, model_names
from extraction.workers import WorkerUnavailable
from graphctx.selection import check_budget
from osii.talk.state import LLM, SCRIPTED
from osii.talk.writing import TEXT_CHARACTERS

from .learner_choice import LearnerChoice

SCRIPTED_LABEL = "scripted tutor, offline"
SLIDER = {
    "class": "form-range",
    "min": 0,
    "max": GRAPH_CONTEXT_MAX_TOKENS,
    "step": GRAPH_CONTEXT_STEP,
    "data-output": "budget-value",
}


def tutors() -> list[tuple[str, str]]:
    """Values and labels: each language model that may be named, and the script."""
    return [*((f"{LLM}:{name}", f"language model, {name}") for name in model_names()), (SCRIPTED, SCRIPTED_LABEL)]


def usual_tutor() -> str:
    """The default language model where one is set up, else the script."""
    try:
        return f"{LLM}:{choose().name}"
    except WorkerUnavailable:
        return SCRIPTED


def storable(text: str) -> str:
    """The text without blanks around it. Raises ValidationError for what cannot be stored as a message."""
    try:
        check_storable(text, "the text")
    except MalformedParts as error:
        raise forms.ValidationError(str(error)) from None
    return text.strip()


class Words(forms.CharField):
    """Text with line breaks; NUL characters are refused with their place, as everywhere."""

    widget = forms.Textarea
    default_validators = ()

    def clean(self, value: Any) -> str:
        # As long as the browser's line ends are two characters, a limit would count them twice.
        text = storable((value or "").replace("\r\n", "\n"))
        if not text:
            raise forms.ValidationError("Write something.")
        if len(text) > TEXT_CHARACTERS:
            raise forms.ValidationError(f"{len(text):,} characters; {TEXT_CHARACTERS:,} are allowed at once.")
        return text


class Slider(forms.NumberInput):
    input_type = "range"


class BeginForm(LearnerChoice):
    """What to learn, whose graph it is about, what the graph may contribute, and who teaches."""

    chat_id = forms.UUIDField(widget=forms.HiddenInput(attrs={"autocomplete": "off"}))
    topic = Words(label="What do you want to learn?")
    learner = forms.ModelChoiceField(
        Learner.objects.order_by(Lower("name"), "name"), required=False, empty_label="a new one", label="Learner"
    )
    new_learner = forms.CharField(required=False, max_length=MAX_LEARNER, label="Or a new learner")
    tutor = forms.ChoiceField(label="Tutor", choices=tutors)
    tokens = forms.IntegerField(
        label="What may the graph contribute?", initial=GRAPH_CONTEXT_DEFAULT, widget=Slider(attrs=SLIDER)
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["topic"].widget.attrs |= {"rows": 2, "class": "form-control", "dir": "auto", "autofocus": True}
        self.fields["learner"].widget.attrs["class"] = "form-select"
        self.fields["tutor"].widget.attrs["class"] = "form-select"
        self.fields["new_learner"].widget.attrs |= {"class": "form-control", "autocomplete": "off"}
        for name in self.errors:
            if name in self.fields:
                self.fields[name].widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"error-{name}"}

    def clean_tokens(self) -> int:
        try:
            return check_budget(self.cleaned_data["tokens"])
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from None

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not values.get("learner") and not values.get("new_learner") and not self.errors:
            self.add_error("new_learner", "Choose a learner, or name a new one.")
        return values

    def chosen_tutor(self) -> tuple[str, str]:
        """(tutor, model); no model for the script."""
        tutor, _, model = self.cleaned_data["tutor"].partition(":")
        return tutor, model


class SayForm(forms.Form):
    """What the learner says after the message ``after``: words, or the answer to its question."""

    after = forms.CharField(max_length=200, widget=forms.HiddenInput(attrs={"autocomplete": "off"}))
    text = Words()

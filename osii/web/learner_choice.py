"""Choosing a learner in a form: one that is there, or a new one by name."""

from typing import Any

from django import forms

from coverage.view import MalformedParts, check_storable


class LearnerChoice(forms.Form):
    """For forms with the fields ``learner`` and ``new_learner``; ``learner_name()`` is empty when neither is given."""

    def clean_new_learner(self) -> str:
        name = self.cleaned_data["new_learner"].strip()
        try:
            check_storable(name, "the name")
        except MalformedParts as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("learner") and values.get("new_learner"):
            self.add_error("new_learner", "Choose a learner or name a new one, not both.")
        return values

    def learner_name(self) -> str:
        chosen = self.cleaned_data["learner"]
        return chosen.name if chosen else self.cleaned_data["new_learner"]

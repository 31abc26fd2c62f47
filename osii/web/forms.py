"""The forms of actions."""

from typing import Any

from django import forms

from coverage.view import MalformedParts, check_storable
from extraction.repair import KEEP, RESET, Scope
from osii.models import Collection


class CollectionForm(forms.Form):
    """A collection's name, without blanks around it and without characters that nobody sees."""

    name = forms.CharField(
        max_length=200, widget=forms.TextInput(attrs={"class": "form-control form-control-sm", "autocomplete": "off"})
    )

    def clean_name(self) -> str:
        name = " ".join(self.cleaned_data["name"].split())
        try:
            check_storable(name, "the name")
        except MalformedParts as error:
            raise forms.ValidationError(str(error)) from None
        if not any(letter.isprintable() and not letter.isspace() for letter in name):
            raise forms.ValidationError("A name needs a letter that can be seen.")
        return name


class BulkForm(forms.Form):
    """What to do with the documents that were chosen in their list."""

    action = forms.ChoiceField(choices=[(name, name) for name in ("add", "remove", "process")])
    collection = forms.ModelChoiceField(Collection.objects.all(), required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("action") in {"add", "remove"} and not values.get("collection"):
            self.add_error("collection", "Choose a collection.")
        return values


class PromoteForm(forms.Form):
    """Move a document's primary pointer. ``expected_primary`` is what the person saw when deciding."""

    extraction_id = forms.CharField(max_length=120, widget=forms.HiddenInput)
    expected_primary = forms.CharField(max_length=120, required=False, widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=500, required=False, widget=forms.TextInput(attrs={"class": "form-control form-control-sm"})
    )


class RollbackForm(forms.Form):
    """Take the last move of a document's primary pointer back. ``expected_primary`` as for promoting."""

    expected_primary = forms.CharField(max_length=120, required=False, widget=forms.HiddenInput)
    reason = forms.CharField(max_length=500, required=False)


def _position() -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"class": "form-control form-control-sm", "inputmode": "numeric"})
    return forms.IntegerField(min_value=1, required=False, widget=widget)


class RereadForm(forms.Form):
    """Which positions are to be read again, or what was read under an older prompt; nothing given is the whole chat."""

    first = _position()
    last = _position()
    older = forms.BooleanField(required=False, widget=forms.CheckboxInput(attrs={"class": "form-check-input"}))

    def scope(self) -> Scope:
        chosen = self.cleaned_data
        return Scope(chosen["first"], chosen["last"], older=chosen["older"])


class PurgeForm(forms.Form):
    """What becomes of coverage after a purge. There is no default: either is a mistake in the other's place."""

    coverage = forms.ChoiceField(choices=[(KEEP, KEEP), (RESET, RESET)])

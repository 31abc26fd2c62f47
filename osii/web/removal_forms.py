"""Forms of what is removed from the library on request."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from extraction.documents.retention import Rule
from extraction.models import Document

LONGEST_DAYS = 36_500


def _number(label: str, most: int) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"class": "form-control form-control-sm", "inputmode": "numeric"})
    return forms.IntegerField(min_value=0, max_value=most, required=False, label=label, widget=widget)


def _tick(label: str) -> forms.BooleanField:
    return forms.BooleanField(
        required=False, label=label, widget=forms.CheckboxInput(attrs={"class": "form-check-input"})
    )


class RemoveForm(forms.Form):
    """Why a document or versions of it go; kept with the record."""

    reason = forms.CharField(max_length=500, required=False)


class OldVersionsForm(forms.Form):
    """Which versions of a document are old. Nothing given means every version that is not in force."""

    keep = _number("Keep the newest", 10_000)
    older_than = _number("Only those older than, in days", LONGEST_DAYS)
    failed = _tick("failed attempts too")
    even_needed = _tick("even what is needed")

    def rule(self, document: Document) -> Rule:
        chosen: dict[str, Any] = self.cleaned_data
        days = chosen["older_than"]
        return Rule(
            keep=chosen["keep"] or 0,
            before=None if days is None else timezone.now() - timedelta(days=days),
            failed=chosen["failed"],
            even_needed=chosen["even_needed"],
            file_ids=(document.pk,),
        )


class CleanUpForm(RemoveForm):
    """Remove exactly the versions that were shown and are still ticked."""

    versions = forms.TypedMultipleChoiceField()
    even_needed = forms.BooleanField(required=False)

    def __init__(self, document: Document, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["versions"].choices = [(pk, pk) for pk in document.versions.values_list("pk", flat=True)]

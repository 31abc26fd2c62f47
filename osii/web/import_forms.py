"""The form that uploads chats."""

from typing import Any

from django import forms
from django.db.models.functions import Lower

from coverage.importers.records import MAX_LEARNER
from coverage.models import Learner

from .learner_choice import LearnerChoice


class FilesInput(forms.FileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One or more files; an empty one is the import's to report."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        one = super().clean
        return [one(file, initial) for file in data] if data else [one(None, initial)]


class ImportForm(LearnerChoice):
    """What to import, and whose chats it is. ``learner_name()`` is empty when the files decide."""

    submission = forms.UUIDField(widget=forms.HiddenInput(attrs={"autocomplete": "off"}))
    files = FilesField(allow_empty_file=True, error_messages={"required": "Choose at least one file."}, label="Files")
    learner = forms.ModelChoiceField(
        Learner.objects.order_by(Lower("name"), "name"),
        required=False,
        empty_label="as the files say, else “me”",
        label="Whose chats these are",
    )
    new_learner = forms.CharField(required=False, max_length=MAX_LEARNER, label="Or a new learner")
    dry_run = forms.BooleanField(required=False, label="Dry run")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = {"files": "form-control drop-input", "learner": "form-select", "new_learner": "form-control"}
        for name, kind in kinds.items():
            attributes = {"class": kind, "aria-describedby": f"help-{name}"}
            if name in self.errors:
                attributes |= {"aria-invalid": "true", "aria-describedby": f"error-{name} help-{name}"}
            self.fields[name].widget.attrs |= attributes
        self.fields["new_learner"].widget.attrs["autocomplete"] = "off"
        self.fields["dry_run"].widget.attrs |= {"class": "form-check-input", "aria-describedby": "help-dry_run"}

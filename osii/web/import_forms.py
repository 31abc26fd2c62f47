"""The form that uploads chats, and the filters of the list of imports."""

from typing import Any

from django import forms
from django.db.models import Func, Q, QuerySet, TextField
from django.db.models.functions import Lower

from coverage.importers.records import MAX_LEARNER
from coverage.models import Learner
from osii.models import ChatImport

from .filters import ListFilter, NamedFilter, SortFilter
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


NAMES = Func("files", template="jsonb_path_query_array(%(expressions)s, '$[*].name')::text", output_field=TextField())
"""The names of an import's files, and nothing else of them, to look for words in."""


def _problems(rows: QuerySet[ChatImport]) -> QuerySet[ChatImport]:
    return rows.filter(problem_count__gt=0).exclude(status=ChatImport.Status.FAILED)


class ImportFilter(ListFilter):
    state = NamedFilter(
        {
            "active": ("waiting or running", lambda rows: rows.filter(status__in=ChatImport.ACTIVE)),
            "succeeded": ("succeeded", lambda rows: rows.filter(status=ChatImport.Status.SUCCEEDED)),
            "failed": ("failed", lambda rows: rows.filter(status=ChatImport.Status.FAILED)),
            "cancelled": ("cancelled", lambda rows: rows.filter(status=ChatImport.Status.CANCELLED)),
            "problems": ("with problems", _problems),
            "dry": ("dry runs", lambda rows: rows.filter(dry_run=True)),
        }
    )
    sort = SortFilter(
        {
            "": ("uploaded last", ("-created_at", "-id")),
            "oldest": ("uploaded first", ("created_at", "id")),
        }
    )

    def search(self, rows: QuerySet[ChatImport], name: str, value: str) -> QuerySet[ChatImport]:
        """In the learner's name and those of the files."""
        return rows.annotate(names=NAMES).filter(Q(names__icontains=value) | Q(learner__icontains=value))

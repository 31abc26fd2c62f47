"""What is asked of the library, as forms: which documents, which steps. They become the API's request."""

from typing import Any

from django import forms
from django.db.models.functions import Lower
from django.http import QueryDict

from coverage.importers.records import MAX_LEARNER
from coverage.models import Learner
from extraction.documents.extractors import registry
from extraction.documents.ids import is_file_id
from extraction.documents.services import MAKE_PRIMARY, SAVE_VARIANT
from osii.library import methods, staleness
from osii.library.requests import CHOSEN, REPROCESS
from osii.models import Collection, OutputKind

from .documents.listing import TYPES, mimes
from .learner_choice import LearnerChoice

POLICIES = (
    (MAKE_PRIMARY, "Make it primary and preserve the previous version"),
    (SAVE_VARIANT, "Save as another version"),
)
"""In the words that people know these policies by."""

MOST_PATTERNS = 20
STEP_FIELDS = ("extract", "chunks", "embeddings", "synthesis", "enrichment", "propositions")
USUAL_STEPS = {"extract": "missing", "chunks": "on", "embeddings": "on"}
"""What is planned where nobody has chosen yet: what search needs."""


def _styled(form: forms.Form) -> None:
    for name, field in form.fields.items():
        widget = field.widget
        if isinstance(widget, forms.CheckboxInput | forms.RadioSelect):
            widget.attrs["class"] = "form-check-input"
        elif isinstance(widget, forms.Select):
            widget.attrs["class"] = "form-select form-select-sm"
        elif not widget.is_hidden:
            widget.attrs["class"] = "form-control form-control-sm"
        if name in form.errors:
            widget.attrs["aria-invalid"] = "true"
            widget.attrs["aria-describedby"] = f"error-{name}"


def _methods(kind: str) -> list[tuple[str, str]]:
    return [
        (CHOSEN, "yes, by the chosen method"),
        *((name, method.label) for name, method in methods.methods(kind).items()),
    ]


class StepsForm(forms.Form):
    """Which steps are done. ``request_fields`` are the API's."""

    chunks = forms.BooleanField(required=False, label="Search chunks")
    embeddings = forms.BooleanField(required=False, label="Embeddings of the chunks")
    synthesis = forms.ChoiceField(required=False, label="Synthesis")
    enrichment = forms.ChoiceField(required=False, label="Enrichment")
    propositions = forms.BooleanField(required=False, label="Propositions for the learner's graph")
    extractor = forms.ChoiceField(required=False, label="Extractor")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["synthesis"].choices = [("", "none"), *_methods(OutputKind.SYNTHESIS)]
        self.fields["enrichment"].choices = [("", "none"), *_methods(OutputKind.ENRICHMENT)]
        names = [(name, f"{name} {one.version}") for name, one in registry.extractors().items()]
        self.fields["extractor"].choices = [("", "by the table of extractor rules"), *names]
        if not methods.methods(OutputKind.PROPOSITIONS):
            del self.fields["propositions"]
        _styled(self)

    def request_fields(self) -> dict[str, Any]:
        chosen = self.cleaned_data
        return {
            "extractor_name": chosen["extractor"] or registry.AUTO,
            "build_chunks": chosen["chunks"] or chosen["embeddings"],
            "build_embeddings": chosen["embeddings"],
            "synthesizer_name": chosen["synthesis"] or None,
            "enricher_name": chosen["enrichment"] or None,
            "build_propositions": bool(chosen.get("propositions")),
        }


class IntakeForm(LearnerChoice, StepsForm):
    """What is done with files that are added, and whose they are. Their text is extracted in any case."""

    learner = forms.ModelChoiceField(
        Learner.objects.order_by(Lower("name"), "name"), required=False, empty_label="nobody’s: for search only"
    )
    new_learner = forms.CharField(required=False, max_length=MAX_LEARNER, label="Or a new learner")
    path = forms.CharField(required=False, max_length=4000, label="Path on the server")

    def intake_fields(self, paths: list[str]) -> dict[str, Any]:
        return self.request_fields() | {
            "workflow": "intake",
            "run_extraction": True,
            "queue_paths": paths,
            "learner": self.learner_name(),
        }


class PlanForm(StepsForm):
    """The planner: a scope, steps, and how an extraction is upgraded. Kept in the URL."""

    ids = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)
    collection = forms.ModelChoiceField(Collection.objects.all(), required=False, empty_label="any")
    learner = forms.ModelChoiceField(Learner.objects.order_by(Lower("name"), "name"), required=False, empty_label="any")
    type = forms.ChoiceField(
        required=False, choices=[("", "any"), *((name, shown) for name, (shown, _) in TYPES.items())]
    )
    folder = forms.CharField(required=False, max_length=1000)
    names = forms.CharField(
        required=False, max_length=1000, label="File names", help_text="Patterns: *.md, report-??.pdf"
    )
    stale = forms.ChoiceField(
        required=False, label="Stale because", choices=[("", "any"), *((one, one) for one in staleness.STALE_REASONS)]
    )
    failed = forms.BooleanField(required=False, label="Only those at which a step failed last")
    extract = forms.ChoiceField(
        required=False,
        label="Extraction",
        choices=[("", "none"), ("missing", "where there is no text"), (REPROCESS, "Upgrade extraction")],
    )
    policy = forms.ChoiceField(required=False, choices=POLICIES, widget=forms.RadioSelect, initial=MAKE_PRIMARY)
    force = forms.BooleanField(required=False, label="Also what this extractor has made already")

    def clean_ids(self) -> tuple[str, ...]:
        given = [
            one if one.startswith("sha256-") else f"sha256-{one}" for one in self.cleaned_data["ids"].split(".") if one
        ]
        if wrong := next((one for one in given if not is_file_id(one)), None):
            raise forms.ValidationError(f"{wrong[:40]} is not the id of a document.")
        return tuple(dict.fromkeys(given))

    def clean_names(self) -> tuple[str, ...]:
        found = tuple(one.strip() for one in self.cleaned_data["names"].split(",") if one.strip())
        if len(found) > MOST_PATTERNS:
            raise forms.ValidationError(f"At most {MOST_PATTERNS} patterns.")
        return found

    def clean_folder(self) -> str:
        folder = self.cleaned_data["folder"].strip()
        if folder and not folder.startswith("/"):
            raise forms.ValidationError("The whole path of a folder, from / on.")
        return folder

    def scope(self) -> dict[str, Any]:
        chosen = self.cleaned_data
        found = {
            "file_ids": list(chosen["ids"]),
            "collection": str(chosen["collection"].pk) if chosen["collection"] else "",
            "learner": chosen["learner"].name if chosen["learner"] else "",
            "types": list(mimes(chosen["type"])),
            "folder": chosen["folder"],
            "names": list(chosen["names"]),
            "stale": [chosen["stale"]] if chosen["stale"] else [],
            "failed": chosen["failed"],
        }
        found = {name: value for name, value in found.items() if value}
        return found or {"all": True}

    def plan_fields(self) -> dict[str, Any]:
        chosen = self.cleaned_data
        extract = chosen["extract"]
        fields = self.request_fields() | {"workflow": "library", "scope": self.scope(), "run_extraction": bool(extract)}
        if extract:
            fields["extract_mode"] = extract
        if extract == REPROCESS:
            fields |= {"extraction_policy": chosen["policy"] or MAKE_PRIMARY, "force": chosen["force"]}
        return fields


def planned(query: QueryDict) -> QueryDict:
    """The query of a plan: with the usual steps where the address names none and the form was not sent."""
    given = query.copy()
    if "planned" not in given and not any(name in given for name in STEP_FIELDS):
        given.update(USUAL_STEPS)
    if not given.get("policy"):
        given["policy"] = MAKE_PRIMARY
    return given

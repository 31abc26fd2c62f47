"""The form of the search page. Its state is the address of the page."""

from typing import Any

from django import forms
from django.db.models.functions import Lower

from coverage.view import MalformedParts, check_storable
from extraction.documents.ids import is_file_id
from osii.library.run_models import Collection
from osii.library.search.find import HYBRID, LEXICAL, MAX_CHARACTERS, RESULTS, SEMANTIC

from .documents.listing import TYPES, mimes
from .filters import FilterForm, learners


class NameForm(FilterForm):
    """Where documents may not be seen: what is left are things by their titles and ids."""

    q = forms.CharField(
        required=False, max_length=MAX_CHARACTERS, label="Look for", widget=forms.TextInput(attrs={"type": "search"})
    )
    learner = forms.ModelChoiceField(learners(), required=False, empty_label="any")

    def clean_q(self) -> str:
        return _storable(self.cleaned_data["q"])

    def of_documents(self) -> bool:
        return False


class SearchForm(NameForm):
    mode = forms.ChoiceField(
        required=False,
        label="By",
        choices=[("", "both"), (LEXICAL, "words"), (SEMANTIC, "meaning")],
    )
    collection = forms.ModelChoiceField(Collection.objects.order_by(Lower("name")), required=False, empty_label="any")
    type = forms.ChoiceField(
        required=False, choices=[("", "any"), *((name, shown) for name, (shown, _) in TYPES.items())]
    )
    folder = forms.CharField(required=False, max_length=4000)
    document = forms.CharField(required=False, max_length=120, widget=forms.HiddenInput)
    top = forms.TypedChoiceField(
        required=False,
        label="Show",
        coerce=int,
        empty_value=RESULTS,
        choices=[("", str(RESULTS)), (30, "30"), (100, "100")],
    )

    field_order = ("q", "mode", "learner", "collection", "type", "folder", "top", "document")

    def clean_folder(self) -> str:
        return _storable(self.cleaned_data["folder"])

    def clean_document(self) -> str:
        found = self.cleaned_data["document"]
        if found and not is_file_id(found):
            raise forms.ValidationError("This is no document's id.")
        return found

    def scope(self) -> dict[str, Any]:
        """The conditions that are set, as a search takes them."""
        chosen = self.chosen()
        scope = {
            "learner": chosen["learner"].name if "learner" in chosen else None,
            "collection": str(chosen["collection"].pk) if "collection" in chosen else None,
            "folder": chosen.get("folder"),
            "types": list(mimes(chosen["type"])) if "type" in chosen else None,
            "file_ids": [chosen["document"]] if "document" in chosen else None,
        }
        return {name: value for name, value in scope.items() if value}

    def of_documents(self) -> bool:
        """Whether a condition is set that only passages of documents can meet; titles have words, and no meaning to compare."""
        narrowed = {"collection", "type", "folder", "document"} & self.chosen().keys()
        return bool(narrowed) or self.chosen_mode() == SEMANTIC

    def chosen_mode(self) -> str:
        return self.cleaned_data.get("mode") or HYBRID


def _storable(text: str) -> str:
    try:
        check_storable(text, "")
    except MalformedParts:
        raise forms.ValidationError("This text holds characters that cannot be stored.") from None
    return text

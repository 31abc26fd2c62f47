"""Searching everything: chats, propositions, documents and runs by title or id, and the texts of documents."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from extraction.models import Document
from graphctx.embedding import EmbeddingError
from osii.library.requests import BadRequest
from osii.library.search import find
from osii.permissions import ANYTHING, SEE_DOCUMENTS
from osii.web import finding
from osii.web.access import PageRequest, staff_page
from osii.web.listing import render_list
from osii.web.search_forms import NameForm, SearchForm


@require_safe
@staff_page(one_of=ANYTHING)
def search(request: PageRequest) -> HttpResponse:
    passages = request.user.has_perm(SEE_DOCUMENTS)
    form = SearchForm(request.GET) if passages else NameForm(request.GET)
    valid = form.is_valid()
    context: dict[str, Any] = {"form": form, "asked": valid and bool(form.cleaned_data["q"].strip()), "problem": ""}
    context["passages"] = passages
    if valid and (chosen := form.cleaned_data.get("document")):
        context["document"] = Document.objects.filter(pk=chosen).first()
    if context["asked"]:
        context |= _found(form) if isinstance(form, SearchForm) else {}
        if not form.of_documents():
            things = finding.find(form.cleaned_data["q"], form.cleaned_data["learner"], request.user.has_perm)
            context |= {
                "things": things,
                "by_name": sum(len(group.rows) for group in things),
                "learner": form.cleaned_data["learner"],
            }
    return render_list(request, "search/search_page.html", "search/search_results.html", context)


def _found(form: SearchForm) -> dict[str, Any]:
    scope = form.scope()
    try:
        found = find.search(form.cleaned_data["q"], form.chosen_mode(), form.cleaned_data["top"], scope)
    except (BadRequest, EmbeddingError) as error:
        return {"problem": str(error)}
    missing = 0 if found.results else find.without_chunks(find.scope_of(scope))
    rows = [{"result": one, "pieces": _pieces(one)} for one in found.results]
    return {"found": found, "rows": rows, "missing": missing, "scoped": bool(scope)}


def _pieces(result: find.Result) -> list[tuple[str, bool]]:
    """The snippet as (text, whether it matches), for the template to escape."""
    pieces, last = [], 0
    for start, end in result.highlights:
        pieces += [(result.snippet[last:start], False), (result.snippet[start:end], True)]
        last = end
    return [*pieces, (result.snippet[last:], False)]

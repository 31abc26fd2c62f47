"""What a new chat on a topic would be given, and why."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coverage.models import GRAPH_CONTEXT_DEFAULT, Learner
from graphctx.embedding import EmbeddingError
from osii.permissions import SEE_PROPOSITIONS
from osii.web.access import PageRequest, staff_page
from osii.web.context_forms import ContextForm
from osii.web.explain import explain


@require_safe
@staff_page(SEE_PROPOSITIONS)
def context(request: PageRequest) -> HttpResponse:
    """Nothing is recorded: the page may be opened as often as one likes."""
    asked = "topic" in request.GET
    first = Learner.objects.order_by("name").first()
    given = {"budget": GRAPH_CONTEXT_DEFAULT, "learner": first and first.pk, **request.GET.dict()}
    form = ContextForm(given if asked else None)
    shown = {"form": form, "learners": first is not None, "explanation": None, "problem": ""}
    if asked and form.is_valid():
        try:
            shown["explanation"] = explain(**form.cleaned_data)
        except EmbeddingError as error:
            shown["problem"] = str(error)
    return render(request, "context/context_page.html", shown)

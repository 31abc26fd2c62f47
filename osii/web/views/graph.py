"""The graph view: a learner's propositions, chats and documents as a drawing and as a table, and what one chat did to the graph."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from coverage.models import GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP, Chat
from graphctx.models import Kind, Proposition
from graphctx.selection import check_budget
from osii.api.writes import BudgetFixed, change_settings
from osii.permissions import SEE_CHATS, SEE_DOCUMENTS, SEE_PROPOSITIONS
from osii.web.access import PageRequest, get_chat, staff_action, staff_page
from osii.web.graph import (
    Graph,
    as_json,
    graph_around,
    graph_of,
    graph_of_chat,
    graph_of_document,
    sources_with_counts,
)
from osii.web.listing import render_list
from osii.web.proposition_forms import GraphFilter
from osii.web.sessions import session_of


@require_safe
@staff_page(SEE_PROPOSITIONS, SEE_CHATS, SEE_DOCUMENTS)
def graph(request: PageRequest) -> HttpResponse:
    context = _context(request, GraphFilter(request.GET))
    return render_list(request, "graph/graph_page.html", "graph/graph_results.html", context)


@require_safe
@staff_page(SEE_PROPOSITIONS, SEE_CHATS, SEE_DOCUMENTS)
def graph_data(request: PageRequest) -> HttpResponse:
    """The same graph as JSON: what is drawn first, and what a click on a node adds."""
    filters = GraphFilter(request.GET)
    if not filters.is_valid():
        return JsonResponse({"errors": filters.errors}, status=400)
    return JsonResponse(as_json(_graph(filters)))


def _graph(filters: GraphFilter) -> Graph:
    chosen = filters.chosen()
    if "proposition" in chosen:
        return graph_around(chosen["proposition"])
    if "chat" in chosen:
        return graph_of_chat(chosen["chat"])
    if "document" in chosen:
        return graph_of_document(chosen["document"])
    if "learner" not in chosen:  # there is none, or the address names one that is not there
        return graph_of(Proposition.objects.none())
    return graph_of(filters.matched())


def _context(request: PageRequest, filters: GraphFilter) -> dict[str, Any]:
    found = _graph(filters)
    chosen = filters.chosen()
    chat = None if "proposition" in chosen else chosen.get("chat")
    return {
        "form": filters.form,
        "graph": found,
        "sources": sources_with_counts(found),
        "query": request.GET.urlencode(),
        "learner": chosen.get("learner"),
        "around": chosen.get("proposition"),
        "chat": chat,
        "document": None if "proposition" in chosen or chat else chosen.get("document"),
        "session": session_of(chat) if chat else None,
        "kinds": Kind.choices,
        "max_tokens": GRAPH_CONTEXT_MAX_TOKENS,
        "step": GRAPH_CONTEXT_STEP,
        "filtered": bool(chosen.keys() & {"q", "kind", "level", "state"}),
    }


@require_POST
@staff_action("coverage.change_chat", SEE_PROPOSITIONS, SEE_CHATS, SEE_DOCUMENTS)
def graph_budget(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """What the graph may contribute to a chat that has not begun: 0 to 4096 tokens in steps of 128."""
    row = get_chat(chat_id)
    try:
        budget = check_budget(int(request.POST.get("tokens", "")))
    except ValueError:
        said = f"Choose 0 to {GRAPH_CONTEXT_MAX_TOKENS:,} tokens in steps of {GRAPH_CONTEXT_STEP}."
        return _refused(request, row, said, 422)
    try:
        change_settings(row.pk, {"graph_context_tokens": budget})
    except BudgetFixed:
        return _refused(request, row, "The chat has begun: what the graph may contribute is fixed.", 409)
    said = f"The graph may contribute up to {budget:,} tokens." if budget else "The graph contributes nothing."
    messages.success(request, said)
    response = redirect("graph")
    response["Location"] += f"?chat={row.pk}"
    return response


def _refused(request: PageRequest, row: Chat, said: str, status: int) -> HttpResponse:
    messages.error(request, said)
    context = _context(request, GraphFilter(QueryDict(f"chat={row.pk}")))
    return render(request, "graph/graph_page.html", context, status=status)

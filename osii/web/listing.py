"""How every list answers: the whole page, or only its table when htmx asks for that."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from .access import PageRequest

RESULTS = "results"
"""The id of the element that a list's filters and pages replace."""


def render_list(
    request: PageRequest, page: str, table: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """``page`` includes ``table``; both are rendered from the same context. The URL in the address bar stays short."""
    if request.htmx.target != RESULTS or request.htmx.history_restore_request:
        return render(request, page, context, status=status)
    response = render(request, table, context | {"is_fragment": True})
    filters = urlencode([(name, value) for name, value in request.GET.items() if value])
    response.headers["HX-Push-Url"] = f"{request.path}?{filters}" if filters else request.path
    return response

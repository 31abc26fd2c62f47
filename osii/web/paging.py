"""Pages of a list. A page number that does not exist shows the nearest one."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest

PER_PAGE = 50
MESSAGES_PER_PAGE = 200


def page_of(request: HttpRequest, rows: Any, per_page: int = PER_PAGE, *, name: str = "page") -> Page:
    """The page of ``rows`` that the query parameter ``name`` asks for."""
    return Paginator(rows, per_page).get_page(request.GET.get(name))


def page_holding(position: int, per_page: int) -> int:
    """The number of the page that shows the row at ``position`` (from 1)."""
    return max(0, position - 1) // per_page + 1

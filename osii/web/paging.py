"""Pages of a list. A page number that does not exist shows the nearest one."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

PER_PAGE = 50
MESSAGES_PER_PAGE = 200


class BothEnds(Paginator):
    """Counts the rows of a query from the nearer end: a page costs what it skips, so the last is as quick as the first."""

    def page(self, number: int | str) -> Page:
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        last = min(first + self.per_page, self.count)
        if not isinstance(self.object_list, QuerySet) or first < self.count / 2:
            return super().page(number)
        rows = self.object_list.reverse()[self.count - last : self.count - first]
        return self._get_page(list(rows)[::-1], number, self)


def page_of(request: HttpRequest, rows: Any, per_page: int = PER_PAGE, *, name: str = "page") -> Page:
    """The page of ``rows`` that the query parameter ``name`` asks for."""
    return BothEnds(rows, per_page).get_page(request.GET.get(name))


def page_holding(position: int, per_page: int) -> int:
    """The number of the page that shows the row at ``position`` (from 1)."""
    return max(0, position - 1) // per_page + 1

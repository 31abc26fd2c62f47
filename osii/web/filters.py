"""The base of the lists' filters: FilterSets of django-filter whose state is the URL, and the pieces that they share.

A parameter that a list does not know is ignored. A value that is not allowed is named beside its field and filters nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import django_filters
from django import forms
from django.db.models import QuerySet
from django.db.models.expressions import OrderBy
from django.db.models.functions import Lower

from coverage.models import Learner

NO_FILTERS = frozenset({"sort", "mode"})
"""Parameters that change how a list is shown, not what is in it."""


class FilterForm(forms.Form):
    """Filters from the query string, as fields of a narrow form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            kind = "form-select" if isinstance(field, forms.ChoiceField | forms.ModelChoiceField) else "form-control"
            field.widget.attrs |= {"class": f"{kind} {kind}-sm", "id": f"filter-{name}"}
            if name in self.errors:
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"error-{name}"}
        if "q" in self.fields:
            self.fields["q"].widget.attrs["data-shortcut"] = "/"

    def chosen(self) -> dict[str, Any]:
        """The valid values that filter something."""
        return {name: value for name, value in self.cleaned_data.items() if value}


def learners() -> QuerySet[Learner]:
    """In the order of a menu."""
    return Learner.objects.order_by(Lower("name"), "name")


def learner_filter(field_name: str = "learner", **more: Any) -> django_filters.ModelChoiceFilter:
    return django_filters.ModelChoiceFilter(
        field_name, **{"queryset": learners(), "label": "Learner", "empty_label": "any"} | more
    )


def choice_filter(choices: Any, label: str, **more: Any) -> django_filters.ChoiceFilter:
    """One of ``choices``, or any."""
    return django_filters.ChoiceFilter(**{"choices": choices, "label": label, "empty_label": "any"} | more)


class NamedFilter(django_filters.ChoiceFilter):
    """Conditions by name: value → (label, the function that gives those rows that meet it). The value "" is what holds where
    nobody chose; without it, that is all rows.
    """

    def __init__(self, named: Mapping[str, tuple[str, Callable[[Any], Any]]], label: str = "State") -> None:
        named = {"": ("any", lambda rows: rows)} | dict(named)
        choices = [(value, shown) for value, (shown, _) in named.items() if value]
        super().__init__(choices=choices, label=label, empty_label=named[""][0])
        self.named = named

    def filter(self, qs: Any, value: str | None) -> Any:
        return self.named[value or ""][1](qs)


class SortFilter(django_filters.ChoiceFilter):
    """Orders by name: value → (label, arguments of ``order_by``). The value "" is the order of a list that nobody sorted."""

    def __init__(self, orders: Mapping[str, tuple[str, tuple[Any, ...]]]) -> None:
        choices = [(value, label) for value, (label, _) in orders.items() if value]
        super().__init__(choices=choices, label="Sort by", empty_label=orders[""][0])
        self.orders = {value: order for value, (_, order) in orders.items()}

    def filter(self, qs: Any, value: str | None) -> Any:
        return qs.order_by(*self.orders[value or ""])

    def descends(self, value: str) -> bool:
        """Whether this order begins with the largest."""
        first = self.orders[value][0]
        return first.descending if isinstance(first, OrderBy) else isinstance(first, str) and first.startswith("-")


class ListFilter(django_filters.FilterSet):
    """A list's filters; ``qs`` are its rows. A subclass says in ``search`` where ``q`` is looked for."""

    q = django_filters.CharFilter(
        method="search", label="Search", max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )

    class Meta:
        form = FilterForm

    def search(self, rows: Any, name: str, value: str) -> Any:
        raise NotImplementedError

    def filter_queryset(self, queryset: Any) -> Any:
        """Every filter is asked, also one without a value that is allowed: it may have a default."""
        for name, one in self.filters.items():
            queryset = one.filter(queryset, self.form.cleaned_data.get(name))
        return queryset

    def chosen(self) -> dict[str, Any]:
        """The valid values that are set, by name."""
        return self.form.chosen()

    @property
    def filtered(self) -> bool:
        return bool(self.chosen().keys() - NO_FILTERS)

    def kept(self) -> list[tuple[str, str]]:
        """The valid filters as names and values, for hidden fields and links."""
        return [(name, self.data[name]) for name in self.chosen()]

    def query(self, *, without: str = "", **more: Any) -> str:
        """The valid filters as a query string, for links back into the same list."""
        kept = [(name, value) for name, value in self.kept() if name != without]
        return urlencode([*kept, *((name, value) for name, value in more.items() if value)])

    def given(self) -> str:
        """All that was asked for as a query string, allowed or not: what acts on "all of these" must know."""
        return urlencode([(name, self.data[name]) for name in self.filters if self.data.get(name)])

    def context(self) -> dict[str, Any]:
        """What the templates of a list need of its filters."""
        return {"form": self.form, "filterset": self, "filtered": self.filtered, "filters": self.given()}

"""Acting on many rows of a list: those that are ticked, or all that its filters let through, after a page has said what happens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict

from .filters import ListFilter

EVERYTHING, FILTERS = "everything", "filters"
"""Fields of a bulk form: the box for all rows of all pages, and the list's query string."""
NAMED = 5
"""So many of the chosen rows are named before it is confirmed."""

Key = Any
"""What names a row: its primary key, or for a list of several kinds "kind:key"."""


@dataclass(frozen=True, slots=True)
class Doer:
    """Who confirmed, and the reason that was given, if the action asks for one."""

    user: User
    reason: str = ""

    @property
    def name(self) -> str:
        return self.user.get_username()


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do with rows. Doing it twice does nothing the second time.

    ``effect`` is said before it is done; ``do`` takes the keys and returns sentences on what came of it. ``permission``
    is "app.codename". ``reason`` labels a field that must be filled in, ``counts`` says in numbers what the effect is on these keys.
    """

    name: str
    label: str
    icon: str
    permission: str
    effect: str
    do: Callable[[Sequence[Key], Doer], list[str]]
    reason: str = ""
    danger: bool = False
    counts: Callable[[Sequence[Key]], str] = lambda _: ""

    @property
    def one_of(self) -> tuple[str, ...]:
        """One of these is needed."""
        return (self.permission,)

    def allowed(self, user: User) -> bool:
        return any(user.has_perm(one) for one in self.one_of)


def print_of(keys: Sequence[Key]) -> str:
    """What a confirmation stands for: these rows, in whatever order. As many others have another one."""
    return sha256("\n".join(sorted(map(str, keys))).encode()).hexdigest()[:32]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _filtered(filterset: Callable[[QueryDict], ListFilter], query: QueryDict, most: int) -> list[Key]:
    """A filter that is not valid lets nothing through: acting on more than was looked at is worse than on nothing."""
    chosen = filterset(query)
    return list(chosen.qs.values_list("pk", flat=True)[:most]) if chosen.is_valid() else []


@dataclass(frozen=True, slots=True)
class Bulk:
    """What can be done with a list's rows. ``most`` is done at once; ``named`` gives titles for keys; ``field`` names the boxes
    of rows in the form."""

    name: str
    nouns: tuple[str, str]
    most: int
    actions: tuple[Action, ...]
    named: Callable[[Sequence[Key]], list[str]]
    filterset: Callable[[QueryDict], ListFilter] | None = None
    field: str = "pick"
    key: Callable[[str], Key | None] = _uuid
    all_keys: Callable[[QueryDict, User, int], list[Key]] | None = None
    seen: Callable[[User, Key], bool] = lambda *_: True

    def keys(self, data: QueryDict, user: User) -> list[Key]:
        """The keys that a form chose and the account may see, one more than ``most`` where there are more."""
        if not data.get(EVERYTHING):
            found = (self.key(one) for one in dict.fromkeys(data.getlist(self.field)))
            return [one for one in found if one is not None and self.seen(user, one)][: self.most + 1]
        query = QueryDict(data.get(FILTERS, ""))
        if self.all_keys:
            return self.all_keys(query, user, self.most + 1)
        return _filtered(self.filterset, query, self.most + 1) if self.filterset else []

    def action(self, name: str) -> Action | None:
        return next((one for one in self.actions if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Offer:
    """The bar below a list: what this account may do with its rows."""

    name: str
    nouns: tuple[str, str]
    actions: list[Action]


def offer(bulk: Bulk, user: User) -> Offer | None:
    """None where the account may do nothing."""
    allowed = [one for one in bulk.actions if one.allowed(user)]
    return Offer(bulk.name, bulk.nouns, allowed) if allowed else None

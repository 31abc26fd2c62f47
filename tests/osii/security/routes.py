"""Every route of the project, found by asking the resolver: what is added later is attacked too."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

ABSENT = {"uuid": "0190a000-0000-7000-8000-000000000001", "int": "1", "str": "x", "slug": "x", "path": "x"}
_PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")


@dataclass(frozen=True, slots=True)
class Route:
    """A route with its parameters filled in; ``template`` still has them."""

    path: str
    template: str
    view: Callable[..., Any]

    @property
    def of_api(self) -> bool:
        return self.path.startswith("/api/")


def every_route(values: Mapping[str, str] | None = None) -> list[Route]:
    """Each route once. ``values`` fill parameters by name; the others stand for what is not there."""
    return list(_below(get_resolver().url_patterns, "/", values or {}))


def _below(patterns: list[Any], before: str, values: Mapping[str, str]) -> Iterator[Route]:
    for pattern in patterns:
        template = before + _readable(str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _below(pattern.url_patterns, template, values)
        elif isinstance(pattern, URLPattern):
            path = _PARAMETER.sub(lambda found: values.get(found[2], ABSENT[found[1] or "str"]), template)
            yield Route(path, template, pattern.callback)


def _readable(part: str) -> str:
    """Routes that are regular expressions, as a path."""
    part = re.sub(r"\(\?P<(\w+)>[^)]*\)\??", r"<\1>", part).removeprefix("^").removesuffix("$").removesuffix("/?")
    return part.replace("\\", "")

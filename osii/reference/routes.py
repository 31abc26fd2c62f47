"""``docs/routes.md``: the routes of the HTTP API, as its OpenAPI schema describes them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from osii import groups

from .words import one_line, table

Schema = Mapping[str, Any]

HEAD = """# Routes

The HTTP API route by route: what it takes, what it answers, and who may call it. What a client must know beyond that is in [the HTTP
API](api.md); the same with a form to try each route is at `/api/docs`. This page is written by `make reference` from the API's own schema; a
test keeps it true.

Every route needs a bearer token. *A learner* means the token of the learner whose row it is, or one for staff; *staff* means a token for
staff only. A staff token that acts for an account needs the *permission* too, which the account has from its
[groups](operations.md#accounts-and-groups): *from* names the least of the four that holds it. Errors are [problems](api.md#errors); 429 and 503 may come from any route.

"""
PAGES = """
## Pages

What each page and action of the dashboard needs of an account. *From* is the least of the four groups that holds it, as they are made;
`styleguide` is for superusers beside.

"""
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
EVERYWHERE = {"401", "403", "422"}
LIMITS = (
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minimum", "from {}"),
    ("maximum", "to {}"),
    ("multipleOf", "in steps of {}"),
    ("minItems", "at least {} of them"),
    ("maxItems", "at most {} of them"),
)


def page() -> str:
    """The whole page as Markdown."""
    from osii.api.routes import api

    described = json.loads(json.dumps(api.get_openapi_schema(), default=str))
    operations = [
        (method.upper(), path, operation)
        for path, several in described["paths"].items()
        for method, operation in several.items()
    ]
    index = table(
        ("route", "", "for", "permission", "from"),
        [
            (
                f"[{method} {path}](#{_anchor(f'{method} {path}')})", one["summary"], _callers(one),
                _all_of(one["x-permissions"]), _least(one["x-permissions"]),
            )
            for method, path, one in operations
        ],
    )  # fmt: skip
    pages = table(("page or action", "address", "permission", "from"), list(_pages()))
    routes = "".join(_route(*operation) for operation in operations)
    shapes = "".join(
        f"\n### {name}\n\n{''.join(_shape(shape))}"
        for name, shape in sorted(described["components"]["schemas"].items())
    )
    return f"{HEAD}{index}{routes}\n## Shapes\n{shapes}{PAGES}{pages}"


def _pages() -> Iterator[tuple[str, ...]]:
    """Each route of the dashboard with what it needs."""
    from osii.web.access import needs_of
    from osii.web.urls import urlpatterns

    for route in urlpatterns:
        if hasattr(route.callback, "needs"):
            name = str(route.name)
            needs = needs_of(name)
            said = [_all_of(needs.every)] if needs.every else []
            if needs.one_of:
                said.append("one of " + ", ".join(f"`{one}`" for one in needs.one_of))
            address = PARAMETER.sub(r"{\1}", str(route.pattern))
            yield name, f"`/{address}`", " and ".join(said), _least(needs.every, needs.one_of)


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(f"`{one}`" for one in names)


def _least(every: Sequence[str], one_of: Sequence[str] = ()) -> str:
    """The least group that holds all of ``every``, and of ``one_of`` one."""
    rank = groups.ORDER.index
    any_of_them = [min(map(groups.first_with, one_of), key=rank)] if one_of else []
    return max([*map(groups.first_with, every), *any_of_them], key=rank)


def _route(method: str, path: str, operation: Schema) -> str:
    fine = {status: answer for status, answer in operation["responses"].items() if int(status) < HTTPStatus.BAD_REQUEST}
    wrong = [status for status in operation["responses"] if status not in fine and status not in EVERYWHERE]
    lines = [
        f"\n## {method} {path}\n\n**{operation['summary']}.** {one_line(operation['description'])}\n",
        f"\nFor {_callers(operation)}.",
        *(f" {status}: {_content(answer)}." for status, answer in fine.items()),
        f" Errors: {', '.join(sorted({*wrong, *EVERYWHERE}))}.\n",
    ]
    given = [
        (f"`{one['name']}`", one["in"], _needed(one["schema"], one["required"]), _type(one["schema"]), _says(one))
        for one in operation.get("parameters", [])
    ]
    if given:
        lines += ["\n", table(("parameter", "in", "default", "a value is", ""), given)]
    if "requestBody" in operation:
        body = _content(operation["requestBody"])
        lines.append(f"\nBody{'' if operation['requestBody'].get('required') else ' (may be left out)'}: {body}.\n")
    return "".join(lines)


def _callers(operation: Schema) -> str:
    return str(operation.get("x-callers", "a learner"))


def _content(holder: Schema) -> str:
    ((kind, content),) = holder["content"].items()
    said = _type(content["schema"])
    return said if kind == "application/json" else f"{said} as `{kind}`"


def _shape(shape: Schema) -> Iterator[str]:
    if described := shape.get("description"):
        yield f"{one_line(described)}\n\n"
    required = shape.get("required", [])
    yield table(
        ("field", "default", "a value is", ""),
        [
            (f"`{name}`", _needed(one, name in required), _type(one), _says(one))
            for name, one in shape.get("properties", {}).items()
        ],
    )
    if "properties" not in shape:
        yield f"{_type(shape)}\n"


def _needed(schema: Schema, required: bool) -> str:  # noqa: FBT001 - as the schema says it
    if required:
        return "required"
    default = schema.get("default")
    return "" if default is None or default == "" else f"`{default}`"


def _type(schema: Schema) -> str:
    """What a value of the schema must be, in words and with links to shapes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[several]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    return ", ".join([_kind(schema), *(words.format(schema[name]) for name, words in LIMITS if name in schema)])


def _kind(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping) and schema["additionalProperties"]:
        return f"object of {_type(schema['additionalProperties'])}"
    if kind == "object" and "properties" in schema:
        return "object with " + ", ".join(f"`{name}`" for name in schema["properties"])
    if kind == "string":
        return {"uuid": "UUID", "date-time": "time (ISO 8601)", "binary": "bytes"}.get(schema.get("format", ""), "text")
    return {"integer": "whole number", "number": "number", "boolean": "true or false"}.get(kind, str(kind))


def _says(one: Schema) -> str:
    return str(one.get("description", ""))


def _anchor(title: str) -> str:
    """How GitHub names a heading."""
    return "".join(sign for sign in title.lower() if sign.isalnum() or sign in "-_ ").replace(" ", "-")

"""Reading request bodies: JSON only, and every way in which it can be wrong is an answer, not a failure."""

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from .problems import Problem

MOST_BRACKETS = 1_000_000
"""A list or an object that takes three bytes of a body takes a hundred of memory, and many bodies are read at once. Those that
stand in texts count too: it is quicker to count all."""


class JsonParser(Parser):
    """The body of a typed route."""

    def parse_body(self, request: HttpRequest) -> Any:
        return read_json(request)


def read_json(request: HttpRequest) -> Any:
    """The body as JSON. Raises Problem: 415 for another content type, 413 for too many lists and objects, 400 for what is
    not JSON; and RequestDataTooBig."""
    kind = request.content_type or ""
    if request.body and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise Problem(
            415,
            f"Send application/json, not {kind or 'a body without a type'}.",
            headers={"Accept": "application/json"},
        )
    if request.body.count(b"[") + request.body.count(b"{") > MOST_BRACKETS:
        raise Problem(
            413, f"The body holds more than {MOST_BRACKETS:,} lists and objects. Send it in several requests."
        )
    try:
        return json.loads(request.body)
    except json.JSONDecodeError as error:
        what = "The body is empty" if not request.body else f"The body is not JSON: {error.msg}"
        raise Problem(400, f"{what} at line {error.lineno}, column {error.colno}.") from None
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8 at byte {error.start}.") from None
    except RecursionError:
        raise Problem(400, "The body is nested too deeply.") from None
    except ValueError:
        raise Problem(400, "The body holds a number with too many digits.") from None

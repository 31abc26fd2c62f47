"""Errors of the API: RFC 9457 ``application/problem+json``, never a traceback and never a page."""

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 20
MAX_TEXT = 500
RETRY_SECONDS = 2


class Problem(Exception):
    """An answer that is an error. ``errors`` are ``{"in", "path", "message"}``, plus ``"allowed"`` where it helps."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})


def field_error(path: str, message: str, *, where: str = "body", allowed: Any = None) -> dict[str, Any]:
    """One entry of ``errors``: a place in the request, as in ``messages[2].parts[0].text``, and what is wrong there."""
    error = {"in": where, "path": path, "message": shorten(message)}
    return error if allowed is None else error | {"allowed": allowed}


def invalid(errors: Iterable[Mapping[str, Any]]) -> Problem:
    """422 for these field errors; its detail is the first of them."""
    errors = list(errors)
    first = errors[0]
    place = f"{first['path']}: " if first["path"] else ""
    return Problem(422, f"{place}{first['message']}", errors=errors)


def shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def problem_response(
    status: int,
    detail: str = "",
    *,
    errors: Iterable[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """``{type, title, status, detail?, errors?}``; at most MAX_ERRORS errors are listed."""
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = shorten(detail)
    if listed := list(errors)[:MAX_ERRORS]:
        body["errors"] = listed
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=dict(headers or {}))


def install(api: NinjaAPI) -> None:
    """Answer every exception of the API's routes with a problem."""
    api.add_exception_handler(Problem, _problem)
    api.add_exception_handler(ValidationError, _validation)
    api.add_exception_handler(AuthenticationError, _no_token)
    api.add_exception_handler(HttpError, _http)
    api.add_exception_handler(Http404, _missing)
    api.add_exception_handler(ObjectDoesNotExist, _missing)
    api.add_exception_handler(RequestDataTooBig, _too_big)
    api.add_exception_handler(UnreadablePostError, _cut_off)
    api.add_exception_handler(OperationalError, _away)
    api.add_exception_handler(Exception, _unexpected)


def _problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return problem_response(error.status, error.detail, errors=error.errors, headers=error.headers)


def _no_token(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem_response(
        401,
        "A bearer token is needed: Authorization: Bearer osii_…",
        headers={"WWW-Authenticate": 'Bearer realm="osii"'},
    )


def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    # What the body's parser raised arrives wrapped.
    if isinstance(error.__cause__, Problem):
        return _problem(request, error.__cause__)
    return problem_response(error.status_code, str(error))


def _missing(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem_response(404, "It does not exist, or it is not yours to see.")


def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    _read_away(request, 4 * limit)
    return problem_response(413, f"A request body may have {limit // 2**20} MB at most; send fewer messages at a time.")


def _read_away(request: HttpRequest, most: int) -> None:
    """Take what the client is still sending: one that cannot finish sending never reads the answer."""
    with contextlib.suppress(UnreadablePostError):
        while most > 0 and (chunk := request.read(2**16)):
            most -= len(chunk)


def _cut_off(request: HttpRequest, error: UnreadablePostError) -> HttpResponse:
    return problem_response(400, "The request body ended early.")


def _away(request: HttpRequest, error: OperationalError) -> HttpResponse:
    logger.error("%s %s: the database did not answer: %s", request.method, request.path, error)
    return problem_response(503, "The database did not answer; try again.", headers={"Retry-After": str(RETRY_SECONDS)})


def _unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.exception("%s %s failed", request.method, request.path)
    return problem_response(500, "Something unexpected went wrong; it was logged.")


def _validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
    problem = invalid([_field_error(item) for item in error.errors])
    return _problem(request, problem)


def _field_error(item: Mapping[str, Any]) -> dict[str, Any]:
    """One of pydantic's errors. Its location is (source, argument for a body, keys and indexes…)."""
    source, *keys = item["loc"]
    if source == "body":
        keys = keys[1:]
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        message = "there is no such field"
    return field_error(_path(keys), message, where=str(source), allowed=(item.get("ctx") or {}).get("allowed"))


def _path(keys: Iterable[Any]) -> str:
    path = ""
    for key in keys:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
    return path

"""What holds for every answer under ``/api/``, whoever gave it: a route, the resolver or a middleware further in."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from osii.ops import audit

from .problems import MEDIA_TYPE, problem_response

ROOT = "/api/"


class ApiMiddleware:
    """Errors are problem+json, nothing is kept by a cache, and what a staff token changes is on record."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(ROOT):
            return self.get_response(request)
        response = _without_length(request) or self.get_response(request)
        if response.status_code >= 400 and response.headers.get("Content-Type") != MEDIA_TYPE:
            kept = {name: value for name, value in response.headers.items() if name == "Allow"}
            response = problem_response(response.status_code, _DETAILS.get(response.status_code, ""), headers=kept)
        response.headers.setdefault("Cache-Control", "no-store")
        audit.record_call(request, response.status_code)
        return response


def _without_length(request: HttpRequest) -> HttpResponse | None:
    """Where no length is given, Django reads nothing, and each route would say that something is missing."""
    if "chunked" not in request.headers.get("Transfer-Encoding", "").lower():
        return None
    return problem_response(411, "Send the body with a Content-Length, not in chunks.")


_DETAILS = {
    404: "There is no such route; /api/docs lists them.",
    405: "This route does not take this method.",
}

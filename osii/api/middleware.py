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
        response = self.get_response(request)
        if not request.path_info.startswith(ROOT):
            return response
        if response.status_code >= 400 and response.headers.get("Content-Type") != MEDIA_TYPE:
            kept = {name: value for name, value in response.headers.items() if name == "Allow"}
            response = problem_response(response.status_code, _DETAILS.get(response.status_code, ""), headers=kept)
        response.headers.setdefault("Cache-Control", "no-store")
        audit.record_call(request, response.status_code)
        return response


_DETAILS = {
    404: "There is no such route; /api/docs lists them.",
    405: "This route does not take this method.",
}

"""What every request gets: probes and metrics before anything else, and an id that its log lines carry."""

import re
import secrets
from collections.abc import Callable

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_header_parameters

from . import logs

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)

LOGIN, LOGIN_BYTES = "login", 64 * 1024
"""The one form that anybody may send."""
FORM_BYTES = 4 * 2**20
"""Every other form. Looking for its token reads the whole body, of whoever sent it and with files in it; what takes more
(uploads, the API) is exempt from that look and asks first who it is."""
SAFE = {"GET", "HEAD", "OPTIONS", "TRACE"}

Answer = Callable[..., HttpResponse]


class Request(WSGIRequest):
    """A request whose address and forms are UTF-8, as our pages send them, whatever charset it names.

    Django would take any that Python knows: zlib and idna are among them, and reading an address by these fails before
    there is anything that could answer.
    """

    def _set_content_type_params(self, meta: dict[str, str]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


class OperationsMiddleware:
    """The first of all: a probe is answered whatever Host it names, and never redirected to HTTPS."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        identity = given if _ID.fullmatch(given) else secrets.token_hex(8)
        with logs.bound(request=identity):
            response = self._answer(request)
        response.headers[HEADER] = identity
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response

    def process_view(
        self, request: HttpRequest, view: Answer, _arguments: tuple, _parameters: dict
    ) -> HttpResponse | None:
        """Before the middleware that would read it: a body that is too long for a form."""
        if request.method in SAFE or getattr(view, "csrf_exempt", False):
            return None
        match = request.resolver_match
        most = LOGIN_BYTES if match and match.view_name == LOGIN else FORM_BYTES
        if _length(request) <= most:
            return None
        return HttpResponse(f"A form may have {most:,} bytes at most.\n", status=413, content_type="text/plain")

    def _answer(self, request: HttpRequest) -> HttpResponse:
        from . import metrics, probes  # the apps are loaded by now

        own = {"/healthz": probes.healthz, "/readyz": probes.readyz, "/metrics": metrics.metrics}
        view = own.get(request.path_info)
        return self.get_response(request) if view is None else view(request)


def _length(request: HttpRequest) -> int:
    """What the client says that the body is long; gunicorn passes no more of it on."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def address_of(request: HttpRequest) -> str:
    """Where a request came from: behind OSII_PROXIES proxies, what the outermost of them saw. Others can write the header
    too, so only as many entries are believed as there are proxies."""
    direct = request.META.get("REMOTE_ADDR", "")
    if settings.OSII_PROXIES:
        hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
        if len(hops) >= settings.OSII_PROXIES:
            return hops[-settings.OSII_PROXIES][:45]
    return direct

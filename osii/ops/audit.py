"""The record of what staff do, in dashboard, admin and API: who, which route, on which ids, and whether it was done.

Contents of forms and bodies are not kept. The admin's own history (`LogEntry`) says which fields were changed; commands name
their user in what they write.
"""

import ipaddress
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest, HttpResponse

from osii.models import ApiToken, StaffAction

from .requests import address_of

logger = logging.getLogger(__name__)

SAFE = {"GET", "HEAD", "OPTIONS"}
READS = {"POST /api/context", "POST /api/search", "POST /api/resolve", "POST /api/resolve/documents"}
"""Calls that have a body and change nothing."""
NAMED_BY_CLIENTS = {"message_id"}
"""Ids that may say something of a person, in a record that outlives them."""
CHARACTERS, IDS_CHARACTERS = 200, 20_000
"""Of one value, and of the ids of an action on many rows: those of 500."""


def acted_on(request: HttpRequest, keys: Iterable[Any], **more: object) -> None:
    """What the request is about to be done to, where its route does not say it: ids of rows, or "kind:id"."""
    ids = [":".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in keys]
    request.acted_on = {"ids": ", ".join(ids), "rows": len(ids)} | more  # type: ignore[attr-defined]


def record(request: HttpRequest, status: int, arguments: dict[str, Any]) -> None:
    """Append a line for a request that may have changed something; one that was refused is a line too."""
    if request.method in SAFE:
        return
    match = request.resolver_match
    action = match.view_name if match and match.view_name else request.path_info
    arguments = arguments | getattr(request, "acted_on", {})
    _append(request, status, arguments, action=action, username=request.user.get_username(), user_id=request.user.pk)


def record_call(request: HttpRequest, status: int) -> None:
    """The same for a call of the API. A learner's token is no staff: what it does is not kept here."""
    caller, match = getattr(request, "auth", None), request.resolver_match
    if request.method in SAFE or match is None or not isinstance(caller, ApiToken) or not caller.staff:
        return
    if (action := call_of(request)) not in READS:
        _append(request, status, match.kwargs, action=action, username=caller.actor)


def call_of(request: HttpRequest) -> str:
    """The call as the API's schema names it: "GET /api/chats/{chat_id}"; "" without a route."""
    match = request.resolver_match
    route = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", match.route) if match else ""
    return f"{request.method} /{route}" if route else ""


class AdminRecordMiddleware:
    """Puts on record what is done in the admin, the pages of the queues among it: neither has to think of it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        match = request.resolver_match
        if (
            match is not None
            and match.app_names[:1] == ["admin"]
            and request.method not in SAFE
            and request.user.is_staff
        ):
            # The body of what was refused may be one that nobody wanted to read.
            chosen = _chosen(request) if response.status_code < 400 else {}
            record(request, response.status_code, match.kwargs | chosen)
        return response


def _chosen(request: HttpRequest) -> dict[str, object]:
    """The action on a list, and the ids of the rows that were ticked for it; or that it was for all rows of the list.

    A list has one form above and one below it: every action that was named is told, for either may be the one that was done.
    """
    actions = list(dict.fromkeys(filter(None, request.POST.getlist("action"))))
    ticked = request.POST.getlist("_selected_action")
    told: dict[str, object] = {"action": ", ".join(actions)} if actions else {}
    if request.POST.get("select_across", "").lower() not in {"", "0", "false"}:
        return told | {"ids": "all of the list"}
    return told | ({"ids": ", ".join(ticked), "rows": len(ticked)} if ticked else {})


def _append(request: HttpRequest, status: int, arguments: dict[str, Any], *, username: str, **more: Any) -> None:
    about = {name: _storable(name, value) for name, value in arguments.items() if name not in NAMED_BY_CLIENTS}
    address, action = _address(request), more.pop("action")[:100]
    try:
        with transaction.atomic():
            StaffAction.objects.create(
                username=username[:150], action=action, about=about, status=status, address=address, **more
            )
    except (DatabaseError, InterfaceError) as error:
        # What was done is done; an answer that says otherwise would be wrong.
        logger.error("What %s did at %s is not on record: %s", username, request.path, error)


def _storable(name: str, value: object) -> str:
    """What the database refuses written out: nobody keeps an act off the record by a character in its form."""
    text = str(value)[: IDS_CHARACTERS if name == "ids" else CHARACTERS]
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _address(request: HttpRequest) -> str | None:
    try:
        return str(ipaddress.ip_address(address_of(request)))
    except ValueError:
        return None  # a socket has none

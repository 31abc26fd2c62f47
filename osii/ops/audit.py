"""The record of what staff do in the dashboard: who, which route, on which ids, and whether it was done.

Contents of forms are not kept. The admin keeps its own (`LogEntry`), commands name their user in what they write.
"""

import ipaddress
import logging
from typing import Any

from django.db import DatabaseError, transaction
from django.http import HttpRequest

from osii.models import StaffAction

from .requests import address_of

logger = logging.getLogger(__name__)

SAFE = {"GET", "HEAD", "OPTIONS"}


def record(request: HttpRequest, status: int, arguments: dict[str, Any]) -> None:
    """Append a line for a request that may have changed something; one that was refused is a line too."""
    if request.method in SAFE:
        return
    match = request.resolver_match
    try:
        with transaction.atomic():
            StaffAction.objects.create(
                user_id=request.user.pk,
                username=request.user.get_username(),
                action=match.view_name if match and match.view_name else request.path_info[:100],
                about={name: str(value)[:200] for name, value in arguments.items()},
                status=status,
                address=_address(request),
            )
    except DatabaseError as error:
        # What was done is done; a page that says otherwise would be wrong.
        logger.error("What %s did at %s is not on record: %s", request.user.get_username(), request.path, error)


def _address(request: HttpRequest) -> str | None:
    try:
        return str(ipaddress.ip_address(address_of(request)))
    except ValueError:
        return None  # a socket has none

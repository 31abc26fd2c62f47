"""The page of what an account may not do: which permission is missing, which groups hold it, and whom to ask."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from osii import permissions
from osii.permissions import Lacking


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's answer to PermissionDenied, wherever it was raised."""
    context: dict[str, Any] = {"exception": str(exception)}
    if isinstance(exception, Lacking):
        context |= {
            "lacking": permissions.named(exception.permissions),
            "any_of_them": exception.any_of_them,
            "holders": permissions.holders(exception.permissions, any_of_them=exception.any_of_them),
            "mine": permissions.groups_of(request.user),
            "ask": permissions.superusers(),
        }
    return render(request, "403.html", context, status=403)

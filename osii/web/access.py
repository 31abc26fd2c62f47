"""Who may see a page and act on it, and the one way to find an object by its id.

Every page is for staff accounts that hold the permissions it names; `needs_of` tells them by the name of its route.
An expired session answers an htmx request with a redirect of the whole page, so that no login form appears inside a
fragment.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, resolve_url
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from coverage.models import Chat
from extraction.documents.ids import is_file_id
from extraction.documents.versions import met_on_disk
from extraction.models import Batch, Candidate, Document, Resolution
from graphctx.models import Proposition
from osii.ops import audit
from osii.permissions import Needs

View = Callable[..., HttpResponseBase]


class PageRequest(HttpRequest):
    """What a page's view receives: a request with what django-htmx adds."""

    htmx: HtmxDetails
    user: User


def staff_page(*every: str, one_of: Sequence[str] = (), otherwise: View | None = None) -> Callable[[View], View]:
    """Let staff in who hold ``every`` permission ("app.codename") and one of ``one_of``; send anonymous people to log in,
    others away (403), or have ``otherwise`` answer staff who lack what is needed.
    """
    if not all(isinstance(name, str) for name in every) or not (every or one_of):
        raise TypeError("staff_page names the permissions that its page needs: @staff_page(SEE_CHATS)")
    needs = Needs(every, tuple(one_of))

    def decorate(view: View) -> View:
        def checked(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if otherwise is not None and not needs.allow(request.user):
                return otherwise(request, *args, **kwargs)
            needs.require(request.user)
            return view(request, *args, **kwargs)

        @wraps(view)
        def guarded(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                response = _to_login(request)
            elif not request.user.is_staff:
                raise PermissionDenied("These pages are for staff accounts.")
            else:
                response = _on_record(checked, request, *args, **kwargs)
            patch_vary_headers(response, ("HX-Request",))
            response.headers.setdefault("Cache-Control", "private, no-store")
            return response

        guarded.needs = needs  # type: ignore[attr-defined]
        return guarded

    return decorate


def staff_action(permission: str, *seen: str) -> Callable[[View], View]:
    """A staff page that changes something: ``permission`` to do it, and ``seen`` for what its answer shows."""
    return staff_page(permission, *seen)


@cache
def _all_needs() -> dict[str, Needs]:
    from .urls import urlpatterns  # which imports the views, and they this module

    return {str(route.name): route.callback.needs for route in urlpatterns if hasattr(route.callback, "needs")}


def needs_of(name: str) -> Needs:
    """What the route of this name needs. Raises KeyError for a name that no route has."""
    return _all_needs()[name]


def _on_record(view: View, request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """The view's answer, with a line in the record of staff actions if it was asked to change something."""
    try:
        response = view(request, *args, **kwargs)
    except PermissionDenied:
        audit.record(request, 403, kwargs)
        raise
    audit.record(request, response.status_code, kwargs)
    return response


def _to_login(request: PageRequest) -> HttpResponseBase:
    """Log in, then come back to the page that the person was looking at."""
    if not request.htmx:
        # A form that was posted cannot be replayed; its page can be shown again.
        here = request.get_full_path() if request.method == "GET" else resolve_url("home")
        return redirect_to_login(here)
    page = request.htmx.current_url_abs_path or resolve_url("home")
    return HttpResponseClientRedirect(redirect_to_login(page).url)


def get_chat(chat_id: UUID) -> Chat:
    return get_object_or_404(Chat.objects.select_related("learner"), pk=chat_id)


def get_batch(batch_id: UUID) -> Batch:
    return get_object_or_404(Batch.objects.select_related("chat__learner", "document__learner", "run"), pk=batch_id)


def get_candidate(candidate_id: UUID) -> Candidate:
    return get_object_or_404(
        Candidate.objects.select_related("batch__chat__learner", "batch__document__learner"), pk=candidate_id
    )


def get_resolution(resolution_id: UUID) -> Resolution:
    sources = ("candidate__batch__chat__learner", "candidate__batch__document__learner")
    rows = Resolution.objects.select_related(*sources, "proposition", "target")
    return get_object_or_404(rows, pk=resolution_id)


def get_proposition(proposition_id: UUID) -> Proposition:
    return get_object_or_404(Proposition.objects.select_related("learner"), pk=proposition_id)


def get_document(file_id: str) -> Document:
    """One that only the store knows yet is registered by this first look at it."""
    if not is_file_id(file_id):  # a NUL, for one, is no value that the database could look for
        raise Http404
    rows = Document.objects.select_related("primary", "learner")
    found = rows.filter(pk=file_id).first()
    if met_on_disk(file_id, found):
        found = rows.filter(pk=file_id).first()
    if found is None:
        raise Http404
    return found

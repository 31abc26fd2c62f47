"""Who calls, and what that token opens: a learner's token opens that learner's rows and nothing else; a staff token opens
those of all learners, as far as the account that it acts for may.

Every row that a route touches is found through a function of this module; what is not the caller's does not exist for
the caller.
"""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja.security import HttpBearer

from coverage.models import Chat, Learner
from coverage.services import get_or_create_learner
from extraction.documents.ids import is_file_id
from extraction.documents.versions import met_on_disk
from extraction.models import Document
from graphctx.models import Proposition
from osii import permissions, tokens
from osii.models import ApiToken
from osii.ops import audit, limits
from osii.ops.requests import address_of

from .permissions import NEEDS
from .problems import Problem, field_error, invalid

FOR_STAFF = {"x-callers": "staff"}
"""``openapi_extra`` of a route that calls `staff_only`: the schema and the reference say who may call it."""


class ApiRequest(HttpRequest):
    """What a route receives: a request whose token is valid."""

    auth: ApiToken


class Bearer(HttpBearer):
    """``Authorization: Bearer osii_…``"""

    def __call__(self, request: HttpRequest) -> ApiToken | None:
        # Not the library's own reading, which writes the header to the log in debug mode.
        scheme, _, token = request.headers.get(self.header, "").partition(" ")
        return self.authenticate(request, token.strip()) if scheme.lower() == self.openapi_scheme else None

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        try:
            found = tokens.authenticate(token)
        except tokens.InvalidToken as error:
            _not_so_fast(limits.wait_after_wrong_token(address_of(request)), "Too many wrong tokens from this address.")
            challenge = f'Bearer realm="osii", error="invalid_token", error_description="{error}"'
            detail = f"{str(error).capitalize()}."
            raise Problem(401, detail, headers={"WWW-Authenticate": challenge}) from None
        _not_so_fast(limits.wait_for_api(str(found.pk)), "Too many calls under this token.")
        request.auth = found  # type: ignore[attr-defined]  # also what is refused now is put on record as this token's
        _permitted(request, found)
        return found


def _permitted(request: HttpRequest, token: ApiToken) -> None:
    """Raises Problem 403 when the account that a staff token acts for lacks what the call needs."""
    if token.account is None:
        return
    needs = NEEDS.get(audit.call_of(request))
    if needs is None:
        raise Problem(403, "This is closed to tokens of accounts.")
    if not (missing := needs.missing(token.account)):
        return
    held = permissions.holders(missing)
    who = f"held by {', '.join(held)}" if held else "held by no group"
    what = f"the permission{'s' if missing[1:] else ''} {' and '.join(missing)}"
    raise Problem(403, f"This needs {what}, {who}; the token acts for the account {token.account.get_username()}.")


def _not_so_fast(wait: int, detail: str) -> None:
    """Raises Problem 429 when there is something to wait for, in seconds."""
    if wait:
        raise Problem(429, f"{detail} Try again in {wait} s.", headers={"Retry-After": str(wait)})


def find_chat(request: ApiRequest, chat_id: UUID) -> Chat:
    """The chat with its learner, if the token opens it. Raises Problem 404."""
    found = _own(request, Chat.objects.select_related("learner")).filter(pk=chat_id).first()
    if found is None:
        raise Problem(404, f"There is no chat {chat_id}.")
    return found


def find_proposition(request: ApiRequest, proposition_id: UUID) -> Proposition:
    """The proposition with its learner, if the token opens it. Raises Problem 404."""
    found = own_propositions(request).filter(pk=proposition_id).first()
    if found is None:
        raise Problem(404, f"There is no proposition {proposition_id}.")
    return found


def own_propositions(request: ApiRequest) -> QuerySet[Proposition]:
    return _own(request, Proposition.objects.select_related("learner"))


def find_document(request: ApiRequest, file_id: str) -> Document:
    """The document with its learner and primary, if the token opens it. Raises Problem 404.

    One that only the store knows yet is registered by this first look at it.
    """
    # A NUL, for one, is no value that the database could look for.
    found = own_documents(request).filter(pk=file_id).first() if is_file_id(file_id) else None
    if met_on_disk(file_id, found):
        found = own_documents(request).filter(pk=file_id).first()
    if found is None:
        raise Problem(404, f"There is no document {file_id[:100]!r}.")
    return found


def own_documents(request: ApiRequest) -> QuerySet[Document]:
    return _own(request, Document.objects.select_related("learner", "primary"))


def staff_only(request: ApiRequest) -> None:
    """Raises Problem 403 for a learner's token: the library is run by staff."""
    if not request.auth.staff:
        raise Problem(403, "This needs a token for staff.")


def _own(request: ApiRequest, rows: QuerySet) -> QuerySet:
    return rows if request.auth.staff else rows.filter(learner=request.auth.learner_id)


def find_learner(request: ApiRequest, name: str | None, *, where: str = "body", make: bool = False) -> Learner:
    """The learner that a request is about: the token's own, or for staff the one it names.

    With ``make`` a new name makes a learner. Raises Problem: 403 for another's name, 422 when staff name none, 404.
    """
    if not request.auth.staff:
        if name not in (None, request.auth.learner.name):
            raise Problem(403, "This token is for one learner, and not for the one that was named.")
        return request.auth.learner
    if name is None:
        raise invalid([field_error("learner", "a staff token must name the learner", where=where)])
    if make:
        return get_or_create_learner(name)
    found = Learner.objects.filter(name=name).first()
    if found is None:
        raise Problem(404, f"There is no learner {name!r}.")
    return found

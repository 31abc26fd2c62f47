"""The route that searches documents."""

from django.http import HttpResponse
from ninja import Router

from coverage.models import Learner
from graphctx.embedding import EmbeddingError
from osii.library.requests import BadRequest
from osii.library.search import find

from .auth import ApiRequest
from .openapi import problems
from .problems import Problem, field_error, invalid
from .search_schemas import SearchIn, SearchOut
from .shapes import reply

router = Router(tags=["documents"])


@router.post("/search", response={200: SearchOut, **problems(403, 503, body=True)}, summary="Search in documents")
def search(request: ApiRequest, body: SearchIn) -> HttpResponse:
    """Passages of documents, best first, each with its place in the text. A learner's token searches that learner's
    documents. The scope holds before anything is ranked.
    """
    scope = body.scope.model_dump(exclude_none=True) if body.scope else {}
    try:
        found = find.search(body.query, body.mode, body.top_k, scope, learner=_only(request, scope.get("learner")))
    except BadRequest as error:
        raise invalid([field_error(error.field, str(error), allowed=list(error.allowed) or None)]) from None
    except EmbeddingError as error:
        raise Problem(503, f"No search by meaning is possible now: {error}") from None
    return reply(found.to_dict())


def _only(request: ApiRequest, name: str | None) -> Learner | None:
    """The learner whose documents the token opens; None for staff, which it opens all. Raises Problem 403."""
    if request.auth.staff:
        return None
    if name not in (None, request.auth.learner.name):
        raise Problem(403, "This token is for one learner, and not for the one that was named.")
    return request.auth.learner

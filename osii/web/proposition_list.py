"""What the propositions list shows: one page of ids by its filters, or the nearest by meaning with their similarity."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.paginator import Page

from graphctx.embedding import EmbeddingError
from graphctx.models import Proposition
from osii import propositions

from .access import PageRequest
from .paging import page_of
from .proposition_forms import MEANING, PropositionFilter


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of propositions. ``problem`` says why a search by meaning could not be made, ``note`` what it left out."""

    page: Page
    by_meaning: bool = False
    problem: str = ""
    note: str = ""
    similarity: dict[UUID, float] = field(default_factory=dict)


def listing(request: PageRequest, form: PropositionFilter) -> Listing:
    """The page that the request asks for; ``form`` has been validated. A fixed number of queries."""
    chosen = form.chosen()
    mode, sort = chosen.pop("mode", ""), chosen.pop("sort", "newest")
    if mode != MEANING:
        rows = propositions.matching(Proposition.objects.all(), **chosen)
        return Listing(_filled(page_of(request, propositions.ids_in_order(rows, sort))))
    if "q" not in chosen or "learner" not in chosen:  # the form says what is missing
        return Listing(page_of(request, []), by_meaning=True)
    return _by_meaning(request, chosen)


def _by_meaning(request: PageRequest, chosen: dict[str, Any]) -> Listing:
    text, learner = chosen.pop("q"), chosen["learner"]
    rows = propositions.matching(Proposition.objects.all(), **chosen)
    try:
        similarity = propositions.nearest(rows, learner, text)
        missing = propositions.without_vector(learner)
    except EmbeddingError as error:
        return Listing(page_of(request, []), by_meaning=True, problem=f"{str(error).capitalize()}.")
    note = ""
    if missing:
        note = (
            f"{missing:,} of {learner.name}’s live propositions {'has' if missing == 1 else 'have'} no vector yet and "
            "cannot be found by meaning: run `manage.py backfill_embeddings`."
        )
    page = _filled(page_of(request, list(similarity)))
    for row in page.object_list:
        row.similarity = similarity[row.pk]
    return Listing(page, by_meaning=True, note=note, similarity=similarity)


def _filled(page: Page) -> Page:
    page.object_list = propositions.detailed(page.object_list)
    return page

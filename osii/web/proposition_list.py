"""What the propositions list shows: one page of ids by its filters, or the nearest by meaning with their similarity."""

from dataclasses import dataclass, field
from uuid import UUID

from django.core.paginator import Page
from django.db.models import QuerySet

from coverage.models import Learner
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


def listing(request: PageRequest, chosen: PropositionFilter) -> Listing:
    """The page that the request asks for. A fixed number of queries."""
    asked = chosen.chosen()
    if asked.get("mode") != MEANING:
        return Listing(_filled(page_of(request, chosen.qs)))
    if "q" not in asked or "learner" not in asked:  # the form says what is missing
        return Listing(page_of(request, []), by_meaning=True)
    return _by_meaning(request, chosen.matched("q"), asked["learner"], asked["q"])


def _by_meaning(request: PageRequest, rows: QuerySet[Proposition], learner: Learner, text: str) -> Listing:
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

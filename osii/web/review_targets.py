"""The propositions that a decision may be about: the nearest ones with what the auditor says, or those found by words."""

from dataclasses import dataclass
from typing import Any

from extraction.merging import resolving
from extraction.models import Candidate
from graphctx.embedding import EmbeddingError
from graphctx.models import Proposition

from .review import found_propositions


@dataclass(frozen=True, slots=True)
class Target:
    """One proposition to choose. ``similarity`` is None for one that was found by words."""

    proposition: Proposition
    similarity: float | None = None
    verdict: str = ""
    reason: str = ""
    chosen: bool = False


def targets_of(candidate: Candidate, *, find: str, chosen: str | None) -> dict[str, Any]:
    """``targets``, ``find``, and ``not_searched``: why the nearest ones are not known. ``chosen`` is what was picked."""
    learner = candidate.batch.learner
    if learner is None:
        return {"find": "", "targets": [], "not_searched": "The document has no learner any more."}
    if find:
        found = found_propositions(learner, find)
        return {"find": find, "targets": [Target(row, chosen=str(row.pk) == chosen) for row in found]}
    try:
        nominated = resolving.nominations(candidate)
    except EmbeddingError as error:
        return {
            "find": "",
            "targets": [],
            "not_searched": f"Nothing was searched by meaning: {error}. Find one by words.",
        }
    targets = [
        Target(one.proposition, one.similarity, one.verdict, one.reason, chosen=str(one.proposition.pk) == chosen)
        for one in nominated
    ]
    return {"find": "", "targets": targets}

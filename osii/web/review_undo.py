"""What taking a decision back would do, in sentences that name the numbers. Nothing is changed here."""

from django.contrib.auth.models import User

from coverage.words import counted
from extraction.merging import resolving
from extraction.models import Resolution
from graphctx.models import Link

from . import review

SHOWN = 120


def why_not(resolution: Resolution, user: User) -> str:
    """Why a decision cannot be taken back, or empty."""
    standing = resolution.candidate.resolutions.order_by("-created_at", "-pk").first()
    if standing != resolution:
        return review.who_was_faster(resolution.candidate, user)
    if resolution.outcome in Resolution.OPEN:
        return "There is nothing to take back: this candidate waits for a decision."
    return ""


def effects(resolution: Resolution) -> list[str]:
    """One sentence per effect of taking the resolution back. A fixed number of queries."""
    if resolution.outcome not in Resolution.MERGED:
        return ["The candidate is no longer rejected and waits for a decision again. Nothing of it is in the graph."]
    claim = _quoted(resolution.proposition.text)
    gone = resolving.brought_by(resolution.candidate, resolution.proposition_id)
    left = resolution.proposition.instances.filter(live=True).exclude(pk__in=[row.pk for row in gone]).count()
    said = [f"{counted(len(gone), 'piece')} of evidence {'is' if len(gone) == 1 else 'are'} withdrawn from {claim}."]
    if not left:
        said.append(f"{claim} is left without evidence: no chat is offered it any more.")
    links = Link.objects.filter(resolution=resolution.pk, withdrawn_at=None).select_related("target")
    for link in links:
        if link.type == Link.Type.SUPERSEDES:
            said.append(f"{_quoted(link.target.text)} is no longer superseded by it, and is offered again.")
        elif link.type == Link.Type.CONTRADICTS:
            said.append(f"It no longer stands against {_quoted(link.target.text)}.")
    return [*said, "The candidate waits for a decision again. Nothing is deleted: both decisions stay in the history."]


def _quoted(text: str) -> str:
    """A claim inside a sentence: shortened, and without a stop of its own."""
    return f"“{text.rstrip('.') if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}”"

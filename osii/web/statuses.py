"""How each status is shown: one icon, one word, one tone, and what it means. Never by colour alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extraction import selectors
from extraction.models import Batch, ExtractionVersion, Resolution, Run
from graphctx.models import Level, Proposition, Steer
from osii.intake import foreseeing
from osii.models import ChatImport, ProcessingItem, ProcessingRun, ProcessingStep


@dataclass(frozen=True, slots=True)
class Status:
    """``tone`` is one of good, busy, wait, warn, bad, quiet: a colour pair in the style sheet."""

    word: str
    icon: str
    tone: str
    help: str = ""


UNKNOWN = Status("unknown", "question-circle", "quiet")

MESSAGE = {
    selectors.COVERED: Status("covered", "check-circle-fill", "good", "Read as it stands now."),
    selectors.UNCOVERED: Status("uncovered", "circle", "wait", "Not read yet."),
    selectors.REOPENED: Status(
        "re-opened",
        "arrow-counterclockwise",
        "warn",
        "Read before, and to be read again: it changed, or was asked for.",
    ),
    selectors.PARKED: Status(
        "parked", "pause-circle-fill", "bad", "Its batch failed too often and waits for a decision."
    ),
    selectors.UNSETTLED: Status("unsettled", "hourglass-split", "quiet", "Still being written."),
    selectors.IN_FLIGHT: Status("in flight", "arrow-repeat", "busy", "Being read now."),
    selectors.EMPTY: Status("nothing to extract", "dash-circle", "quiet", "Has no text or tool parts."),
}

RUN = {
    Run.Status.QUEUED: Status("queued", "clock", "wait", "Waits for a worker."),
    Run.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    Run.Status.SUCCEEDED: Status("succeeded", "check-circle-fill", "good"),
    Run.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
    Run.Status.ABORTED: Status("aborted", "stop-circle", "quiet"),
}

BATCH = {
    Batch.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    Batch.Status.SUCCEEDED: Status("succeeded", "check-circle-fill", "good"),
    Batch.Status.FAILED: Status("failed, to be retried", "x-circle-fill", "warn"),
    Batch.Status.PARKED: Status("parked", "pause-circle-fill", "bad", "Failed too often; automatic runs go around it."),
    Batch.Status.ABORTED: Status("aborted", "stop-circle", "quiet"),
}

OUTCOME = {
    Resolution.Outcome.NEW: Status("new", "plus-circle-fill", "good", "Became a proposition."),
    Resolution.Outcome.SAME: Status("same", "link-45deg", "good", "Added evidence to a known proposition."),
    Resolution.Outcome.SUPERSEDES: Status("supersedes", "arrow-clockwise", "busy", "Replaces an older proposition."),
    Resolution.Outcome.CONTRADICTS: Status("contradicts", "arrow-left-right", "warn", "Stands against another one."),
    Resolution.Outcome.DISCARD: Status("discarded", "slash-circle", "quiet"),
    Resolution.Outcome.PENDING: Status("pending", "clock", "wait", "Waits for a decision."),
    Resolution.Outcome.UNDONE: Status("undone", "arrow-counterclockwise", "wait", "Taken back; waits for a decision."),
}

# What the auditor makes of a claim beside one proposition.
VERDICT = {
    "same": Status("the same", "link-45deg", "good", "Accepting adds evidence to it."),
    "replaces": Status("replaced by it", "arrow-clockwise", "busy", "Accepting supersedes it."),
    "contradicts": Status("contradicted by it", "arrow-left-right", "warn", "Accepting links the two."),
    "other": Status("another claim", "circle", "quiet", "Accepting leaves it as it is."),
}

LEVEL = {
    Level.SOLID: Status("solid", "patch-check-fill", "good", "The learner can build on it."),
    Level.SHAKY: Status("shaky", "exclamation-triangle-fill", "warn", "The learner holds it uncertainly."),
    Level.RESISTED: Status("resisted", "shield-x", "bad", "The learner objects to it."),
    Level.NOT_YET_ENGAGED: Status("not yet engaged", "circle", "quiet", "No evidence of the learner yet."),
    Level.ACCEPTED: Status("accepted", "hand-thumbs-up", "busy", "The learner took it in."),
}

PROPOSITION = {
    Proposition.State.LIVE: Status("live", "check-circle-fill", "good"),
    Proposition.State.SUPERSEDED: Status("superseded", "arrow-clockwise", "quiet"),
    Proposition.State.FORGOTTEN: Status("forgotten", "slash-circle", "quiet"),
}

LINK = {
    "supersedes": Status("supersedes", "arrow-clockwise", "busy", "Takes the place of the other."),
    "superseded_by": Status("superseded by", "arrow-clockwise", "quiet", "The other took its place."),
    "contradicts": Status("contradicts", "arrow-left-right", "warn", "Both stand, and cannot both be right."),
    "follows": Status("follows", "arrow-right", "quiet", "Was said after the other in a chat."),
    "followed_by": Status("followed by", "arrow-right", "quiet", "The other was said after it in a chat."),
}

VERSION = {
    ExtractionVersion.Status.SUCCEEDED: Status("succeeded", "check-circle-fill", "good"),
    ExtractionVersion.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
}

STEER = {
    Steer.Status.PREPARING: Status("being prepared", "arrow-repeat", "busy"),
    Steer.Status.READY: Status("ready to deliver", "clock", "wait"),
    Steer.Status.OFFERED: Status("offered", "arrow-right", "wait", "Sent to the client, not acknowledged yet."),
    Steer.Status.DELIVERED: Status("delivered", "check-circle-fill", "good"),
    Steer.Status.EMPTY: Status("nothing to offer", "dash-circle", "quiet"),
    Steer.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
}

IMPORT = {
    ChatImport.Status.QUEUED: Status("queued", "clock", "wait", "Waits for a worker."),
    ChatImport.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    ChatImport.Status.SUCCEEDED: Status("succeeded", "check-circle-fill", "good"),
    ChatImport.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
    ChatImport.Status.CANCELLED: Status("cancelled", "stop-circle", "quiet"),
}

# What became of a conversation, or of a line of old checkpoints, in an import.
IMPORTED = {
    "new": Status("new", "plus-circle-fill", "good", "Was not here before."),
    "changed": Status("changed", "arrow-clockwise", "busy", "Was here, and its messages or title changed."),
    "unchanged": Status("unchanged", "check-lg", "quiet", "Was here as it is."),
    "empty": Status("empty", "dash-circle", "quiet", "Nothing was said in it; nothing is stored."),
    "older": Status("older copy", "clock-history", "quiet", "The same import has a newer copy of it."),
    "failed": Status("failed", "x-circle-fill", "bad", "Nothing of it was imported; the problem says why."),
    "covered": Status("covered", "check-circle-fill", "good", "Its messages count as read."),
    "already": Status("already", "check-lg", "quiet", "It or a later one was imported before."),
    "nothing": Status("nothing", "dash-circle", "quiet", "Everything up to this moment was covered."),
    "pending": Status("pending", "clock", "wait", "Its chat would be new, so a dry run cannot tell."),
    "problem": Status("problems", "exclamation-triangle-fill", "warn", "Something was not imported."),
}

PROCESSING = {
    ProcessingRun.Status.QUEUED: Status("queued", "clock", "wait", "Waits for a worker."),
    ProcessingRun.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    ProcessingRun.Status.PAUSED: Status("paused", "pause-circle-fill", "wait", "Goes on when somebody resumes it."),
    ProcessingRun.Status.SUCCEEDED: Status("succeeded", "check-circle-fill", "good"),
    ProcessingRun.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
    ProcessingRun.Status.CANCELLED: Status("cancelled", "stop-circle", "quiet"),
}

ITEM = {
    ProcessingItem.Status.QUEUED: Status("waiting", "clock", "wait"),
    ProcessingItem.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    ProcessingItem.Status.SUCCEEDED: Status("done", "check-circle-fill", "good"),
    ProcessingItem.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
    ProcessingItem.Status.BLOCKED: Status("blocked", "slash-circle", "quiet", "It was skipped; the reason says why."),
    ProcessingItem.Status.CANCELLED: Status("cancelled", "stop-circle", "quiet"),
}

STEP = {
    ProcessingStep.Status.RUNNING: Status("running", "arrow-repeat", "busy"),
    ProcessingStep.Status.SUCCEEDED: Status("done", "check-circle-fill", "good"),
    ProcessingStep.Status.CURRENT: Status("was current", "check-lg", "quiet", "There was nothing to do."),
    ProcessingStep.Status.FAILED: Status("failed", "x-circle-fill", "bad"),
    ProcessingStep.Status.BLOCKED: Status("not done", "slash-circle", "quiet", "What it needs was not there."),
}

# What adding a file would do.
FORESEEN = {
    foreseeing.NEW: Status("new", "plus-circle-fill", "good", "These bytes are not in the library."),
    foreseeing.KNOWN: Status("known", "check-lg", "quiet", "The same bytes are a document already."),
    foreseeing.REPLACES: Status("replaces", "arrow-clockwise", "busy", "Its path names an older document so far."),
    foreseeing.CHATS: Status("chat export", "chat-left-text", "wait", "Is imported as chats, not as a document."),
    foreseeing.REFUSED: Status("not taken", "slash-circle", "warn"),
    foreseeing.UNREAD: Status("to be read", "hourglass-split", "wait", "Too many to compare before they are added."),
}

# A number of a plan.
PLAN = {
    "eligible": Status("eligible", "play-fill", "busy", "This run would do it; stale ones are among them."),
    "current": Status("current", "check-circle-fill", "good", "There is nothing to do."),
    "stale": Status("stale", "exclamation-triangle-fill", "warn", "Made before, and to be made again."),
    "missing": Status("not made yet", "circle", "wait"),
    "blocked": Status("blocked", "slash-circle", "quiet", "What it needs is not there; the reason says what."),
    "in progress": Status("in progress", "arrow-repeat", "busy", "Waits or is done in a run that is active now."),
}

# What was made of a document by one method, and what it is worth now.
OUTPUT = {
    "current": Status("current", "check-circle-fill", "good", "Made as it is wanted now, of the text in force."),
    "stale": Status("stale", "exclamation-triangle-fill", "warn", "Something it was made of or by has changed."),
    "missing": Status("not made yet", "circle", "wait"),
    "blocked": Status("blocked", "slash-circle", "quiet", "What it needs is not there."),
    "failed": Status("failed", "x-circle-fill", "bad"),
    "old": Status("old", "clock-history", "quiet"),
}

# Flags that a row may carry beside or instead of a status of its own.
FLAG = {
    "due": Status("due", "bookmark-check", "wait", "Enough unread tokens for an automatic run."),
    "primary": Status("primary", "star-fill", "busy", "The version in force."),
    "in_force": Status("text in force", "check-circle-fill", "good"),
    "replaced": Status("source file changed", "clock-history", "warn", "Its path names a newer document by now."),
    "no_primary": Status("no text in force", "file-earmark-x", "bad"),
    "newest_failed": Status("last extraction failed", "x-circle-fill", "warn"),
    "run_failed": Status("last run failed", "x-circle-fill", "bad"),
    "all_read": Status("all read", "check2-all", "good"),
    "no_evidence": Status("no live evidence", "exclamation-triangle-fill", "warn", "Its quotes no longer stand."),
    "evidence_gone": Status("quote no longer stands", "exclamation-triangle-fill", "warn"),
    "more_evidence": Status("more evidence", "link-45deg", "quiet", "It was known before."),
    "withdrawn": Status("withdrawn", "arrow-counterclockwise", "quiet", "The merge that brought it was undone."),
    "older_prompt": Status(
        "older prompt", "clock-history", "warn", "Extracted with an older prompt than the one in force."
    ),
    "found_nothing": Status("found nothing", "dash-circle", "quiet", "Read to the end; nothing worth keeping."),
    "online": Status("online", "hdd-network", "good"),
    "busy": Status("working", "arrow-repeat", "busy"),
    "offline": Status("offline", "wifi-off", "bad"),
    "right": Status("right", "check-lg", "good"),
    "wrong": Status("wrong", "x-lg", "bad"),
    "unanswered": Status("not answered yet", "question-circle", "wait"),
    "error": Status("error", "exclamation-octagon-fill", "bad"),
    "denied": Status("denied", "ban", "bad"),
    "dry_run": Status("dry run", "eye", "quiet", "Nothing is stored; it only reports what would be."),
    "some_failed": Status("some failed", "exclamation-triangle-fill", "warn", "Retry the failed ones on its page."),
    "problems": Status("with problems", "exclamation-triangle-fill", "warn", "Something was not imported."),
    "deferred": Status("deferred", "clock", "quiet", "Somebody looked at it and put it off."),
    "cited": Status("cited", "chat-quote", "wait", "The claim stands on this message."),
    "changed_since": Status("changed since", "exclamation-triangle-fill", "warn", "Shown as it was read."),
    "left_transcript": Status(
        "no longer in the transcript", "exclamation-triangle-fill", "warn", "Shown as it was read."
    ),
    "writing": Status("being written", "hourglass-split", "quiet"),
}

FAMILIES: dict[str, Mapping[Any, Status]] = {
    "message": MESSAGE,
    "run": RUN,
    "batch": BATCH,
    "outcome": OUTCOME,
    "verdict": VERDICT,
    "level": LEVEL,
    "proposition": PROPOSITION,
    "link": LINK,
    "version": VERSION,
    "steer": STEER,
    "import": IMPORT,
    "imported": IMPORTED,
    "output": OUTPUT,
    "processing": PROCESSING,
    "item": ITEM,
    "step": STEP,
    "foreseen": FORESEEN,
    "plan": PLAN,
    "flag": FLAG,
}


def status_of(family: str, value: str) -> Status:
    """The status of ``value`` in ``family`` (a key of FAMILIES); an unknown value is shown as unknown."""
    return FAMILIES[family].get(value, UNKNOWN)

"""The whole way from turns to drafts: `draft_claims` is what the worker calls."""

from collections.abc import Callable

from extraction.claims import quiz, said, taught
from extraction.claims.cues import cues_for, matches
from extraction.claims.language import detect_language
from extraction.claims.levels import quizzed, react, restate, verdict_on
from extraction.claims.model import RESISTED, Draft, Turn
from extraction.claims.rank import chosen, merged, worthy
from extraction.claims.retracted import without_retracted


def main_language(turns: list[Turn], hint: str | None = None) -> str:
    """The language of the whole conversation: what a single short message falls back on."""
    return detect_language("\n".join(turn.said for turn in turns), hint or "und")


def is_project(turns: list[Turn], fallback: str) -> bool:
    """Whether the learner speaks about something of their own and nobody is quizzed: then "must" sets a limit."""
    if any(part.quiz is not None for turn in turns for part in turn.parts):
        return False
    return any(matches(cues_for(fallback).owned, turn.said) for turn in turns if turn.speaker == "user")


def _turn_drafts(turn: Turn, fallback: str, verdict: str | None, earlier: list[Draft], *, project: bool) -> list[Draft]:
    """The drafts of one message, in the order of its parts; quizzes also move the level of earlier facts."""
    found: list[Draft] = []
    for number, part in enumerate(turn.parts):
        if part.quiz is not None:
            made = quiz.draft_from(turn, part, fallback)
            drafts = [] if made is None else [made[0]]
            if made is not None:
                quizzed(earlier + [one for one in found if one.kind == "fact"], *made)
        elif turn.speaker == "assistant":
            drafts = taught.drafts_from_part(turn, part, fallback)
        else:
            drafts = said.drafts_from_part(turn, part, fallback, verdict, project=project)
        for draft in drafts:
            draft.order += number * 1_000_000
        found += drafts
    return found


def draft_claims(turns: list[Turn], hint: str | None = None, step: Callable[[], None] = lambda: None) -> list[Draft]:
    """The best of what is in a batch's messages, oldest first, at most `CANDIDATES`; see `find_claims`."""
    return chosen(find_claims(turns, hint, step))


def find_claims(turns: list[Turn], hint: str | None = None, step: Callable[[], None] = lambda: None) -> list[Draft]:
    """Everything worth keeping in a batch's messages, however much that is.

    `step` is called before each message. Levels follow the order of the talk, so the latest evidence stands.
    """
    fallback = main_language(turns, hint)
    project = is_project(turns, fallback)
    drafts: list[Draft] = []
    explained: list[Draft] = []
    just_explained: list[Draft] = []
    disputed: list[Draft] = []
    for index, turn in enumerate(turns):
        step()
        verdict = verdict_on(turns, index, fallback) if turn.speaker == "user" else None
        if turn.speaker == "user":
            react(just_explained, disputed, turn, fallback)
            disputed = [draft for draft in just_explained if draft.understanding == RESISTED]
            restate(explained, turn, fallback, verdict)
        found = _turn_drafts(turn, fallback, verdict, explained, project=project)
        drafts += found
        if turn.speaker == "assistant":
            just_explained = merged([draft for draft in found if draft.origin == "explanation"])
            explained += just_explained
    return worthy(without_retracted(drafts, turns))

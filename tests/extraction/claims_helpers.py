"""Conversations for the tests of the claims functions, and what these make of them."""

import json
from typing import Any

from extraction.claims.model import Draft, Part, Turn
from extraction.claims.pipeline import draft_claims

SAID_AT = "2026-03-04T10:00:00+00:00"  # a Wednesday


def quiz_part(position: int, part: int, question: str, correct: bool, **more: Any) -> Part:
    """An answered quiz as the environment stores it: the result's text is its output, the call's text its input."""
    given = {"question": question} | more.get("input", {})
    got = {"correct": correct} | more.get("output", {})
    compact = {"ensure_ascii": False, "sort_keys": True, "separators": (",", ":")}
    return Part(
        f"r{position}.{part}",
        json.dumps(got, **compact),
        {"name": "quiz", "input": given, "output": got},
        f"c{position}.{part}",
        json.dumps(given, **compact),
    )


def turn(position: int, speaker: str, *said: str | Part, said_at: str | None = SAID_AT) -> Turn:
    parts = tuple(
        Part(f"m{position}.{number}", one) if isinstance(one, str) else one for number, one in enumerate(said)
    )
    return Turn(position, speaker, said_at, parts)


def talk(*said: tuple[str, str]) -> list[Turn]:
    """Turns from ("user" | "assistant", text) pairs, positions from 1."""
    return [turn(position, speaker, text) for position, (speaker, text) in enumerate(said, start=1)]


def drafts(*said: tuple[str, str]) -> list[Draft]:
    return draft_claims(talk(*said))


def claims(*said: tuple[str, str], kind: str | None = None) -> list[str]:
    return [draft.claim for draft in drafts(*said) if kind in {None, draft.kind}]


def explained(text: str) -> list[str]:
    """The claims in one explanation."""
    return claims(("assistant", text))


def stated(text: str) -> list[tuple[str, str]]:
    """(kind, claim) of what a learner says."""
    return [(draft.kind, draft.claim) for draft in drafts(("user", text))]


def level(found: list[Draft], words: str) -> str | None:
    """The level of the one draft whose claim holds these words."""
    (draft,) = [draft for draft in found if words in draft.claim]
    return draft.understanding

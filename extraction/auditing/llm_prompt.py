"""What a model is asked about the claims of a batch, and the shape of its answer."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from .model import GraphView, Nominee, Question

VERSION = "audit_v1"
"""Names the file in ``extraction/prompts``. Changed words are a new file with a new name."""
TOOL = "decide_claims"
OUTCOMES = ("same", "supersedes", "contradicts", "new", "discard")
LONGEST_REASON = 300
FENCE = "graph-data"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["decisions"],
    "properties": {
        "decisions": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["claim", "outcome", "target", "reason"],
                "properties": {
                    "claim": {"type": "string", "description": "The id of the claim, such as c1."},
                    "outcome": {"type": "string", "enum": list(OUTCOMES)},
                    "target": {
                        "type": ["string", "null"],
                        "description": "An id from the claim's own list near, such as p3; null for new and discard.",
                    },
                    "reason": {"type": "string", "description": "One short sentence."},
                },
            },
        }
    },
}


@cache
def instructions() -> str:
    return (Path(__file__).resolve().parent.parent / "prompts" / f"{VERSION}.md").read_text(encoding="utf-8").strip()


@dataclass(slots=True)
class Asked:
    """The message, and what its short ids stand for: claims by id, and what was offered to each by id."""

    text: str
    claims: dict[str, int] = field(default_factory=dict)
    offered: list[dict[str, Nominee]] = field(default_factory=list)


def ask(questions: Sequence[Question], view: GraphView) -> Asked:
    """Propositions once each under a short id, then the claims with those that may be meant, nearest first."""
    own = {question.claim.id: f"c{number}" for number, question in enumerate(questions, 1)}
    names: dict[UUID, str] = {}
    listed: list[dict[str, Any]] = []
    asked = Asked("", {name: index for index, name in enumerate(own.values())})
    lines = []
    for question in questions:
        near: dict[str, Nominee] = {}
        for nominee in _shown(question, view, own):
            if nominee.id not in own and nominee.id not in names:
                names[nominee.id] = f"p{len(names) + 1}"
                listed.append(_line(names[nominee.id], nominee) | {"state": str(nominee.state)})
            near[own.get(nominee.id) or names[nominee.id]] = nominee
        asked.offered.append(near)
        lines.append(_line(own[question.claim.id], question.claim) | {"near": list(near)})
    body = "\n".join(["propositions:", *map(_json, listed), "claims:", *map(_json, lines)])
    mark = hashlib.blake2b(body.encode(), digest_size=6).hexdigest()
    asked.text = f"Decide about {len(lines)} claims.\n\n<{FENCE}-{mark}>\n{body}\n</{FENCE}-{mark}>"
    return asked


def _shown(question: Question, view: GraphView, own: dict[UUID, str]) -> list[Nominee]:
    """All of a graph that is shown whole; else the nearest, and the earlier claims of the batch."""
    if view.whole:
        return list(question.nominees)
    graph = [nominee for nominee in question.nominees if nominee.id not in own]
    return [*graph[: settings.OSII_AUDIT_NEAREST], *(nominee for nominee in question.nominees if nominee.id in own)]


def _line(name: str, told: Any) -> dict[str, Any]:
    return {
        "id": name,
        "kind": str(told.kind),
        "said": told.said_at.isoformat(timespec="minutes") if told.said_at else None,
        "text": told.text,
    }


def _json(line: dict[str, Any]) -> str:
    """One line that nothing in it can end, and in which no fence line can begin."""
    return json.dumps(line, ensure_ascii=False).replace("</", "<\\/")

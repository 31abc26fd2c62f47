"""Rows as the API shows them. Answers are built here and written once, without a second check of what we stored."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja.responses import Response

from coverage.models import Chat, Message
from coverage.services import PutResult
from extraction.erasure import Fate
from extraction.models import Run
from graphctx import markers
from graphctx.models import Instance, Proposition, Steer
from osii.links import Relation


def reply(body: Mapping[str, Any], status: int = 200) -> HttpResponse:
    return Response(body, status=status)


def moment(value: datetime | None) -> str | None:
    return value and value.isoformat()


def chat(row: Chat) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "learner": row.learner.name,
        "title": row.title,
        "source": row.source,
        "settings": settings(row),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }


def settings(row: Chat) -> dict[str, Any]:
    return {
        "graph_context_tokens": row.graph_context_tokens,
        "model": row.settings.get("model"),
        "thinking": row.settings.get("thinking"),
        "interactive_tools": row.settings.get("interactive_tools"),
    }


def message(row: Mapping[str, Any]) -> dict[str, Any]:
    """A UIMessage from ``message_id``, ``role``, ``parts`` and ``metadata``, which is left out when there is none."""
    shown = {"id": row["message_id"], "role": row["role"], "parts": row["parts"]}
    return shown | {"metadata": row["metadata"]} if row["metadata"] else shown


def transcript(row: Chat) -> dict[str, Any]:
    """The chat with the messages on its active path, in order."""
    stored = Message.objects.filter(chat=row, position__isnull=False).order_by("position")
    messages = [message(values) for values in stored.values("message_id", "role", "parts", "metadata")]
    return {**chat(row), "messages": markers.compose(messages, Steer.objects.filter(chat=row).first())}


def offer(steer: Steer | None) -> dict[str, Any] | None:
    if steer is None:
        return None
    return {"id": str(steer.pk), "text": steer.text, "tokens": steer.tokens, "count": steer.count}


def put(chat_id: UUID, result: PutResult) -> dict[str, Any]:
    return {
        "chat_id": str(chat_id),
        "added": result.added,
        "changed": result.changed,
        "moved": result.moved,
        "unchanged": result.unchanged,
        "stale": result.stale,
    }


def run(row: Run | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "id": str(row.pk),
        "chat_id": str(row.chat_id),
        "mode": row.mode,
        "status": row.status,
        "worker": row.worker,
        "model": row.model,
        "attempt": row.attempt,
        "error": row.error,
        "abort_requested": row.abort_requested_at is not None,
        "following": row.following.get("mode"),
        "queued_at": moment(row.queued_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
    }


def message_fate(fate: Fate) -> dict[str, int]:
    return {"kept": fate.kept, "out_of_retrieval": fate.out_of_retrieval}


def chat_fate(fate: Fate) -> dict[str, int]:
    return {**message_fate(fate), "removed": fate.removed, "forgotten": fate.forgotten}


def chat_context(row: Chat, steer: Steer | None) -> dict[str, Any]:
    """A chat's steer in the shape of a context, with how far it is and why it is empty."""
    if steer is None:
        empty = {"tokens": 0, "count": 0, "budget": row.graph_context_tokens, "items": [], "block": ""}
        return {**empty, "status": "none", "reason": "the chat has no steer"}
    return {
        "tokens": steer.tokens,
        "count": steer.count,
        "budget": steer.budget,
        "items": steer.items,
        "block": steer.text,
        "status": steer.status,
        "reason": "" if steer.count else steer.reason,
    }


def proposition(row: Proposition, instances: Iterable[Instance], links: Iterable[Relation]) -> dict[str, Any]:
    """A proposition with its evidence and links; ``latest_level`` must be annotated."""
    return {
        "id": str(row.pk),
        "learner": row.learner.name,
        "text": row.text,
        "kind": row.kind,
        "level": row.latest_level,
        "state": row.state,
        "instances": [_instance(instance) for instance in instances],
        "links": [{"type": link.word, "proposition_id": str(link.other)} for link in links],
    }


def _instance(row: Instance) -> dict[str, Any]:
    return {
        "chat_id": row.chat_id and str(row.chat_id),
        "message_id": row.message_id or None,
        "document_id": row.document_id or None,
        "extraction_id": row.extraction_id or None,
        "fingerprint": row.fingerprint or None,
        "part": row.part,
        "char_start": row.char_start,
        "char_end": row.char_end,
        "quote": row.quote,
        "level": row.level,
        "speaker": row.speaker,
        "occurred_at": moment(row.occurred_at),
        "batch_id": row.batch and str(row.batch),
        "live": row.live,
    }

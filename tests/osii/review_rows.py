"""Candidates that wait for review, with evidence that stands in a real reference environment."""

import uuid
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User

from coverage.models import Chat
from coverage.services import append_entries
from extraction.exploring import environment
from extraction.exploring.staging import EvidenceItem
from extraction.models import Batch, BatchMessage, Candidate, ReferenceEnvironment, Resolution
from extraction.quotes import find_quote
from tests import factories
from tests.osii import rows


def reviewer(username: str = "rita", *permissions: str) -> User:
    return rows.staff_user("review_candidate", *permissions, username=username)


def talk(*texts: str, **more: Any) -> Chat:
    """A chat of these texts, user and assistant in turn, under the ids m1, m2…"""
    messages = [
        factories.message(f"m{number}", text, "user" if number % 2 else "assistant")
        for number, text in enumerate(texts, start=1)
    ]
    return factories.chat(*messages, **more)


def read(chat: Chat) -> Batch:
    """A succeeded batch over the whole chat, with the environment that its worker saw."""
    messages = list(chat.messages.filter(position__isnull=False).order_by("position"))
    made = Batch.objects.create(
        chat=chat, run=rows.run(chat), status=Batch.Status.SUCCEEDED, worker="rules", reason="Read everything.",
        staged_count=0, attempt_token=uuid.uuid4(), first_position=messages[0].position,
        last_position=messages[-1].position, tokens=sum(message.tokens for message in messages),
    )  # fmt: skip
    BatchMessage.objects.bulk_create(
        BatchMessage(
            batch=made, chat=chat, order=order, message_id=message.message_id, position=message.position,
            fingerprint=message.fingerprint, tokens=message.tokens,
        )
        for order, message in enumerate(messages, start=1)
    )  # fmt: skip
    content = environment.build(chat, messages)
    ReferenceEnvironment.objects.create(batch=made, content=content, content_hash=environment.content_hash(content))
    append_entries(chat, messages, batch_id=made.pk)
    return made


def item(batch: Batch, evidence_id: str, quote: str | None = None) -> dict[str, Any]:
    """An evidence item as staging stores it."""
    entries = {entry["id"]: entry for entry in batch.environment.content["evidence"]}
    entry = entries[evidence_id]
    return asdict(EvidenceItem.of(entry, find_quote(entry["text"], quote) if quote else None))


def staged(batch: Batch, claim: str, *evidence: dict[str, Any], **more: Any) -> Candidate:
    """A candidate of the batch; without evidence it cites the batch's first message as a whole."""
    order = batch.candidates.count() + 1
    defaults = {"kind": "fact", "why_useful": "It explains lakes."}
    cited = list(evidence) or [item(batch, f"m{batch.first_position}.0")]
    return Candidate.objects.create(
        batch=batch, attempt=batch.attempt, order=order, claim=claim, content_hash=f"hash {order}", evidence=cited,
        **(defaults | more),
    )  # fmt: skip


def waiting(batch: Batch, claim: str, *evidence: dict[str, Any], **more: Any) -> Candidate:
    """A candidate whose standing resolution is pending."""
    candidate = staged(batch, claim, *evidence, **more)
    Resolution.objects.create(candidate=candidate, outcome=Resolution.Outcome.PENDING, actor="auditor")
    return candidate

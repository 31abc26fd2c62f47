"""Rows of the higher apps for the tests of pages and admin, each in the state that a page shows."""

import hashlib
import uuid
from typing import Any

from django.contrib.auth.models import Permission, User
from django.utils import timezone

from coverage.models import Chat, Learner
from coverage.services import append_entries, get_or_create_learner
from extraction.models import (
    Batch,
    BatchMessage,
    Candidate,
    Document,
    DocumentSource,
    ExtractionVersion,
    ReferenceEnvironment,
    Resolution,
    Run,
)
from graphctx.models import Instance, Proposition
from osii import groups
from tests import factories


def staff_user(*permissions: str, username: str = "staff") -> User:
    """A staff account that sees what a viewer sees, and has these permissions (codenames) beside."""
    user = account(*permissions, username=username)
    secret = [name.partition(".")[2] for name in groups.SECRET]
    seen = Permission.objects.filter(content_type__app_label__in=groups.APPS, codename__startswith="view_")
    user.user_permissions.add(*seen.exclude(codename__in=secret))
    return user


def account(*permissions: str, username: str = "staff") -> User:
    """A staff account with these permissions (codenames) alone."""
    user = User.objects.create_user(username, password="pw", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def long_text(word: str = "lamp", tokens: int = 1000) -> str:
    """A text of exactly this many tokens."""
    return (f"{word} " * tokens * 4)[: tokens * 4]


def chat(count: int = 4, tokens: int = 20, **more: Any) -> Chat:
    """A chat of ``count`` messages of ``tokens`` tokens each, user and assistant in turn."""
    messages = [
        factories.message(f"m{n}", long_text(f"{n}word", tokens), "user" if n % 2 else "assistant")
        for n in range(1, count + 1)
    ]
    return factories.chat(*messages, **more)


def run(chat: Chat, status: str = Run.Status.SUCCEEDED, **more: Any) -> Run:
    now = timezone.now()
    if status == Run.Status.RUNNING:
        more = {"attempt_token": uuid.uuid4(), "lease_expires_at": now, "attempt": 1, "started_at": now} | more
    return Run.objects.create(chat=chat, mode="rest", status=status, worker="rules", **more)


def batch(chat: Chat, status: str = Batch.Status.SUCCEEDED, *, positions: range | None = None, **more: Any) -> Batch:
    """A batch over messages of the chat (default: all); a succeeded one covers them."""
    messages = list(chat.messages.filter(position__isnull=False).order_by("position"))
    if positions is not None:
        messages = [message for message in messages if message.position in positions]
    owner = more.pop("run", None) or run(chat)
    defaults = {"worker": "rules", "reason": "Read everything.", "staged_count": 0, "attempt_token": uuid.uuid4()}
    made = Batch.objects.create(
        chat=chat,
        run=owner,
        status=status,
        first_position=messages[0].position,
        last_position=messages[-1].position,
        tokens=sum(message.tokens for message in messages),
        **(defaults | more),
    )
    for order, message in enumerate(messages, start=1):
        BatchMessage.objects.create(
            batch=made,
            chat=made.chat,
            order=order,
            message_id=message.message_id,
            position=message.position,
            fingerprint=message.fingerprint,
            tokens=message.tokens,
        )
    ReferenceEnvironment.objects.create(batch=made, content={"evidence": []}, content_hash="0")
    if status == Batch.Status.SUCCEEDED:
        append_entries(chat, messages, batch_id=made.pk)
    return made


def proposition(text: str = "Ice floats.", learner: Learner | None = None, **more: Any) -> Proposition:
    owner = learner or get_or_create_learner("Ada")
    identity = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return Proposition.objects.create(learner=owner, text=text, identity=identity, **({"kind": "fact"} | more))


def instance(proposition: Proposition, chat: Chat, position: int = 1, **more: Any) -> Instance:
    """Evidence for the proposition: the first eight characters of a message."""
    message = chat.messages.get(position=position)
    quote = message.parts[0]["text"][:8]
    defaults = {"quote": quote, "char_start": 0, "char_end": len(quote), "level": "solid", "speaker": message.role}
    return Instance.objects.create(
        proposition=proposition,
        chat=chat,
        message_id=message.message_id,
        position=message.position,
        fingerprint=message.fingerprint,
        **(defaults | more),
    )


def candidate(batch: Batch, claim: str = "Ice floats.", order: int = 1, **more: Any) -> Candidate:
    message = batch.messages.first()
    item = {"id": f"m{message.position}.0", "position": message.position, "speaker": "user", "excerpt": "An excerpt."}
    defaults = {"kind": "fact", "why_useful": "It explains lakes.", "evidence": [item | {"quote": None}]}
    return Candidate.objects.create(
        batch=batch, attempt=batch.attempt, order=order, claim=claim, content_hash=f"hash {order}", **(defaults | more)
    )


def resolution(candidate: Candidate, proposition: Proposition | None, outcome: str = "new") -> Resolution:
    return Resolution.objects.create(candidate=candidate, proposition=proposition, outcome=outcome, actor="identity")


def document(filename: str = "notes.md", number: int = 1, **more: Any) -> Document:
    """A document with one version in force; its text is not on disk."""
    digest = hashlib.sha256(f"{filename}{number}".encode()).hexdigest()
    made = Document.objects.create(
        file_id=f"sha256-{digest}", filename=filename, mime="text/markdown", size_bytes=2048, **more
    )
    DocumentSource.objects.create(document=made, path=f"/files/{number}/{filename}")
    made.primary = version(made)
    made.save(update_fields=("primary",))
    return made


def version(document: Document, status: str = ExtractionVersion.Status.SUCCEEDED, **more: Any) -> ExtractionVersion:
    defaults: dict[str, Any] = {"extractor": "text", "extractor_version": "1.0"}
    if status == ExtractionVersion.Status.SUCCEEDED:
        defaults |= {"text_sha256": "a" * 64, "text_chars": 1200, "manifest_records": 3}
    else:
        defaults |= {"error": "extractor_timeout: it took too long"}
    return ExtractionVersion.objects.create(
        id=f"text-20261130070000-{uuid.uuid4().hex[:8]}", document=document, status=status, **(defaults | more)
    )

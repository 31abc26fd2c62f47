"""Erasing a learner: everything that is theirs, wherever it lies, and a record that says how much and names nobody.

It goes step by step, each in its own transaction, so that it can be interrupted and run again: tokens first, so that
nothing more comes in through them; imports and uploads; chats and documents, as each is erased by itself; processing;
last, in one transaction, the graph and the learner, with the record. Two learners never share a row that holds a text.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import django_rq
import redis
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from rq.job import Job

from coverage.guards import allow_erase
from coverage.models import Chat, Learner, Message
from coverage.queueing import CHATS
from extraction import erasure
from extraction.documents.removal import remove_document
from extraction.models import Batch, Candidate, Document, Run
from graphctx.models import Instance, Proposition
from osii.imports import uploads
from osii.intake import staging
from osii.models import ApiToken, ChatImport, Erasure, ImportedChat, ProcessingItem, ProcessingRun

from . import memory

ERASED = "(erased)"


class EraseRefused(Exception):
    """Nothing was erased, or not all: the text says why and what to do."""


@dataclass(slots=True)
class Effect:
    """How much is or was erased."""

    chats: int = 0
    messages: int = 0
    documents: int = 0
    propositions: int = 0
    instances: int = 0
    candidates: int = 0
    imports: int = 0
    processing_runs: int = 0
    tokens: int = 0
    # Ids of every row, for the traces of them elsewhere.
    ids: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name != "ids"}


def preview(learner: Learner) -> Effect:
    """What would be erased."""
    chats, documents = Chat.objects.filter(learner=learner), Document.objects.filter(learner=learner)
    batches = Batch.objects.filter(Q(chat__learner=learner) | Q(document__learner=learner))
    claims = Proposition.objects.filter(learner=learner)
    effect = Effect(
        chats=chats.count(),
        messages=Message.objects.filter(chat__learner=learner).count(),
        documents=documents.count(),
        propositions=claims.count(),
        instances=Instance.objects.filter(proposition__learner=learner).count(),
        candidates=Candidate.objects.filter(batch__in=batches).count(),
        imports=_imports(learner).count(),
        processing_runs=_processing(learner).count(),
        tokens=ApiToken.objects.filter(learner=learner).count(),
    )
    rows = (
        *(chats, documents, claims, batches, _imports(learner), _processing(learner)),
        *(Run.objects.filter(chat__learner=learner), ApiToken.objects.filter(learner=learner)),
        *(Candidate.objects.filter(batch__in=batches), Instance.objects.filter(proposition__learner=learner)),
    )
    effect.ids = {
        str(learner.pk),
        *(str(key) for found in rows for key in found.values_list("pk", flat=True).iterator()),
    }
    return effect


def erase(learner: Learner, *, actor: str, progress: Callable[..., Any]) -> Erasure:
    """Erase the learner for good; returns the record. Raises EraseRefused and StoreError: then run it again."""
    _refuse_what_is_under_way(learner)
    effect = preview(learner)
    _erase_traces(effect.ids)
    ApiToken.objects.filter(learner=learner).delete()
    _erase_imports(learner)  # before the chats, by which some are found
    _erase_uploads(learner)
    with progress("Erasing", effect.chats + effect.documents) as advance:
        for chat_id in Chat.objects.filter(learner=learner).values_list("pk", flat=True):
            with contextlib.suppress(Chat.DoesNotExist):
                erasure.erase_chat(chat_id)
            advance(1)
        for file_id in Document.objects.filter(learner=learner).values_list("pk", flat=True):
            remove_document(file_id, actor, "its learner was erased", name_it=False)
            advance(1)
    _erase_processing(learner)
    record = _erase_learner(learner, effect, actor)
    _erase_jobs(effect.ids)  # once more: what failed for want of its rows may quote them
    with contextlib.suppress(redis.RedisError):  # its log of commands holds what was deleted until it is written anew
        django_rq.get_connection(CHATS).execute_command("BGREWRITEAOF")
    memory.forget()
    return record


def _refuse_what_is_under_way(learner: Learner) -> None:
    active = _imports(learner).filter(status__in=ChatImport.ACTIVE).first()
    if active is not None:
        raise EraseRefused(
            f"import {active.pk} still brings in chats of {learner.name}: cancel it, or let it end, first"
        )
    busy = _processing(learner).filter(status__in=ProcessingRun.ACTIVE).first()
    if busy is not None:
        raise EraseRefused(f"processing run {busy.pk} still adds for {learner.name}: cancel it, or let it end, first")


def _imports(learner: Learner) -> Any:
    """Imports for this learner, and those in which chats of this learner were found."""
    found = ImportedChat.objects.filter(Q(learner=learner.name) | Q(chat__learner=learner)).values("chat_import")
    return ChatImport.objects.filter(Q(learner=learner.name) | Q(pk__in=found))


def _processing(learner: Learner) -> Any:
    """Runs that added for this learner, or whose request names them."""
    asked = Q(request__learner=learner.name) | Q(request__scope__learner=learner.name)
    return ProcessingRun.objects.filter(Q(learner=learner) | asked)


def _erase_imports(learner: Learner) -> None:
    """Reports of imports for them go; of one with chats of others too, their lines, its problems and its files."""
    for row in list(_imports(learner)):
        uploads.remove(row.pk)
        with transaction.atomic():
            ImportedChat.objects.filter(chat_import=row, learner=learner.name).delete()
            if row.learner == learner.name or not row.conversations.exists():
                row.delete()
            else:
                files = [{"name": ERASED, "size": file["size"]} for file in row.files]
                ChatImport.objects.filter(pk=row.pk).update(
                    files=files, problems=[], skipped=[], files_deleted_at=row.files_deleted_at or timezone.now()
                )


def _erase_uploads(learner: Learner) -> None:
    for upload in list(_uploads(learner)):
        staging.discard(upload)


def _uploads(learner: Learner) -> Iterator[staging.Upload]:
    for upload, _age in staging.kept():
        if learner.name in parse_qs(upload.options).get("learner", []):
            yield upload


def _erase_processing(learner: Learner) -> None:
    with transaction.atomic():
        allow_erase()
        for row in _processing(learner):
            for path in ProcessingItem.objects.filter(run=row).exclude(path="").values_list("path", flat=True):
                _forget_upload(Path(path))
            row.delete()


def _forget_upload(path: Path) -> None:
    """An uploaded file that waited to be added; a file of somebody's own folder stays where it is."""
    root = staging.uploads_root()
    if path.is_relative_to(root) and path != root:
        shutil.rmtree(root / path.relative_to(root).parts[0], ignore_errors=True)


@transaction.atomic
def _erase_learner(learner: Learner, effect: Effect, actor: str) -> Erasure:
    Learner.objects.select_for_update().get(pk=learner.pk)
    if Chat.objects.filter(learner=learner).exists() or Document.objects.filter(learner=learner).exists():
        raise EraseRefused(f"more came in for {learner.name} meanwhile: stop what sends it, and run this again")
    allow_erase()
    learner_id = learner.pk
    Proposition.objects.filter(learner=learner).delete()
    Learner.objects.filter(pk=learner_id).delete()
    return Erasure.objects.create(learner=learner_id, counts=effect.counts(), actor=actor)


def _erase_traces(ids: set[str]) -> None:
    """What the admin's log and RQ remember of these rows; first of all, while every id is known."""
    keys = sorted(ids)
    for start in range(0, len(keys), 1000):
        named = LogEntry.objects.filter(object_id__in=keys[start : start + 1000])
        named.update(object_repr=ERASED, change_message="")
    _erase_jobs(ids)


def _erase_jobs(ids: set[str]) -> None:
    """What RQ remembers of jobs on these rows: their errors may quote a text. Without Redis there is nothing to forget."""
    with contextlib.suppress(redis.RedisError):
        for name in settings.RQ_QUEUES:
            queue = django_rq.get_queue(name)
            for registry in (queue.failed_job_registry, queue.finished_job_registry, queue.canceled_job_registry):
                keys = registry.get_job_ids(cleanup=False)
                for job in Job.fetch_many(keys, connection=queue.connection):
                    if job is not None and ids.intersection(map(str, job.args)):
                        job.delete()

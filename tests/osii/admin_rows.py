"""At least one row of every model that the admin shows, in the states in which each action has something to do."""

import uuid

import numpy as np
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.utils import timezone

from coverage.services import get_or_create_learner
from extraction.models import (
    ExtractorRule,
    LanguageModel,
    ModelUse,
    Promotion,
    Removal,
    ReviewSetting,
    WorkerConversation,
)
from graphctx.models import EmbeddingSpace, Link, PropositionVector, Steer
from osii import tokens
from osii.library import methods
from osii.models import (
    ChatImport,
    Chunk,
    Collection,
    Erasure,
    ImportedChat,
    OutputSetting,
    ProcessingStep,
    StaffAction,
)
from tests.osii import review_rows, rows
from tests.osii.library import rows as library_rows


def everything(number: int = 1) -> None:
    """One row of each and a few more; another ``number`` makes further ones, of another learner."""
    learner = get_or_create_learner(f"Learner {number}")
    ReviewSetting.objects.create(learner=learner, mode="manual")
    LanguageModel.objects.create(name=f"lamp-{number}", model="m")
    ExtractorRule.objects.create(order=900 + number, media_type="text/*", name_pattern=f"*.{number}", extractor="text")
    tokens.issue(name=f"phone {number}", learner=learner)
    _chats(number)
    _documents(number)
    user = User.objects.create_user(f"somebody-{number}", is_staff=True)
    StaffAction.objects.create(user=user, username=user.username, action="chat-extract", status=302)
    Erasure.objects.create(learner=uuid.uuid4(), actor=user.username)
    LogEntry.objects.log_actions(user.pk, [learner], CHANGE, "Named anew.")
    Group.objects.get_or_create(name=f"group {number}")


def _chats(number: int) -> None:
    learner = get_or_create_learner(f"Learner {number}")
    chat = rows.chat(title=f"Chat {number}", learner=learner)
    done = rows.batch(chat)
    claim, other = (rows.proposition(f"{text} {number}.", learner) for text in ("Ice floats", "Lead sinks"))
    rows.instance(claim, chat)
    rows.resolution(rows.candidate(done), claim)
    Link.objects.create(learner=learner, source=claim, target=other, type="follows")
    WorkerConversation.objects.create(batch=done, attempt=1, worker_version="w", entries=[], usage={})
    ModelUse.objects.create(batch=done, run=done.run_id, attempt=1, agent="extract-worker", model={}, usage={})
    rows.batch(rows.chat(2, title=f"Parked {number}", learner=learner), "parked")
    rows.run(rows.chat(title=f"Waits {number}", learner=learner), "queued")
    review_rows.waiting(review_rows.read(review_rows.talk(f"Snow melts, {number}.", learner=learner)), "Snow melts.")
    imported = ChatImport.objects.create()
    ImportedChat.objects.create(chat_import=imported, number=1, title=chat.title, state="new", chat=chat)
    space = EmbeddingSpace.objects.create(
        name=f"tiny {number}", provider="p", model="m", revision="1", runtime="r", dimension=2, query_format="{}",
        document_format="{}", max_tokens=8, stamp=f"s{number}", active=number == 1,
    )  # fmt: skip
    PropositionVector.objects.create(
        space=space, proposition=claim, learner=learner, embedding=np.array([0.6, 0.8], dtype=np.float32)
    )
    Steer.objects.create(id=uuid.uuid4(), chat=chat, budget=1024)


def _documents(number: int) -> None:
    document = rows.document(f"notes-{number}.md")
    other = rows.version(document)
    Promotion.objects.create(document=document, before_id=other.pk, after=document.primary, actor="system")
    Removal.objects.create(what="versions", file_id=document.pk, filename=document.filename, actor="system")
    Collection.objects.create(name=f"Collection {number}")
    made = library_rows.output(document.primary, methods.wanted("chunks"))
    Chunk.objects.create(
        output=made, document=document, source_extraction=document.primary, chunk_id=f"chunk-{number}", chunk_index=0,
        char_start=0, char_end=4, text="Lamp",
    )  # fmt: skip
    OutputSetting.objects.get_or_create(kind="chunks", method="sentences")
    item = library_rows.run(document).items.get()
    ProcessingStep.objects.create(
        item=item, step="synthesis", status="succeeded", attempt=1, finished_at=timezone.now()
    )

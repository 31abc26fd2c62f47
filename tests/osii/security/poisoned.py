"""One row of every table, and then a payload in every text of every row, past all triggers: whatever got in somehow."""

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, connection, models, transaction
from django.utils import timezone

from coverage.models import Chat
from extraction.models import (
    Document,
    ExtractorRule,
    LanguageModel,
    ModelUse,
    Promotion,
    Removal,
    Run,
    WorkerConversation,
)
from graphctx.embedding import active_space
from graphctx.models import Link, Steer
from graphctx.steers import steer_id
from osii import tokens
from osii.library import methods, outputs
from osii.models import (
    ChatImport,
    Collection,
    Erasure,
    ImportedChat,
    OutputSetting,
    ProcessingRun,
    ProcessingStep,
    StaffAction,
)
from tests import factories
from tests.osii import review_rows, rows
from tests.osii.library import rows as library_rows
from tests.osii.security.markup import LONG, SHORT

# What a row is found or checked by, and never a text of anybody's.
KEYS = {
    *("id", "file_id", "extraction_id", "document_id", "chunk_id", "previous_chunk_id", "next_chunk_id", "fingerprint", "identity"),
    *("text_sha256", "content_hash", "options_hash", "secret_hash", "prompt_hash", "stamp", "prefix", "object_id", "message_id"),
}  # fmt: skip
OF_DJANGO = {"contenttypes.ContentType", "sessions.Session", "auth.Permission", "django_rq.Dashboard"}
# Words that decide which template shows a JSON value.
STRUCTURE = {"type", "role", "state", "id", "kind", "status", "toolCallId", "file_id", "extraction_id", "document_id", "chat_id",
             "proposition_id", "level", "speaker", "occurred_at", "folded_at", "fingerprint", "learner_id", "said_at", "message_id"}  # fmt: skip

SAID = [
    LONG,
    f"[a]({LONG}) [b](javascript:alert(1)) [c](data:text/html;base64,PHNjcmlwdD4=) <javascript:alert(1)> ![d](javascript:e)",
    f"<xss onxss=1> <script>alert(1)</script>\n\n# {LONG}\n\n| {LONG} | b |\n|-|-|\n| c | {LONG} |\n\n```{LONG}\n{LONG}\n```",
    f"[ref]: javascript:alert(1) \"{LONG}\"\n\n[ref] [x]( &#106;avascript:alert(1) ) [y](\tjavascript:alert(1)) `{LONG}`",
]  # fmt: skip


def parts() -> list[dict[str, Any]]:
    tool = {"toolCallId": LONG, "input": {LONG: [LONG]}, "output": {LONG: LONG}, "state": "output-available"}
    return [
        {"type": "reasoning", "text": LONG},
        *({"type": "text", "text": text} for text in SAID),
        {"type": f"tool-{LONG}", **tool},
        {"type": "dynamic-tool", "toolName": LONG, **tool},
        {"type": "tool-broken", "toolCallId": "e", "state": "output-error", "input": {}, "errorText": LONG},
        {"type": "tool-quiz", "toolCallId": "q", "state": "output-available", "input": {"question": LONG, "options": [LONG]},
         "output": {"answer": LONG, "correct": True}},
        {"type": "source-url", "sourceId": LONG, "url": LONG, "title": LONG},
        {"type": "source-document", "sourceId": LONG, "mediaType": LONG, "title": LONG, "filename": LONG},
        {"type": "file", "mediaType": LONG, "filename": LONG, "url": LONG},
        {"type": f"data-{LONG}", "data": {LONG: LONG}},
    ]  # fmt: skip


def one_of_everything(document: Document) -> dict[str, str]:
    """Rows of every table; returns the values of routes' parameters that find them."""
    chat = factories.chat(
        factories.message(f"m1 {SHORT}", parts(), metadata={LONG: LONG}),
        factories.message(f"m2 {SHORT}", [*parts(), factories.quiz("2+2?")], "assistant"),
        factories.message(f"m3 {SHORT}", f"I keep bees. {LONG}"),
        title="t", settings={"model": LONG, LONG: LONG}, source="s",
    )  # fmt: skip
    known = _read(chat, document) | _library(document)
    _staff(chat)
    return known | {"chat_id": str(chat.pk), "file_id": document.pk, "extraction_id": document.primary_id}


def _read(chat: Chat, document: Document) -> dict[str, str]:
    batch = review_rows.read(chat)
    evidence = review_rows.item(batch, "m3.0", "I keep bees")
    candidate = review_rows.staged(batch, "Ice floats.", evidence)
    waiting = review_rows.staged(batch, "Ice sinks.", evidence)
    claim, other = rows.proposition(), rows.proposition("Ice sinks.")
    for one in (claim, other):
        rows.instance(one, chat, 3)
    resolution = rows.resolution(candidate, claim)
    rows.resolution(waiting, None, "pending")
    Link.objects.create(learner=chat.learner, source=claim, target=other, type="contradicts")
    WorkerConversation.objects.create(
        batch=batch,
        attempt=1,
        worker_version="1",
        entries=[{"role": "user", "text": LONG}, {"role": "x", "tool": LONG}],
        usage={},
    )
    model = LanguageModel.objects.create(name="fast", model="m")
    ModelUse.objects.create(
        batch=batch, run=batch.run_id, attempt=1, agent="extract-worker", model={"name": model.name}, usage={}
    )
    Steer.objects.create(
        chat=chat,
        budget=1024,
        status="delivered",
        topic="t",
        text="x",
        items=[{"proposition_id": str(claim.pk), "text": LONG, "level": "solid", "similarity": 0.5, "tokens": 3}],
        offered_turn="t",
        offered_at=timezone.now(),
        delivered_at=timezone.now(),
        id=steer_id(chat.pk),
    )
    failed = rows.chat(2, title="failed")
    rows.batch(failed, "parked", run=rows.run(failed, Run.Status.FAILED, error="x"), error="x", reason="")
    return {
        "batch_id": str(batch.pk),
        "candidate_id": str(waiting.pk),
        "resolution_id": str(resolution.pk),
        "proposition_id": str(claim.pk),
    }


def _library(document: Document) -> dict[str, str]:
    outputs.make(document.pk, "chunks")
    for kind in ("synthesis", "enrichment", "propositions"):
        library_rows.output(
            document.primary,
            methods.wanted(kind),
            text=LONG,
            content={"entities": [{"name": LONG, "text": LONG}], LONG: LONG},
        )
    library_rows.version(document, primary=False, error="no_text: x")
    Promotion.objects.create(document=document, before=document.primary, after=document.primary, actor="a", reason="r")
    run = library_rows.run(document, learner=document.learner)
    item = run.items.get()
    ProcessingStep.objects.create(
        item=item, step="synthesis", attempt=1, status="failed", error="x", finished_at=timezone.now()
    )
    run.items.update(status="failed", error="x", started_at=timezone.now(), finished_at=timezone.now())
    now = timezone.now()
    ended = library_rows.run(status="failed", started_at=now, finished_at=now, error="x")
    ProcessingRun.objects.filter(pk=ended.pk).update(acknowledged_by="a", acknowledged_at=timezone.now())
    library_rows.output(document.primary, methods.wanted("synthesis"), method="other", status="failed", error="x")
    Collection.objects.create(name="c").documents.add(document)
    done = ChatImport.objects.create(
        files=[{"name": LONG, "size": 1}],
        status="failed",
        error=LONG,
        finished_at=timezone.now(),
        problems=[{"file": LONG, "position": LONG, "reason": LONG, "remedy": LONG}],
        skipped=[{"file": LONG, "reason": LONG}],
        problem_count=1,
        skipped_count=1,
    )
    ImportedChat.objects.create(chat_import=done, number=1, title="t", state="failed", learner="l")
    ExtractorRule.objects.create(media_type="text/x-own", name_pattern="*.own", extractor="text", order=900)
    active_space()
    OutputSetting.objects.get_or_create(kind="synthesis", defaults={"method": methods.wanted("synthesis").method})
    return {"run_id": str(run.pk), "import_id": str(done.pk), "collection_id": str(Collection.objects.get().pk)}


def _staff(chat: Chat) -> None:
    user = User.objects.create_user("other", first_name="f", last_name="l", email="e@example.org")
    Group.objects.create(name="g")
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(chat),
        object_id=str(chat.pk),
        object_repr="r",
        action_flag=2,
        change_message="m",
    )
    Removal.objects.create(file_id="sha256-" + "0" * 64, filename="f", actor="a", reason="r", what="document")
    StaffAction.objects.create(user_id=user.pk, username="u", action="a", about={LONG: LONG}, status=200)
    Erasure.objects.create(learner=uuid.uuid4(), actor="a", counts={LONG: 1})
    tokens.issue(learner=chat.learner, name="n")


def texts() -> Iterator[tuple[type[models.Model], models.Field]]:
    """Every column that holds a text of somebody's or something's."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, models.CharField | models.TextField | models.JSONField)
            if is_text and not field.choices and field.name not in KEYS and model._meta.label not in OF_DJANGO:
                yield model, field


def poison() -> set[str]:
    """Write the payload everywhere; returns the columns whose constraints refuse it, as ``app.Model.field``."""
    tried, taken = set(), set()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger speaks
        for model, field in texts():
            name = f"{model._meta.label}.{field.name}"
            tried.add(name)
            for pk, value in model._base_manager.values_list("pk", field.name):
                with contextlib.suppress(DatabaseError), transaction.atomic():
                    model._base_manager.filter(pk=pk).update(**{field.name: _fresh(field, value, pk)})
                    taken.add(name)
        cursor.execute("SET LOCAL session_replication_role = origin")
    return tried - taken


def _fresh(field: models.Field, value: Any, pk: Any) -> Any:
    if isinstance(field, models.JSONField):
        return _poisoned(value)
    payload = LONG if (field.max_length or 500) > len(LONG) + 40 else SHORT
    return (f"{payload}{pk}" if field.unique or field.name in UNIQUE_TOGETHER else payload)[: field.max_length]


UNIQUE_TOGETHER = {"external_id", "method", "method_version"}


def _poisoned(value: Any, key: str = "") -> Any:
    if isinstance(value, str):
        return value if key in STRUCTURE or LONG in value else LONG
    if isinstance(value, dict):
        return {name: _poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_poisoned(one, key) for one in value]
    return value


def without_rows() -> set[str]:
    """Tables that nothing is known of: a new one belongs into one_of_everything."""
    return {model._meta.label for model, _ in texts() if not model._base_manager.exists()}

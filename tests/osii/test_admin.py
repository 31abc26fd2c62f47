"""Django admin: every table can be looked at, what the product writes cannot be edited, actions ask for permission."""

import re
import uuid

import numpy as np
import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coverage.models import Chat, Learner
from extraction.documents import services
from extraction.models import (
    Batch,
    Document,
    ExtractionVersion,
    ExtractorRule,
    LanguageModel,
    ModelUse,
    Promotion,
    Removal,
    ReviewSetting,
    Run,
    WorkerConversation,
)
from graphctx.models import EmbeddingSpace, Link, PropositionVector, Steer
from osii.models import ProcessingRun
from tests.osii import rows

pytestmark = pytest.mark.django_db

APPS = {"coverage", "graphctx", "extraction"}
MODELS = [model for model in admin.site._registry if model._meta.app_label in APPS]
DELETABLE = {LanguageModel, ExtractorRule}
EDITABLE = {LanguageModel, ExtractorRule, Learner, Chat}


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """Actions enqueue, and the queue dashboard looks at the queues."""


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def everything() -> None:
    """At least one row of every model."""
    chat = rows.chat()
    done = rows.batch(chat)
    claim = rows.proposition()
    rows.instance(claim, chat)
    rows.resolution(rows.candidate(done), claim)
    other = rows.proposition("Lead sinks.")
    Link.objects.create(learner=claim.learner, source=claim, target=other, type="follows")
    ReviewSetting.objects.create(learner=claim.learner, mode="manual")
    WorkerConversation.objects.create(batch=done, attempt=1, worker_version="w", entries=[], usage={})
    LanguageModel.objects.create(name="lamp", model="m")
    ModelUse.objects.create(batch=done, run=done.run_id, attempt=1, agent="extract-worker", model={}, usage={})
    document = rows.document()
    Removal.objects.create(what="versions", file_id=document.pk, filename="notes.txt", actor="system")
    Promotion.objects.create(document=document, after=document.primary, actor="system")
    space = EmbeddingSpace.objects.create(
        name="tiny", provider="p", model="m", revision="1", runtime="r", dimension=2, query_format="{}",
        document_format="{}", max_tokens=8, stamp="s", active=True,
    )  # fmt: skip
    PropositionVector.objects.create(
        space=space, proposition=claim, learner=claim.learner, embedding=np.array([0.6, 0.8], dtype=np.float32)
    )
    Steer.objects.create(id=uuid.uuid4(), chat=chat, budget=1024)


def admin_url(model: type, page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_every_model_is_registered():
    from django.apps import apps

    expected = {model for label in APPS for model in apps.get_app_config(label).get_models() if model._meta.managed}
    assert set(MODELS) == expected


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_table_can_be_listed_searched_and_opened(superuser, everything, model):
    row = model.objects.first()
    assert row is not None
    assert superuser.get(admin_url(model, "changelist")).status_code == 200
    if admin.site._registry[model].search_fields:
        assert superuser.get(admin_url(model, "changelist"), {"q": "lamp"}).status_code == 200
    opened = superuser.get(admin_url(model, "change", row.pk))
    assert opened.status_code == 200
    assert "0.6" not in opened.text  # no vector is shown
    admin_class = admin.site._registry[model]
    assert admin_class.show_full_result_count is False


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_the_product_writes_is_not_edited_here(superuser, everything, model):
    row = model.objects.first()
    if model not in DELETABLE:
        assert superuser.post(admin_url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    if model not in EDITABLE:
        assert superuser.get(admin_url(model, "add")).status_code == 403
        assert superuser.post(admin_url(model, "change", row.pk), {}).status_code == 403
        assert 'name="_save"' not in superuser.get(admin_url(model, "change", row.pk)).text
    actions = re.findall(r'<option value="(\w+)">', superuser.get(admin_url(model, "changelist")).text)
    assert ("delete_selected" in actions) == (model is ExtractorRule)  # a table of settings


def test_of_a_chat_only_the_title_changes(superuser):
    chat = rows.chat(title="Old")
    superuser.post(admin_url(Chat, "change", chat.pk), {"title": "New", "learner": "", "source": "x"})
    chat.refresh_from_db()
    assert (chat.title, chat.source) == ("New", "api")


@pytest.mark.parametrize("model", [Chat, Run, Batch, ExtractionVersion], ids=lambda model: model.__name__)
def test_a_list_asks_as_often_for_thirty_rows_as_for_three(superuser, model):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert superuser.get(admin_url(model, "changelist")).status_code == 200
        return len(captured)

    def make(count: int) -> None:
        for _ in range(count):
            rows.batch(rows.chat(2))
            rows.version(rows.document(number=Document.objects.count()))

    make(3)
    few = queries()
    make(27)
    assert queries() == few


def act(client: Client, model: type, action: str, *ids: object, **more: str):
    data = {"action": action, "_selected_action": [str(one) for one in ids], **more}
    return client.post(admin_url(model, "changelist"), data, follow=True)


def test_chats_can_be_extracted_and_aborted(superuser):
    chats = [rows.chat(), rows.chat()]
    done = act(superuser, Chat, "extract_rest", *[chat.pk for chat in chats])
    assert "2 chats: a run for the rest is queued, running or about to follow one that stops." in done.text
    assert set(Run.objects.values_list("chat", "mode")) == {(chat.pk, "rest") for chat in chats}
    assert "Abort requested for 1 run." in act(superuser, Chat, "abort", chats[0].pk).text
    assert "None of these chats has an active run." in act(superuser, Chat, "abort", chats[0].pk).text
    assert Run.objects.get(chat=chats[1]).status == Run.Status.QUEUED


def test_parked_batches_can_be_retried(superuser):
    parked = rows.batch(rows.chat(), "parked")
    fine = rows.batch(rows.chat())
    assert "1 parked batch(es) will be read again." in act(superuser, Batch, "retry_parked", parked.pk, fine.pk).text
    parked.refresh_from_db()
    assert parked.status == Batch.Status.FAILED
    assert "None of these batches is parked." in act(superuser, Batch, "retry_parked", fine.pk).text


def test_actions_need_their_permission(client):
    chat = rows.chat()
    parked = rows.batch(chat, "parked")
    version = rows.version(rows.document())
    client.force_login(rows.staff_user("view_chat", "view_batch", "view_extractionversion", "view_document"))
    for model, action, row in (
        (Chat, "extract_rest", chat), (Chat, "abort", chat), (Batch, "retry_parked", parked),
        (ExtractionVersion, "promote_to_primary", version), (Document, "upgrade_extraction", version.document),
    ):  # fmt: skip
        assert f'value="{action}"' not in client.get(admin_url(model, "changelist")).text
        act(client, model, action, row.pk)
    assert not Run.objects.filter(status__in=Run.ACTIVE).exists()
    parked.refresh_from_db()
    assert parked.status == Batch.Status.PARKED
    assert Promotion.objects.count() == 0
    assert ProcessingRun.objects.count() == 0


@pytest.fixture
def extracted(settings, tmp_path) -> Document:
    settings.OSII_HOME = tmp_path / "home"
    path = tmp_path / "notes.txt"
    path.write_text("One line.\n\nAnother.\n")
    file_id = services.add_file(path).file_id
    services.extract(file_id)
    services.extract(file_id, policy=services.SAVE_VARIANT, force=True)
    return Document.objects.get(pk=file_id)


def test_promotion_asks_first_and_names_its_effect(superuser, extracted):
    other = extracted.versions.exclude(pk=extracted.primary_id).get()
    before = extracted.primary_id
    asked = act(superuser, ExtractionVersion, "promote_to_primary", other.pk)
    assert "take the place of" in asked.text
    extracted.refresh_from_db()
    assert extracted.primary_id == before
    expected = re.search(r'name="expected_primary" value="([^"]+)"', asked.text).group(1)
    more = {"confirmed": "yes", "expected_primary": expected, "reason": "Better."}
    done = act(superuser, ExtractionVersion, "promote_to_primary", other.pk, **more)
    assert f"Version {other.pk} is in force now." in done.text
    extracted.refresh_from_db()
    assert extracted.primary_id == other.pk
    assert Promotion.objects.order_by("-created_at")[0].actor == "root"


def test_promotion_refuses_a_changed_base_two_versions_and_a_failed_one(superuser, extracted):
    other = extracted.versions.exclude(pk=extracted.primary_id).get()
    failed = rows.version(extracted, "failed")
    stale = act(superuser, ExtractionVersion, "promote_to_primary", other.pk, confirmed="yes", expected_primary="old")
    assert "Nothing was changed" in stale.text
    both = act(superuser, ExtractionVersion, "promote_to_primary", other.pk, extracted.primary_id)
    assert "Choose exactly one version" in both.text
    assert "has no text to promote" in act(superuser, ExtractionVersion, "promote_to_primary", failed.pk).text
    assert (
        "is the primary already" in act(superuser, ExtractionVersion, "promote_to_primary", extracted.primary_id).text
    )
    extracted.refresh_from_db()
    assert extracted.primary_id != other.pk


def test_the_queue_dashboard_is_for_superusers(client):
    url = reverse("admin:django_rq_home")
    assert client.get(url)["Location"] == f"/login/?next={url}"
    client.force_login(rows.staff_user())
    for name in ("django_rq_home", "django_rq_home_json"):
        assert client.get(reverse(f"admin:{name}")).status_code == 403
    assert client.get(reverse("admin:django_rq_jobs", args=[0])).status_code == 403
    assert client.get(reverse("admin:django_rq_dashboard_changelist")).status_code == 403
    assert "django_rq" not in client.get("/admin/").text.lower()
    client.force_login(User.objects.create_superuser("root"))
    assert client.get(url).status_code == 200
    assert client.get(reverse("admin:django_rq_jobs", args=[0])).status_code == 200


def test_an_upgrade_is_planned_confirmed_once_and_done(superuser, extracted):
    text = act(superuser, Document, "upgrade_extraction", extracted.pk).text
    assert "Make it primary and preserve the previous version" in text
    assert "Save as another version" in text
    chosen = {"extractor": "text", "policy": "save_variant", "force": "on"}
    shown = act(superuser, Document, "upgrade_extraction", extracted.pk, **chosen).text
    assert "1 to extract, 0 made so already, 0 blocked." in shown
    fields = dict(re.findall(r'name="(plan_id|submission)" value="([^"]+)"', shown))
    more = chosen | fields | {"confirmed": "yes"}
    assert "Save as another version" in act(superuser, Document, "upgrade_extraction", extracted.pk, **more).text
    act(superuser, Document, "upgrade_extraction", extracted.pk, **more)
    run = ProcessingRun.objects.get()
    assert (run.actor, run.request["extraction_policy"], run.items.count()) == ("root", "save_variant", 1)
    nothing = act(superuser, Document, "upgrade_extraction", extracted.pk, policy="make_primary", extractor="text").text
    assert "0 to extract, 1 made so already, 0 blocked." in nothing
    assert "Start with" not in nothing
    changed = more | {"plan_id": "0" * 32, "submission": str(uuid.uuid4())}
    assert "Nothing was started" in act(superuser, Document, "upgrade_extraction", extracted.pk, **changed).text

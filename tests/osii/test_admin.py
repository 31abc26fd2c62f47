"""Django admin: every table can be looked at, what the product writes cannot be edited, actions ask for permission."""

import re
import uuid

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from coverage.admin_base import ListAdmin
from coverage.models import Chat, ChatFigures, Learner, MessageCoverage
from extraction.documents import services
from extraction.models import (
    Batch,
    Document,
    ExtractionVersion,
    ExtractorRule,
    LanguageModel,
    Promotion,
    Run,
)
from osii.library import methods
from osii.models import (
    ApiToken,
    ChunkVector,
    CollectionDocument,
    Made,
    Making,
    MakingSet,
    OutputSetting,
    ProcessingRun,
)
from tests.osii import rows
from tests.osii.admin_rows import everything
from tests.osii.library import rows as library_rows

pytestmark = pytest.mark.django_db

APPS = {"coverage", "graphctx", "extraction", "osii"}
MODELS = [model for model in admin.site._registry if model._meta.app_label in APPS]
# Memos, which say what other rows say, and members of what is shown as a whole.
UNSHOWN = {MessageCoverage, ChatFigures, Making, MakingSet, Made, ChunkVector, CollectionDocument}
DELETABLE = {LanguageModel, ExtractorRule, OutputSetting}
EDITABLE = {*DELETABLE, Learner, Chat}


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """Actions enqueue, and the queue dashboard looks at the queues."""


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def admin_url(model: type, page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_every_model_is_registered():
    from django.apps import apps

    expected = {model for label in APPS for model in apps.get_app_config(label).get_models()}
    assert set(MODELS) == expected - UNSHOWN


def test_what_the_product_writes_is_not_edited_here(superuser):
    everything()
    for model in MODELS:
        row = model.objects.first()
        if model not in DELETABLE:
            assert superuser.post(admin_url(model, "delete", row.pk), {"post": "yes"}).status_code == 403, model
        if model not in EDITABLE:
            if model is not ApiToken:  # made here, and not changed
                assert superuser.get(admin_url(model, "add")).status_code == 403, model
            assert superuser.post(admin_url(model, "change", row.pk), {}).status_code == 403, model
            assert 'name="_save"' not in superuser.get(admin_url(model, "change", row.pk)).text, model


def test_of_a_chat_only_the_title_changes(superuser):
    chat = rows.chat(title="Old")
    superuser.post(admin_url(Chat, "change", chat.pk), {"title": "New", "learner": "", "source": "x"})
    chat.refresh_from_db()
    assert (chat.title, chat.source) == ("New", "api")


def act(client: Client, model: type, action: str, *ids: object, **more: str):
    data = {"action": action, "_selected_action": [str(one) for one in ids], **more}
    return client.post(admin_url(model, "changelist"), data, follow=True)


def test_chats_can_be_extracted_and_aborted(superuser):
    chats = [rows.chat(), rows.chat()]
    ids = [chat.pk for chat in chats]
    asked = act(superuser, Chat, "extract_rest", *ids).text
    assert "What is unread of them, 160 tokens, will be read by the worker rules." in asked
    assert not Run.objects.exists()
    done = act(superuser, Chat, "extract_rest", *ids, confirmed="yes")
    assert "2 chats: a run for the rest is queued, running or about to follow one that stops." in done.text
    assert set(Run.objects.values_list("chat", "mode")) == {(chat.pk, "rest") for chat in chats}
    assert "The batch in flight is lost" in act(superuser, Chat, "abort", chats[0].pk).text
    assert "Abort requested for 1 run." in act(superuser, Chat, "abort", chats[0].pk, confirmed="yes").text
    said = LogEntry.objects.filter(object_id=str(chats[0].pk)).order_by("pk").values_list("change_message", flat=True)
    assert list(said) == ["Asked to extract the rest.", "Asked to abort the run."]
    assert "None of these chats has an active run." in act(superuser, Chat, "abort", chats[0].pk).text
    assert Run.objects.get(chat=chats[1]).status == Run.Status.QUEUED


def test_parked_batches_can_be_retried(superuser):
    parked = rows.batch(rows.chat(), "parked")
    fine = rows.batch(rows.chat())
    assert "80 tokens in all" in act(superuser, Batch, "retry_parked", parked.pk, fine.pk).text
    both = act(superuser, Batch, "retry_parked", parked.pk, fine.pk, confirmed="yes").text
    assert "1 parked batch(es) will be read again." in both
    parked.refresh_from_db()
    assert parked.status == Batch.Status.FAILED
    assert "None of these batches is parked." in act(superuser, Batch, "retry_parked", fine.pk).text


def test_too_many_rows_are_refused_and_nothing_else_is_said_of_them(superuser, monkeypatch):
    monkeypatch.setitem(ListAdmin.chosen.__kwdefaults__, "most", 1)
    parked = [rows.batch(rows.chat(), "parked").pk for _ in range(2)]
    for action in ("retry_parked", "split_parked"):
        for more in ({}, {"confirmed": "yes"}):
            said = act(superuser, Batch, action, *parked, **more).text
            assert "Choose at most 1 batches at a time." in said
            assert "None of these" not in said
    assert Batch.objects.filter(status="parked").count() == 2


@pytest.mark.parametrize("query", ["source__exact=%00", "source__gte=%00", f"created_at__year={'9' * 30}"])
def test_a_filter_that_the_database_cannot_be_asked_for_is_left_out(superuser, query):
    rows.chat(title="There")
    answer = superuser.get(f"{admin_url(Chat, 'changelist')}?{query}", follow=True)
    assert answer.redirect_chain == [(f"{admin_url(Chat, 'changelist')}?e=1", 302)]
    assert "There" in answer.text


def test_actions_need_their_permission(client):
    chat = rows.chat()
    parked = rows.batch(chat, "parked")
    version = rows.version(rows.document())
    client.force_login(rows.staff_user("view_chat", "view_batch", "view_extractionversion", "view_document"))
    for model, action, row in (
        (Chat, "extract_rest", chat), (Chat, "abort", chat), (Batch, "retry_parked", parked),
        (ExtractionVersion, "promote_to_primary", version), (Document, "upgrade_extraction", version.document),
        (Document, "roll_back", version.document),
    ):  # fmt: skip
        assert f'value="{action}"' not in client.get(admin_url(model, "changelist")).text
        act(client, model, action, row.pk, confirmed="yes")
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
    for version, kind in ((extracted.primary, "chunks"), (extracted.primary, "enrichment"), (other, "chunks")):
        library_rows.output(version, methods.wanted(kind))
    asked = act(superuser, ExtractionVersion, "promote_to_primary", other.pk)
    assert "take the place of" in asked.text
    assert "2 outputs become stale." in asked.text
    assert "1 made from this version before is used again." in asked.text
    extracted.refresh_from_db()
    assert extracted.primary_id == before
    expected = re.search(r'name="expected_primary" value="([^"]+)"', asked.text).group(1)
    more = {"confirmed": "yes", "expected_primary": expected, "reason": "Better."}
    done = act(superuser, ExtractionVersion, "promote_to_primary", other.pk, **more)
    assert f"Version {other.pk} is in force now." in done.text
    extracted.refresh_from_db()
    assert extracted.primary_id == other.pk
    assert Promotion.objects.order_by("-created_at")[0].actor == "root"
    assert LogEntry.objects.get().get_change_message() == "Promoted to primary."

    asked = act(superuser, Document, "roll_back", extracted.pk).text
    assert f"{before} is in force again in the place of {other.pk}." in asked
    assert "1 output made from" in asked
    assert "2 outputs made from" in asked
    expected = re.search(r'name="expected_primary" value="([^"]+)"', asked).group(1)
    stale = act(superuser, Document, "roll_back", extracted.pk, confirmed="yes", expected_primary="old").text
    assert "Nothing was changed" in stale
    more = {"confirmed": "yes", "expected_primary": expected, "reason": "It was better."}
    assert "is in force again." in act(superuser, Document, "roll_back", extracted.pk, **more).text
    extracted.refresh_from_db()
    assert extracted.primary_id == before
    last = Promotion.objects.order_by("-created_at")[0]
    assert (last.actor, last.reason, last.takes_back.after_id) == ("root", "It was better.", other.pk)
    assert "that can be taken back" in act(superuser, Document, "roll_back", rows.document().pk).text


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

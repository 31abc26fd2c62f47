"""Lists: columns that sort, filters whose state is the URL, and acting on many rows at once."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.models import Chat
from extraction.models import Batch, Candidate, Document, Resolution, Run
from graphctx.models import Proposition
from osii.library import methods
from osii.models import ChatImport, Collection, OutputSetting, ProcessingRun
from osii.web import bulk_actions
from tests.osii import review_rows, rows
from tests.osii.library import rows as library_rows
from tests.osii.library.conftest import store

__all__ = ["store"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queue(rq_connection) -> None:
    """Pages look at the queues."""


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("boss"))
    return client


def titles(client: Client, name: str, **query: Any) -> list[str]:
    html = client.get(reverse(name), query).text
    return re.findall(r'<th scope="row" class="cell-title[^"]*"><(?:a|span)[^>]*>([^<]*)<', html)


def ask(client: Client, name: str, action: str, *picked: Any, **more: Any) -> Any:
    field = bulk_actions.LISTS[name].field
    return client.post(reverse("bulk", args=[name, action]), {field: picked, **more})


def act(client: Client, name: str, action: str, *picked: Any, **more: Any) -> str:
    """Confirm as the page that was asked shows it; what is said after it."""
    page = ask(client, name, action, *picked, **more)
    assert page.status_code == 200
    fields = confirmed(page, name) | more
    return client.post(reverse("bulk", args=[name, action]), fields, follow=True).text


def confirmed(page: Any, name: str) -> dict[str, Any]:
    """What the button of a page that asks sends."""
    kept = dict(re.findall(r'<input type="hidden" name="(rows|filters|everything)" value="([^"]*)"', page.text))
    field = bulk_actions.LISTS[name].field
    return {**kept, field: re.findall(rf'name="{field}" value="([^"]*)"', page.text), "confirmed": "1"}


# --- Columns and filters ------------------------------------------------------------------------------------------------


def test_the_head_of_a_column_sorts_and_says_how(boss):
    for title in ("b", "a", "c"):
        rows.chat(title=title)
    head = re.compile(r'<th scope="col"([^>]*)><a class="sort" id="by-title" href="([^"]*)"')
    first = head.search(boss.get("/chats/", {"q": ""}).text)
    assert first.groups() == ("", "/chats/?sort=title")
    up = head.search(boss.get("/chats/?sort=title&learner=").text)
    assert up.groups() == (' aria-sort="ascending"', "/chats/?sort=-title")
    assert titles(boss, "chats", sort="title") == ["a", "b", "c"]
    assert titles(boss, "chats", sort="-title") == ["c", "b", "a"]
    said = re.search(r'aria-sort="(\w+)"><a class="sort" id="by-said-last" href="([^"]*)"', boss.get("/chats/").text)
    assert said.groups() == ("descending", "/chats/?sort=oldest")


@pytest.mark.parametrize("name", ["chats", "documents", "propositions", "review", "activity", "imports", "collections"])
def test_a_value_that_is_not_allowed_is_named_and_changes_nothing(boss, name):
    page = boss.get(reverse(name), {"sort": "sideways", "state": "asleep", "kind": "odd", "status": "?", "stray": "1"})
    assert page.status_code == 200
    assert "is not one of the available choices" in page.text or name in {"collections"}
    assert page.context["filtered"] is False
    for described in re.findall(r'aria-describedby="([^"]*)"', page.text):
        assert all(f'id="{one}"' in page.text for one in described.split()), described


@pytest.mark.parametrize(("name", "field"), [("propositions", "chat"), ("review", "chat"), ("search", "document")])
def test_what_is_wrong_in_a_field_that_nobody_sees_is_said_too(boss, name, field):
    """Otherwise a link to what was erased shows everything, as if it had all come from there."""
    assert f'id="error-{field}"' in boss.get(reverse(name), {field: "gone"}).text
    assert f'id="error-{field}"' not in boss.get(reverse(name)).text


def test_imports_collections_and_batches_are_filtered(boss):
    ChatImport.objects.create(files=[{"name": "one.json", "size": 1}], learner="Ada")
    ChatImport.objects.create(files=[{"name": "two.json", "size": 1}], status="failed", finished_at=timezone.now())
    assert titles(boss, "imports", state="failed") == ["two.json"]
    assert titles(boss, "imports", q="ONE") == titles(boss, "imports", q="ada") == ["one.json"]
    assert titles(boss, "imports", q="name") == titles(boss, "imports", q="size") == []
    small, large = Collection.objects.create(name="b small"), Collection.objects.create(name="a large")
    large.documents.add(library_rows.document())
    assert [one.name for one in boss.get("/collections/", {"sort": "smallest"}).context["page"]] == [
        small.name,
        large.name,
    ]
    assert [one.name for one in boss.get("/collections/", {"q": "LARGE"}).context["page"]] == [large.name]
    chat = rows.chat()
    parked = rows.batch(chat, "parked", positions=range(1, 2))
    rows.batch(chat, positions=range(2, 3))
    url = reverse("chat-batches", args=[chat.pk])
    assert [one.pk for one in boss.get(url, {"state": "parked"}).context["batches"]] == [parked.pk]


def test_activity_is_sorted_and_filtered_by_kind(boss):
    now = timezone.now()
    quick = rows.run(rows.chat(title="quick"), started_at=now, finished_at=now)
    rows.run(rows.chat(title="slow"), started_at=now - timedelta(hours=1), finished_at=now)
    rows.run(rows.chat(title="waiting"), "queued")
    ChatImport.objects.create(files=[{"name": "chats.json", "size": 3}])
    assert titles(boss, "activity", kind="chat", sort="longest") == ["slow", "quick", "waiting"]
    assert titles(boss, "activity", kind="chat", sort="-started") == ["slow", "quick", "waiting"]
    assert titles(boss, "activity", kind="import") == ["chats.json"]
    assert titles(boss, "activity", kind="chat", view="progress") == ["waiting"]
    html = boss.get(reverse("activity"), {"view": "completed", "sort": "longest"}).text
    assert f'value="chat:{quick.pk}"' in html
    assert 'href="/activity/?sort=-longest&amp;view=completed"' in html


def test_stale_outputs_are_shown_with_their_reason(boss):
    stale, current = library_rows.document("stale.md"), library_rows.document("current.md")
    for document in (stale, current):
        version = library_rows.version(document)
        wanted = methods.wanted("chunks")
        library_rows.output(version, wanted, **({"method_version": "0"} if document == stale else {}))
    page = boss.get(reverse("documents"))
    found = {document.filename: document.stale for document in page.context["page"].object_list}
    assert found == {"stale.md": [("Search chunks", "method version changed")], "current.md": []}
    assert "Search chunks: method version changed" in page.text
    with CaptureQueriesContext(connection) as few:
        boss.get(reverse("documents"))
    for number in range(8):
        library_rows.output(library_rows.version(library_rows.document(f"{number}.md")), methods.wanted("chunks"))
    with CaptureQueriesContext(connection) as many:
        boss.get(reverse("documents"))
    assert len(few) == len(many)
    assert not OutputSetting.objects.exists()


# --- Many rows at once --------------------------------------------------------------------------------------------------


def test_the_rest_of_chosen_chats_is_extracted_once_and_only_when_confirmed(boss):
    one, two = rows.chat(title="one"), rows.chat(title="two")
    read = rows.chat(title="read")
    rows.batch(read)
    page = ask(boss, "chats", "rest", one.pk, read.pk, "nonsense")
    assert "A run is requested for each" in page.text
    assert "Extract the rest: 2 chats?" in page.text
    assert "1 chat of these with 80 uncovered tokens." in page.text
    assert not Run.objects.filter(status="queued").exists()
    see_it = f'<a href="{reverse("chat", args=[one.pk])}">See it</a>'
    said = f"1 run requested. 1 chat had nothing to read. {see_it}"
    assert said in act(boss, "chats", "rest", one.pk, read.pk)
    assert f"No new run requested. 1 was active already. {see_it}" in act(boss, "chats", "rest", one.pk)
    assert "No new run requested. 1 chat had nothing to read.</span>" in act(boss, "chats", "rest", read.pk)
    assert "1 run requested. 1 more was active" in act(boss, "chats", "rest", everything="1", filters="state=unread")
    assert {run.chat_id for run in Run.objects.filter(status="queued")} == {one.pk, two.pk}
    assert "2 runs told to stop" in act(boss, "chats", "abort", one.pk, two.pk)
    assert "0 runs told to stop" in act(boss, "chats", "abort", one.pk, two.pk)


def test_parked_batches_of_chosen_chats_are_retried(boss):
    batch = rows.batch(rows.chat(), "parked")
    other = rows.batch(rows.chat(), "parked")
    assert "1 parked batch will be read again" in act(boss, "chats", "parked", batch.chat_id)
    assert "0 parked batches" in act(boss, "chats", "parked", batch.chat_id)
    assert set(Batch.objects.filter(status="parked")) == {other}


def test_a_wrong_filter_chooses_nothing_and_a_changed_list_asks_again(boss):
    rows.chat(title="one")
    said = boss.post(
        reverse("bulk", args=["chats", "rest"]), {"everything": "1", "filters": "state=asleep"}, follow=True
    )
    assert "No chat is chosen" in said.text
    rows.chat(title="two")
    for forged in ("", "1", "2"):
        late = ask(boss, "chats", "rest", everything="1", filters="", rows=forged, confirmed="1")
        assert late.status_code == 409
        assert "Other rows match by now" in late.text
    assert not Run.objects.exists()


def test_as_many_other_rows_are_not_those_that_were_confirmed(boss):
    named = rows.chat(title="lamp one")
    asked = confirmed(ask(boss, "chats", "rest", everything="1", filters="q=lamp"), "chats")
    Chat.objects.filter(pk=named.pk).update(title="another")
    rows.chat(title="lamp two")
    late = boss.post(reverse("bulk", args=["chats", "rest"]), asked)
    assert late.status_code == 409
    assert "lamp two" in late.text
    assert not Run.objects.exists()
    assert (
        "1 run requested"
        in boss.post(reverse("bulk", args=["chats", "rest"]), confirmed(late, "chats"), follow=True).text
    )


def test_what_is_sent_twice_does_not_go_on_to_the_rows_after_it(boss, store, monkeypatch):
    for name in ("a.md", "b.md", "c.md"):
        library_rows.document(name)
    monkeypatch.setitem(bulk_actions.LISTS, "documents", replace(bulk_actions.DOCUMENTS, most=1))
    asked = confirmed(ask(boss, "documents", "erase", everything="1", filters="sort=name"), "documents")
    for status in (302, 409, 409):
        again = boss.post(reverse("bulk", args=["documents", "erase"]), asked | {"reason": "a copy"})
        assert again.status_code == status
        assert set(Document.objects.values_list("filename", flat=True)) == {"b.md", "c.md"}


def test_more_than_fits_is_said(boss, monkeypatch):
    for number in range(3):
        rows.chat(title=f"chat {number}")
    monkeypatch.setitem(bulk_actions.LISTS, "chats", replace(bulk_actions.CHATS, most=2))
    page = ask(boss, "chats", "rest", everything="1")
    assert "More are chosen than can be done at once: these are the first 2" in page.text
    assert "2 runs requested" in act(boss, "chats", "rest", everything="1")


def test_a_bulk_action_needs_its_permission_and_is_offered_to_nobody_else(client):
    chat = rows.chat()
    client.force_login(rows.staff_user("change_run"))
    html = client.get("/chats/").text
    assert ">Abort…" in re.sub(r"<svg.*?</svg> ", "", html)
    assert "Extract the rest…" not in html
    assert ask(client, "chats", "rest", chat.pk).status_code == 403
    assert ask(client, "review", "accept", chat.pk).status_code == 403
    assert client.post(reverse("bulk", args=["graph", "rest"])).status_code == 404
    client.force_login(rows.staff_user(username="viewer"))
    assert 'name="pick"' not in client.get("/chats/").text


def test_candidates_are_decided_together_each_with_its_record(boss):
    batch = review_rows.read(review_rows.talk("Ice floats on water.", "Yes."))
    quote = review_rows.item(batch, batch.environment.content["evidence"][0]["id"], "Ice floats")
    first, second, third = (
        review_rows.waiting(batch, claim, quote) for claim in ("Ice floats.", "Ice is light.", "Ice swims.")
    )
    asked = confirmed(ask(boss, "review", "reject", second.pk, third.pk), "review")
    missing = boss.post(reverse("bulk", args=["review", "reject"]), asked | {"reason": " "})
    assert missing.status_code == 409
    assert "Say why" in missing.text
    assert "1 candidate accepted" in act(boss, "review", "accept", first.pk)
    said = act(boss, "review", "reject", first.pk, second.pk, third.pk, reason="not about the topic")
    assert "2 candidates rejected" in said
    assert "1 candidate left as before" in said
    assert not Candidate.objects.open().exists()
    record = Resolution.objects.filter(candidate=second).latest("created_at", "pk")
    assert (record.actor, record.outcome) == ("boss", Resolution.Outcome.DISCARD)
    assert "not about the topic" in record.reason


def test_propositions_are_forgotten_and_restored_together(boss):
    chat = rows.chat()
    made = [rows.proposition(f"Claim {number}.") for number in range(3)]
    for one in made:
        rows.instance(one, chat)
    for _ in range(2):
        assert "2 propositions forgotten" in act(boss, "propositions", "forget", made[0].pk, made[1].pk)
    assert Proposition.objects.filter(state="forgotten").count() == 2
    assert "2 propositions in force" in act(boss, "propositions", "restore", everything="1", filters="state=forgotten")
    assert not Proposition.objects.filter(state="forgotten").exists()


def test_documents_are_removed_together_with_a_reason(boss, store):
    gone, kept = library_rows.document("gone.md"), library_rows.document("kept.md")
    assert "This cannot be undone" in ask(boss, "documents", "erase", gone.pk).text
    assert Document.objects.count() == 2
    assert "1 document removed for good." in act(boss, "documents", "erase", gone.pk, reason="a copy")
    assert list(Document.objects.all()) == [kept]


def test_activities_of_every_kind_are_retried_cancelled_and_acknowledged(boss):
    now = timezone.now()
    failed = rows.run(rows.chat(), "failed", finished_at=now)
    waits = rows.run(rows.chat(), "queued")
    upload = ChatImport.objects.create(files=[{"name": "chats.json", "size": 3}])
    library = library_rows.run(library_rows.document())
    library.items.update(status="failed", error="chunks: no_text: gone", finished_at=now)
    ProcessingRun.objects.update(status="failed", error="all failed", finished_at=now)
    keys = (f"chat:{failed.pk}", f"chat:{waits.pk}", f"import:{upload.pk}", f"processing:{library.pk}")
    assert "1 activity acknowledged. 3 left as before." in act(boss, "activity", "acknowledge", *keys)
    assert "2 activities started again. 2 left" in act(boss, "activity", "retry", *keys)
    assert "0 activities started again. 4 left" in act(boss, "activity", "retry", *keys)
    assert Run.objects.filter(chat=failed.chat_id).count() == 2
    said = act(boss, "activity", "cancel", everything="1", filters="view=progress")
    assert "4 activities told to stop" in said
    assert not Run.objects.filter(status__in=Run.ACTIVE).exists()


def test_a_run_whose_model_is_gone_does_not_keep_the_others_from_being_retried(boss):
    now = timezone.now()
    gone = rows.run(rows.chat(), "failed", finished_at=now, model="gone")
    fine = rows.run(rows.chat(), "failed", finished_at=now)
    said = act(boss, "activity", "retry", f"chat:{gone.pk}", f"chat:{fine.pk}")
    assert "1 activity started again. 1 left as before." in said
    assert Run.objects.get(status="queued").chat_id == fine.chat_id


def test_of_mixed_activities_only_those_are_touched_that_the_account_may_change(client):
    run = rows.run(rows.chat(), "queued")
    upload = ChatImport.objects.create(files=[])
    client.force_login(rows.staff_user("change_run"))
    assert "1 activity told to stop. 1 left" in act(
        client, "activity", "cancel", f"chat:{run.pk}", f"import:{upload.pk}"
    )
    upload.refresh_from_db()
    assert upload.status == "queued"
    client.force_login(
        rows.account("view_processingrun", "view_document", "change_processingrun", username="librarian")
    )
    for chosen in ({"pick": f"chat:{run.pk}"}, {"everything": "1", "filters": "view=all"}):
        said = client.post(reverse("bulk", args=["activity", "cancel"]), chosen, follow=True).text
        assert "No activity is chosen" in said

"""A processing run's page while it goes on, and the list of everything that works in the background."""

import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from extraction.models import Run
from osii.models import ChatImport, ProcessingItem, ProcessingRun
from osii.web import activity_list
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.library_pages import queries, queue, staff

__all__ = ["queue", "staff"]

pytestmark = pytest.mark.django_db


def test_a_run_is_paused_resumed_cancelled_and_only_its_failures_are_retried(staff):
    documents = [library_rows.document(f"{n}.md") for n in range(3)]
    run = library_rows.run(*documents)

    def act(action: str) -> str:
        return staff.post(reverse("processing-action", args=[run.pk, action]), follow=True).text

    assert "data-poll" in staff.get(reverse("processing", args=[run.pk])).text
    assert "Paused" in act("pause")
    assert "data-poll" not in staff.get(reverse("processing", args=[run.pk])).text
    assert "It goes on" in act("resume")
    ProcessingItem.objects.filter(run=run, position=1).update(
        status="failed", error="chunks: no_text: gone", finished_at=timezone.now()
    )
    assert "1 failed document queued again" in act("retry")
    assert "Cancelled" in act("cancel")
    assert "Nothing was changed" in act("cancel")
    assert staff.post(reverse("processing-action", args=[run.pk, "destroy"])).status_code == 404
    staff.force_login(rows.staff_user(username="viewer"))
    assert staff.post(reverse("processing-action", args=[run.pk, "pause"])).status_code == 403


def test_failures_that_somebody_has_seen_ask_for_attention_no_more(staff):
    run = library_rows.run(library_rows.document())
    run.items.update(status="failed", error="chunks: no_text: gone", finished_at=timezone.now())
    ProcessingRun.objects.update(status="failed", error="all failed", finished_at=timezone.now())
    assert activity_list.counts()["attention"] == 1
    page = reverse("processing", args=[run.pk])
    assert "Leave it so" in staff.get(page).text
    act = reverse("processing-action", args=[run.pk, "acknowledge"])
    assert "asks for attention no more" in staff.post(act, follow=True).text
    assert "Nothing was changed" in staff.post(act, follow=True).text
    assert activity_list.counts()["attention"] == 0
    assert "Failures seen by" in staff.get(page).text


def test_a_fragment_is_sent_only_when_something_changed(staff):
    run = library_rows.run(library_rows.document())
    live = reverse("processing-live", args=[run.pk])
    seen = staff.get(reverse("processing", args=[run.pk])).context["seen"]
    assert staff.get(live, {"seen": seen}, HTTP_HX_REQUEST="true").status_code == 204
    library_rows.claimed(run.items.get())
    changed = staff.get(live, {"seen": seen}, HTTP_HX_REQUEST="true")
    assert changed.status_code == 200
    assert "<html" not in changed.text
    assert staff.get(live)["Location"] == reverse("processing", args=[run.pk])


def test_activity_holds_every_kind_and_says_what_needs_attention(staff):
    rows.run(rows.chat(), "failed", error="it broke", finished_at=timezone.now())
    ChatImport.objects.create(files=[{"name": "chats.json", "size": 3}])
    library_rows.run(library_rows.document())
    html = staff.get(reverse("activity")).text
    for shown in ("A chat", "chats.json", "Process library: synthesis"):
        assert shown in html
    assert activity_list.counts() == {"all": 3, "attention": 1, "progress": 2, "completed": 1}
    attention = staff.get(reverse("activity"), {"view": "attention"}).text
    assert "it broke" in attention
    assert "chats.json" not in attention


def test_paging_through_activity_shows_each_once_also_at_one_moment(staff):
    at = timezone.now()
    for _ in range(5):
        ChatImport.objects.create(files=[])
    ChatImport.objects.update(created_at=at)
    made = [rows.run(rows.chat(1), "succeeded", finished_at=at) for _ in range(activity_list.PER_PAGE)]
    Run.objects.update(queued_at=at)
    everything = activity_list.ActivityFilter({}, Run.objects.none())
    shown = [row.url for number in ("1", "2") for row in activity_list.listed("all", number, everything).object_list]
    assert len(shown) == len(set(shown)) == len(made) + 5


def test_activity_asks_as_often_for_many_as_for_few(staff):
    def more(count: int) -> None:
        for _ in range(count):
            rows.run(rows.chat(1), "succeeded", finished_at=timezone.now())
            ChatImport.objects.create(files=[])
            library_rows.run(library_rows.document(uuid.uuid4().hex))

    more(2)
    queries(staff, reverse("activity"))
    few = queries(staff, reverse("activity"))
    more(6)
    assert queries(staff, reverse("activity")) == few

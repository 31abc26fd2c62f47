"""One proposition: its levels as a chart and a table, its links, forgetting and restoring it with a confirmation."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from graphctx.models import Level, Link, Proposition
from osii.web.levels import LANES, level_chart
from tests.osii import rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user("change_proposition"))
    return client


def page(client: Client, claim: Proposition):
    return client.get(reverse("proposition", args=[claim.pk]))


def test_the_chart_says_in_words_what_it_draws(staff):
    chat = rows.chat()
    claim = rows.proposition()
    for position, (level, live) in enumerate([("resisted", True), ("shaky", False), ("solid", True)], start=1):
        rows.instance(
            claim, chat, position, level=level, live=live, occurred_at=datetime(2026, 3, position, 9, tzinfo=UTC)
        )
    html = page(staff, claim).text
    assert (
        "Levels in order: resisted, 2026-03-01 09:00; shaky, 2026-03-02 09:00, quote no longer stands; "
        "solid, 2026-03-03 09:00"
    ) in html
    assert html.count("<circle") == 3
    assert [f"2026-03-0{day}" in html[html.index("level-times") :].partition("</svg>")[0] for day in (1, 2, 3)] == [
        True
    ] * 3
    assert html.count("level-mark level-shaky is-gone") == 1
    table = html[html.index("Levels that the evidence shows") :]
    assert table.index("resisted") < table.index("shaky") < table.index("solid")


def test_a_chart_keeps_its_marks_inside_and_its_lanes_apart():
    assert set(LANES) == set(Level)
    claim, chat = rows.proposition(), rows.chat(5)
    for count in (1, 5):
        made = [rows.instance(claim, chat, n, level=LANES[n - 1], char_start=count) for n in range(1, count + 1)]
        chart = level_chart(made)
        assert all(0 < mark.x < 100 for mark in chart.marks)
        assert [mark.y for mark in chart.marks] == [lane.y for lane in chart.lanes][:count]
        assert [mark.was for mark in chart.marks] == [None, *((mark.x, mark.y) for mark in chart.marks)][:count]


def test_three_times_at_most_stand_below_a_chart_and_of_one_day_the_hour():
    claim, chat = rows.proposition(), rows.chat(5)
    for hour in range(1, 6):
        at = datetime(2026, 3, 1, hour, tzinfo=UTC)
        rows.instance(claim, chat, hour, level="solid", occurred_at=at)
    made = list(claim.instances.order_by("occurred_at"))
    ticks = {count: [(tick.text, tick.anchor) for tick in level_chart(made[:count]).ticks] for count in (0, 1, 2, 5)}
    assert ticks == {
        0: [],
        1: [("2026-03-01 01:00", "middle")],
        2: [("2026-03-01 01:00", "start"), ("02:00", "end")],
        5: [("2026-03-01 01:00", "start"), ("03:00", "middle"), ("05:00", "end")],
    }


def test_links_are_shown_from_either_end(staff):
    old, new = rows.proposition("I work at A.", state="superseded"), rows.proposition("I joined B.")
    Link.objects.create(learner=old.learner, source=new, target=old, type="supersedes", reason="Changed jobs.")
    html = page(staff, old).text
    assert "superseded by" in html
    assert f'href="/propositions/{new.pk}/" dir="auto">I joined B.' in html
    assert "Changed jobs." in html
    assert ">supersedes<" in page(staff, new).text


def test_forgetting_asks_first_and_restoring_too(staff):
    claim = rows.proposition()
    rows.instance(claim, rows.chat())
    url = reverse("proposition-forget", args=[claim.pk])
    assert url in page(staff, claim).text
    asked = staff.get(url)
    assert "1 piece of evidence" in asked.text
    assert Proposition.objects.get().state == "live"
    done = staff.post(url, follow=True)
    assert "Forgotten." in done.text
    assert Proposition.objects.get().state == "forgotten"
    back = reverse("proposition-restore", args=[claim.pk])
    assert back in done.text
    assert staff.get(back).status_code == 200
    assert "Restored." in staff.post(back, follow=True).text
    assert Proposition.objects.get().state == "live"


def test_what_was_erased_cannot_be_restored(staff):
    claim = rows.proposition("(forgotten)", state="forgotten")
    response = staff.post(reverse("proposition-restore", args=[claim.pk]), follow=True)
    assert "cannot be restored" in response.text
    assert Proposition.objects.get().state == "forgotten"


def test_only_who_may_change_propositions_forgets(client):
    claim = rows.proposition()
    client.force_login(rows.staff_user(username="viewer"))
    url = reverse("proposition-forget", args=[claim.pk])
    assert url not in page(client, claim).text
    assert client.get(url).status_code == 403
    assert client.post(url).status_code == 403


def test_the_page_asks_as_often_for_many_links_as_for_one(staff):
    hub = rows.proposition("Hub.")
    counts = []
    for size in (1, 30):
        for number in range(size):
            Link.objects.create(
                learner=hub.learner, source=hub, target=rows.proposition(f"{size} {number}"), type="follows"
            )
        with CaptureQueriesContext(connection) as captured:
            assert page(staff, hub).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1]

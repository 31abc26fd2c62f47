"""The chats list, a chat's page and its live state, and what staff can do to a chat."""

import re
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from coverage.services import get_or_create_learner
from extraction.models import Batch, LanguageModel, ModelUse, Run
from extraction.selectors import StateGroup, grouped_states, message_states
from osii.web import live, strip
from osii.web.markdown import render
from osii.web.transcript import blocks
from tests import factories
from tests.osii import rows

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "results"}
EXTRACT = ("add_run", "change_run", "change_batch")


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """Queued runs look at the workers."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user(*EXTRACT))
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client


def titles(html: str) -> set[str]:
    return set(re.findall(r'href="/chats/[0-9a-f-]{36}/" dir="auto">([^<]+)</a>', html))


# --- The list ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def chats() -> None:
    """One chat in each state of the filter, named after it."""
    rows.batch(rows.chat(title="read"))
    rows.chat(title="unread")
    rows.chat(count=1, tokens=4000, title="due")
    rows.batch(rows.chat(title="parked"), "parked", run=None)
    rows.run(rows.chat(title="running"), "running")
    rows.run(rows.chat(title="failed", learner="Berta"), "failed")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("read", {"read"}),
        ("unread", {"unread", "due", "parked", "running", "failed"}),
        ("due", {"due"}),
        ("parked", {"parked"}),
        ("attention", {"parked", "failed"}),
        ("running", {"running"}),
        ("failed", {"failed"}),
        ("", {"read", "unread", "due", "parked", "running", "failed"}),
    ],
)
def test_the_state_filter(viewer, chats, state, expected):
    assert titles(viewer.get("/chats/", {"state": state}).text) == expected


def test_search_learner_and_order(viewer, chats):
    assert titles(viewer.get("/chats/", {"q": "NREA"}).text) == {"unread"}
    response = viewer.get("/chats/", {"q": "nothing like it"})
    assert "No chat matches these filters" in response.text
    learner = next(chat.learner for chat in viewer.get("/chats/").context["page"] if chat.title == "failed")
    assert titles(viewer.get("/chats/", {"learner": learner.pk}).text) == {"failed"}
    page = viewer.get("/chats/", {"sort": "title"}).context["page"]
    assert [chat.title for chat in page] == sorted(chat.title for chat in page)


def test_a_filter_that_is_not_allowed_is_named_and_filters_nothing(viewer, chats):
    html = viewer.get("/chats/", {"state": "bogus", "learner": "bogus", "page": "bogus"}).text
    assert len(titles(html)) == 6
    assert "bogus is not one of the available choices" in html


def test_the_fraction_and_the_badges(viewer):
    rows.batch(rows.chat(count=4, tokens=1450, title="partly"), positions=range(1, 3))
    html = viewer.get("/chats/").text
    assert "2,900 of 5,800 tokens read" in html
    assert "<span>uncovered</span>" in html
    assert "<span>due</span>" not in html


def test_htmx_gets_the_table_alone_and_a_short_url(viewer, chats):
    response = viewer.get("/chats/", {"q": "due", "learner": "", "state": ""}, **HTMX)
    assert response["HX-Push-Url"] == "/chats/?q=due"
    assert "<html" not in response.text
    assert response.text.count('id="results"') == 1
    assert titles(response.text) == {"due"}


def test_fifty_chats_on_a_page_and_links_that_keep_the_filter(viewer):
    for number in range(53):
        rows.chat(count=1, title=f"chat {number}")
    first = viewer.get("/chats/", {"q": "chat"})
    assert len(titles(first.text)) == 50
    assert "1–50 of 53 chats" in first.text
    assert 'href="/chats/?q=chat&amp;page=2"' in first.text
    assert len(titles(viewer.get("/chats/", {"q": "chat", "page": 99}).text)) == 3


# --- The page ---------------------------------------------------------------------------------------------------------


def test_a_message_shows_its_state_and_quizzes_their_outcome(viewer):
    options = {"question": "What floats?", "options": ["Ice", "Iron"], "answer": "Ice"}
    right = {
        "type": "tool-quiz",
        "input": options,
        "output": {"answer": "Ice", "correct": True, "explanation": "Less dense."},
    }
    wrong = {"type": "tool-quiz", "input": options, "output": {"answer": "Iron", "correct": False}}
    pending = {"type": "tool-quiz", "state": "input-available", "input": options}
    chat = factories.chat(
        factories.message("q", [right, wrong, pending], "assistant"), factories.message("e", [], "user")
    )
    html = viewer.get(reverse("chat", args=[chat.pk])).text
    assert re.findall(r'class="part-quiz quiz-(\w+)"', html) == ["right", "wrong", "unanswered"]
    assert html.count("their answer") == 2
    assert html.count("right answer") == 1
    assert "Less dense." in html
    assert "nothing to extract" in html


def test_blocks_leave_nothing_out_but_steps():
    parts = [
        {"type": "step-start"},
        factories.text("Say"),
        factories.text("   "),
        {"type": "reasoning", "text": "Think"},
        {"type": "dynamic-tool", "toolName": "search", "state": "output-available", "input": {"q": 1}, "output": [1]},
        {"type": "dynamic-tool", "toolName": "search", "state": "output-error", "input": {}, "errorText": "away"},
        {"type": "tool-pay", "state": "output-denied", "input": {}},
        {"type": "tool-slow", "state": "input-streaming", "input": None},
        {"type": "file", "filename": "a.png", "mediaType": "image/png", "url": "data:,"},
        {"type": "source-document", "title": "Notes", "mediaType": "text/plain"},
        {"type": "data-plan", "data": {"a": 1}},
        {"type": "of the future", "x": 1},
    ]
    shown = blocks("assistant", parts)
    assert [block.kind for block in shown] == [
        "text", "reasoning", "tool", "tool", "tool", "tool", "file", "source", "other", "other",
    ]  # fmt: skip
    assert [block.data["flag"] for block in shown if block.kind == "tool"] == ["", "error", "denied", "writing"]
    assert shown[2].data["name"] == "search"


@pytest.mark.parametrize(
    ("asked", "output", "given", "chosen"),
    [
        ({"question": "Q", "options": ["a", "b"], "answer": 1}, {"answer": 0, "correct": False}, "0", [True, False]),
        ({"question": "Q", "options": [{"text": "a"}]}, {"answer": "a", "correct": True}, "a", [True]),
        ({"question": "Q"}, {"answer": "free text", "correct": True}, "free text", []),
        ({"question": "Q", "options": "not a list"}, {"correct": True}, "", []),
    ],
)
def test_quiz_answers_by_text_by_index_and_in_other_shapes(asked, output, given, chosen):
    (block,) = blocks("assistant", [{"type": "tool-quiz", "input": asked, "output": output}])
    assert block.kind == "quiz"
    assert block.data["given"] == given
    assert [option["chosen"] for option in block.data["options"]] == chosen


def test_an_assistants_markdown_is_rendered_and_a_persons_text_is_not(viewer):
    chat = factories.chat(
        factories.message("u", "**mine**"), factories.message("a", "**yours**\n\n# Head", "assistant")
    )
    html = viewer.get(reverse("chat", args=[chat.pk])).text
    assert "**mine**" in html
    assert "<strong>yours</strong>" in html
    assert "<h1>Head" not in html


def test_markdown_is_safe_and_bounded():
    html = render('[a](javascript:x) ![i](https://e.example/i.png) <b onclick="x">\n\n|a|b|\n|-|-:|\n|1|2|')
    assert "javascript:x" in html
    assert 'href="javascript' not in html
    assert "<img" not in html
    assert "<b " not in html
    assert "style=" not in html
    assert '<td class="num">2</td>' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert render("x" * 50_001) is None


def test_a_long_transcript_is_paged_and_the_strip_links_to_the_right_page(viewer):
    chat = factories.chat(*[factories.message(f"m{n}", f"Text {n}.") for n in range(1, 404)])
    first = viewer.get(reverse("chat", args=[chat.pk])).text
    assert first.count('<article class="message') == 200
    assert f'href="/chats/{chat.pk}/?page=2#m-201"' in first
    assert f'href="/chats/{chat.pk}/#m-200"' in first
    last = viewer.get(reverse("chat", args=[chat.pk]), {"page": 3}).text
    assert 'id="m-403"' in last
    assert last.count('<article class="message') == 3


def test_run_history_batches_and_outcomes(viewer):
    chat = rows.chat()
    done = rows.batch(chat, staged_count=3, positions=range(1, 3))
    for order, outcome in enumerate(("new", "new", "discard"), start=1):
        claim = rows.proposition(f"Claim {order}.") if outcome == "new" else None
        rows.resolution(rows.candidate(done, order=order), claim, outcome)
    rows.batch(chat, "parked", positions=range(3, 5), error="The model did not answer.", failures=3)
    response = viewer.get(reverse("chat", args=[chat.pk]))
    batches = {batch.status: batch for batch in response.context["batches"]}
    assert batches["succeeded"].outcomes == [("new", 2), ("discard", 1)]
    assert "The model did not answer." in response.text
    assert "batch-retry" not in response.text
    assert "Retry" not in response.text  # this account may not


def test_many_batches_are_behind_a_link(viewer):
    chat = rows.chat(count=25)
    for position in range(1, 26):
        rows.batch(chat, positions=range(position, position + 1))
    html = viewer.get(reverse("chat", args=[chat.pk])).text
    assert html.count('<li class="batch-row">') == 20
    assert "All 25 batches" in html
    assert viewer.get(reverse("chat-batches", args=[chat.pk])).text.count('<li class="batch-row">') == 25


def test_a_batch_page_tells_what_came_of_each_candidate(viewer):
    chat = rows.chat()
    done = rows.batch(chat, staged_count=1)
    claim = rows.proposition()
    rows.resolution(rows.candidate(done, "Ice floats on water."), claim)
    html = viewer.get(reverse("batch", args=[done.pk])).text
    assert "Ice floats on water." in html
    assert f'href="/propositions/{claim.pk}/"' in html
    assert f'href="/chats/{chat.pk}/#m-1"' in html
    empty = rows.batch(rows.chat(), reason="Only greetings.")
    html = viewer.get(reverse("batch", args=[empty.pk])).text
    assert "Nothing worth keeping" in html
    assert "Only greetings." in html


# --- The strip --------------------------------------------------------------------------------------------------------


def test_the_strip_has_a_segment_per_message_as_wide_as_its_tokens():
    groups = [
        StateGroup(n - 1, state, "user", 1, tokens, n, n)
        for n, tokens, state in ((1, 300, "covered"), (2, 100, "parked"), (3, 0, "empty"))
    ]
    made = strip.build(groups)
    widths = [segment.width for segment in made.segments]
    assert sum(widths) == pytest.approx(100, abs=0.01)
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.01)
    assert widths[2] > 0
    assert not made.bucketed
    assert made.segments[1].label == "Message 2, user, 100 tokens: parked"
    assert [(total.state, total.messages, total.tokens) for total in made.totals] == [
        ("covered", 1, 300), ("parked", 1, 100), ("empty", 1, 0),
    ]  # fmt: skip


def test_the_strip_of_a_very_long_chat_is_bucketed_and_loses_no_token(monkeypatch):
    monkeypatch.setattr(strip, "MAX_SEGMENTS", 30)
    monkeypatch.setattr(strip, "BUCKETS", 10)
    chat = rows.chat(count=43)
    rows.batch(chat, positions=range(1, 15))
    rows.batch(chat, "parked", positions=range(20, 23))
    states = message_states(chat.pk)
    made = strip.build(grouped_states(chat.pk, 43, strip.buckets(43)))
    assert made.bucketed
    assert len(made.segments) == 10
    assert [segment.first for segment in made.segments] == [1, *(s.last + 1 for s in made.segments[:-1])]
    assert made.segments[-1].last == 43
    assert {segment.last - segment.first + 1 for segment in made.segments} == {4, 5}
    for total in made.totals:
        of_state = [row.tokens for row in states if row.state == total.state]
        assert (total.messages, total.tokens) == (len(of_state), sum(of_state))
    assert {total.state for total in made.totals} == {"covered", "parked", "uncovered"}
    mixed = made.segments[3]
    shares = {band.state: band.height for band in mixed.bands}
    tokens = Counter()
    for row in states[mixed.first - 1 : mixed.last]:
        tokens[row.state] += row.tokens
    assert shares == {state: pytest.approx(100 * n / tokens.total(), abs=0.001) for state, n in tokens.items()}
    assert len(shares) == 2


def test_the_groups_of_a_short_chat_are_its_messages():
    chat = rows.chat(count=7)
    rows.batch(chat, positions=range(1, 4))
    groups = grouped_states(chat.pk, 7, strip.buckets(7))
    expected = [
        (row.position - 1, row.state, row.role, 1, row.tokens, row.position, row.position)
        for row in message_states(chat.pk)
    ]
    assert [tuple(group) for group in groups] == expected
    assert strip.build(grouped_states(rows.chat(count=0).pk, 0, strip.buckets(0))).segments == []


def test_a_page_of_a_long_chat_asks_for_its_own_messages_only(staff, monkeypatch):
    monkeypatch.setattr(live, "MESSAGES_PER_PAGE", 5)
    chat = rows.chat(count=13)
    rows.batch(chat, positions=range(1, 8))
    address = reverse("chat", args=[chat.pk])
    for number, positions in ((1, range(1, 6)), (2, range(6, 11)), (3, range(11, 14))):
        page = staff.get(f"{address}?page={number}").context["page"]
        assert page.object_list == message_states(chat.pk)[positions[0] - 1 : positions[-1]]
    assert staff.get(f"{address}?page=99").context["page"].number == 3


# --- Live -------------------------------------------------------------------------------------------------------------


def poll(client: Client, html: str) -> HttpResponse:
    """What htmx asks for by the attributes of the live fragment in ``html``."""
    url = re.search(r'id="chat-live"[^>]* hx-get="([^"]+)"', html).group(1)
    return client.get(url.replace("&amp;", "&"), **HTMX)


def test_a_page_polls_only_while_a_run_is_active(staff):
    chat = rows.chat()
    page = reverse("chat", args=[chat.pk])
    assert "every 2s" not in staff.get(page).text
    run = rows.run(chat, "running")
    html = staff.get(page).text
    assert 'hx-trigger="every 2s"' in html
    with CaptureQueriesContext(connection) as captured:
        unchanged = poll(staff, html)
    assert unchanged.status_code == 204
    assert unchanged.content == b""
    assert not any('"bucket"' in query["sql"] for query in captured)
    rows.batch(chat, run=run, positions=range(1, 3))
    with CaptureQueriesContext(connection) as captured:
        moved = poll(staff, html)
    assert any('"bucket"' in query["sql"] for query in captured)
    assert moved.status_code == 200
    assert "40 of 80 tokens read" in moved.text
    assert 'hx-trigger="every 2s"' in moved.text
    assert moved.text.count('class="message-state" hx-swap-oob="true"') == 4
    Run.objects.filter(pk=run.pk).update(status=Run.Status.SUCCEEDED)
    ended = poll(staff, moved.text)
    assert "every 2s" not in ended.text
    assert "The run has ended: succeeded." in ended.text
    assert "<html" not in ended.text


def test_the_live_address_without_htmx_is_the_page(staff):
    chat = rows.chat()
    response = staff.get(reverse("chat-live", args=[chat.pk]))
    assert response["Location"] == reverse("chat", args=[chat.pk])


def test_a_queued_run_without_a_worker_says_so(staff):
    chat = rows.chat()
    rows.run(chat, "queued")
    assert "No worker is online" in staff.get(reverse("chat", args=[chat.pk])).text
    assert "1 run waits, and no worker is online" in staff.get("/").text


# --- Actions ----------------------------------------------------------------------------------------------------------


def test_extract_the_rest_starts_one_run(staff):
    chat = rows.chat()
    url = reverse("chat-extract", args=[chat.pk])
    assert "Extract the rest" in staff.get(reverse("chat", args=[chat.pk])).text
    for _ in range(2):
        response = staff.post(url, {"mode": "rest"}, follow=True)
        assert "The run that reads the rest, by rules, is queued." in response.text
    assert [run.mode for run in Run.objects.filter(chat=chat)] == ["rest"]


def test_the_worker_and_its_model_are_chosen_where_there_is_a_choice(staff, settings):
    chat = rows.chat()
    page, url = reverse("chat", args=[chat.pk]), reverse("chat-extract", args=[chat.pk])
    assert 'name="reader"' not in staff.get(page).text
    LanguageModel.objects.create(name="fast", model="m-1", key_variable="FAST_API_KEY")
    html = staff.get(page).text
    assert re.findall(r'<option value="([^"]*)">([^<]*)</option>', html) == [
        ("", "rules (default)"),
        ("llm:fast", "llm, fast"),
    ]
    settings.EXTRACTION_WORKER = "llm"
    assert '<option value="rules">' in staff.get(page).text
    for reader, said in (
        ("llm:slow", "there is no model &#x27;slow&#x27;; known: fast"),
        ("none", "there is no extract worker"),
    ):
        answer = staff.post(url, {"mode": "rest", "reader": reader}, follow=True).text
        assert "Nothing was started: " in answer and said in answer
    assert not Run.objects.exists()
    answer = staff.post(url, {"mode": "rest", "reader": "llm:fast"}, follow=True).text
    assert "The run that reads the rest, by llm fast, is queued." in answer
    assert Run.objects.values_list("worker", "model").get() == ("llm", "fast")


def test_what_models_cost_for_a_chat_stands_on_its_page(staff):
    chat = rows.chat()
    batch = rows.batch(chat)
    page = reverse("chat", args=[chat.pk])
    assert "Models cost" not in staff.get(page).text
    for attempt, cost in enumerate(("0.40", "0.10", None), start=1):
        ModelUse.objects.create(
            batch=batch, run=batch.run_id, attempt=attempt, agent="extract-worker", model={"name": "fast"},
            usage={"requests": 2}, cost=cost,
        )  # fmt: skip
    assert "Models cost 0.50 USD for this chat so far, and 1 attempt of unknown price." in staff.get(page).text


def test_extract_due_needs_something_due(staff):
    chat = rows.chat()
    response = staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "due"}, follow=True)
    assert "Nothing is due yet." in response.text
    assert not Run.objects.exists()
    large = rows.chat(count=1, tokens=4000)
    assert "Extract what is due" in staff.get(reverse("chat", args=[large.pk])).text
    staff.post(reverse("chat-extract", args=[large.pk]), {"mode": "due"})
    assert Run.objects.get().mode == "due"


def test_extract_refuses_other_modes_and_chats_that_are_read(staff):
    chat = rows.chat()
    assert (
        "Choose what to extract"
        in staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "all"}, follow=True).text
    )
    rows.batch(chat)
    before = Run.objects.count()
    assert (
        "Nothing is uncovered"
        in staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "rest"}, follow=True).text
    )
    assert Run.objects.count() == before


def test_the_note_of_an_abort_goes_when_the_run_has_ended(staff):
    chat = rows.chat()
    run = rows.run(chat, "running")
    assert "Abort requested." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    live = reverse("chat-live", args=[chat.pk])
    emptied = '<div id="messages" hx-swap-oob="true"></div>'
    assert emptied not in staff.get(live, headers={"HX-Request": "true"}).text
    Run.objects.filter(pk=run.pk).update(status=Run.Status.ABORTED, finished_at=timezone.now())
    assert emptied in staff.get(live, headers={"HX-Request": "true"}).text


def test_what_is_asked_for_while_a_run_stops_is_shown_and_can_be_stopped_too(staff):
    chat = rows.chat()
    rows.run(chat, "running", abort_requested_at=timezone.now())
    page = reverse("chat", args=[chat.pk])
    assert "Then extract the rest" in staff.get(page).text
    said = staff.post(reverse("chat-extract", args=[chat.pk]), {"mode": "rest"}, follow=True).text
    assert "The run was told to stop. One for the rest starts when it has." in said
    assert "Abort requested; then a run for the rest" in said
    assert "Then extract the rest" not in said
    assert "Abort that too" in said
    staff.post(reverse("chat-abort", args=[chat.pk]))
    assert "; then a run for" not in staff.get(page).text


def test_the_next_try_after_a_failure_of_the_model_is_told_until_another_run_follows(staff):
    chat = rows.chat(title="\u200b \u2060")
    at = timezone.now() + timedelta(minutes=7, seconds=30)
    rows.run(chat, "failed", error="The model does not answer.", finished_at=timezone.now(), retry_at=at)
    page = reverse("chat", args=[chat.pk])
    told = staff.get(page).text
    assert "Next try, by itself:" in told and f"{at:%Y-%m-%d %H:%M}" in told and "minutes from now" in told
    assert f'<h1 dir="auto">(no title) {chat.pk}</h1>' in told
    assert f'dir="auto">(no title) {chat.pk}</a>' in staff.get(reverse("chats")).text
    rows.run(chat, "queued")
    assert "Next try" not in staff.get(page).text


def test_abort_and_retry(staff):
    chat = rows.chat()
    run = rows.run(chat, "queued")
    assert "Run aborted." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    run.refresh_from_db()
    assert run.status == Run.Status.ABORTED
    assert "No run is active." in staff.post(reverse("chat-abort", args=[chat.pk]), follow=True).text
    parked = rows.batch(chat, "parked")
    assert "Retry this batch" in staff.get(reverse("batch", args=[parked.pk])).text
    assert "will be read again" in staff.post(reverse("batch-retry", args=[parked.pk]), follow=True).text
    assert Batch.objects.get(pk=parked.pk).status != Batch.Status.PARKED
    assert "is not parked" in staff.post(reverse("batch-retry", args=[parked.pk]), follow=True).text


def test_actions_need_their_permission_a_token_and_a_post(viewer):
    chat = rows.chat()
    parked = rows.batch(chat, "parked")
    urls = [
        reverse("chat-extract", args=[chat.pk]), reverse("chat-abort", args=[chat.pk]), reverse("batch-retry", args=[parked.pk]),
    ]  # fmt: skip
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rows.staff_user(*EXTRACT, username="strict"))
    for url in urls:
        assert viewer.post(url, {"mode": "rest"}).status_code == 403, url
        assert viewer.get(url).status_code == 405, url
        refused = strict.post(url, {"mode": "rest"})
        assert refused.status_code == 403, url
        assert "not sent from a current page" in refused.text
    assert not Run.objects.filter(status__in=Run.ACTIVE).exists()
    assert "Extract the rest" not in viewer.get(reverse("chat", args=[chat.pk])).text


def test_menus_sort_learners_whatever_their_case(staff):
    for name in ("bea", "Cleo", "Ada"):
        get_or_create_learner(name)
    page = staff.get(reverse("chats")).text
    assert re.findall(r"<option[^>]*>(Ada|bea|Cleo)<", page) == ["Ada", "bea", "Cleo"]
    assert "characters ÷ 4" in page
    staff.logout()
    assert "characters ÷ 4" not in staff.get(reverse("login")).text

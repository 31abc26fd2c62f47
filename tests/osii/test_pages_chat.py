"""A chat's page: its messages, its batches and its coverage strip."""

import re
from collections import Counter

import pytest
from django.urls import reverse

from extraction.selectors import StateGroup, grouped_states, message_states
from osii.web import live, strip
from osii.web.markdown import render
from osii.web.transcript import blocks
from tests import factories
from tests.osii import rows
from tests.osii.chat_pages import redis_of_this_test, staff, viewer

__all__ = ["redis_of_this_test", "staff", "viewer"]

pytestmark = pytest.mark.django_db


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

"""The four tools: what they return, their bounds, and everything they refuse."""

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.exploring import features, tools
from extraction.exploring.staging import StagingRecord
from extraction.exploring.tools import ExploreTools, ToolRefused, cut_bytes


class MemoryStaging:
    """Staging without a database: the tools cannot tell."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[uuid.UUID, StagingRecord]] = {}
        self.finished = False
        self.reason = ""

    @property
    def count(self) -> int:
        return len(self.records)

    def holds(self, record: StagingRecord) -> bool:
        return record.content_hash in self.records

    def add(self, record: StagingRecord) -> uuid.UUID:
        return self.records.setdefault(record.content_hash, (uuid.uuid4(), record))[0]

    def finish(self, reason: str) -> None:
        self.finished, self.reason = True, reason


def entry(evidence_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": evidence_id, "kind": "message", "label": "", "text": text, "char_start": 0, "total_chars": len(text),
        "injected": False, "tool": None, "message_id": f"id-{evidence_id}", "fingerprint": "v1:x",
        "position": int(evidence_id[1:].split(".", maxsplit=1)[0]), "part": int(evidence_id.split(".")[1]), "speaker": "user",
        "said_at": None, "context": False, "summary": text[:240],
    } | more  # fmt: skip


def make(*entries: dict[str, Any]) -> tuple[ExploreTools, MemoryStaging]:
    staging = MemoryStaging()
    return ExploreTools({"evidence": list(entries)}, staging), staging


GOOD = {"kind": "fact", "claim": "Water boils at 100 °C.", "why_useful": "physics", "evidence_ids": ["m1.0"]}


def test_the_feature_contributes_exactly_four_tools_to_the_extract_worker_only() -> None:
    assert features.enabled_tools(features.EXTRACT_WORKER) == (
        "search_evidence", "read_evidence", "stage_candidate", "finish_extraction",
    )  # fmt: skip
    own = set(features.enabled_tools(features.EXTRACT_WORKER))
    others = set(features.ENABLED) - {features.EXTRACT_WORKER}
    assert others
    assert not any(own & set(features.enabled_tools(agent)) for agent in others)


# --- search


def test_search_ranks_by_terms_found_and_shows_where() -> None:
    explore, _ = make(
        entry("m1.0", "nothing here"),
        entry("m2.0", "x" * 500 + " the CHLOROPHYLL absorbs light"),
        entry("m3.0", "light only"),
    )
    found = explore.search_evidence("chlorophyll light")
    assert [hit["evidence_id"] for hit in found["results"]] == ["m2.0", "m3.0"]
    assert "CHLOROPHYLL" in found["results"][0]["snippet"]
    assert (found["total"], found["next_offset"]) == (2, None)


@pytest.mark.parametrize(
    ("query", "text"), [("STRASSE", "die Straße"), ("光合成", "植物は光合成を行う"), ("ﬁne", "a fine day")]
)
def test_search_is_unicode_aware(query: str, text: str) -> None:
    assert make(entry("m1.0", text))[0].search_evidence(query)["total"] == 1


@pytest.mark.parametrize("limit", [1, 7, 20, 49, 50])
def test_paging_through_a_search_loses_and_repeats_nothing(limit: int) -> None:
    explore, _ = make(*[entry(f"m{i}.0", f"word {i}") for i in range(1, 102)])
    seen, offset = [], 0
    while offset is not None:
        page = explore.search_evidence("word", limit=limit, offset=offset)
        seen += [hit["evidence_id"] for hit in page["results"]]
        offset = page["next_offset"]
    assert seen == [f"m{i}.0" for i in range(1, 102)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"limit": 0}, "limit must be 1 to 50"),
        ({"limit": 51}, "limit must be 1 to 50"),
        ({"limit": True}, "limit must be"),
        ({"offset": -1}, "offset must be 0 or more"),
        ({"kind": "reasoning"}, "message, tool_call, tool_result"),
    ],
)
def test_search_refuses_what_is_out_of_bounds_and_says_what_is_allowed(arguments: dict, says: str) -> None:
    explore, _ = make(entry("m1.0", "a"))
    with pytest.raises(ToolRefused, match=says):
        explore.search_evidence("a", **arguments)
    assert explore.refusals == 1


# --- read


def read_everything(explore: ExploreTools, first: int, last: int, **more: Any) -> dict[str, str]:
    """Follow ``next``, ``unread`` and ``next_offset`` to the last character."""
    texts: dict[str, str] = {}

    def take(page: dict[str, Any]) -> None:
        for item in page["items"]:
            texts[item["evidence_id"]] = texts.get(item["evidence_id"], "") + item["text"]
            if item["truncated"]:
                take(explore.read_evidence(evidence_id=item["evidence_id"], char_offset=item["next_offset"]))

    position: int | None = first
    while position is not None:
        page = explore.read_evidence(from_=position, to=last, **more)
        take(page)
        for evidence_id in page["unread"]:
            take(explore.read_evidence(evidence_id=evidence_id))
        position = page["next"]
    return texts


@given(
    st.lists(
        st.lists(st.text("aé光🙂\n", max_size=30).map(lambda t: t * 400), min_size=1, max_size=3),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 50),
)
def test_reading_on_reaches_every_character_once_in_bounded_pages(messages: list[list[str]], max_items: int) -> None:
    entries = [entry(f"m{i}.{j}", t) for i, parts in enumerate(messages, 1) for j, t in enumerate(parts)]
    explore, _ = make(*entries)
    assert read_everything(explore, 1, len(messages), max_items=max_items) == {e["id"]: e["text"] for e in entries}


@pytest.mark.parametrize("character", ["a", "é", "光", "🙂"])
def test_a_page_holds_at_most_16_kib_counted_in_bytes(character: str) -> None:
    explore, _ = make(entry("m1.0", character * 20_000), entry("m2.0", character * 20_000))
    page = explore.read_evidence(from_=1, to=2)
    assert 16 * 1024 - 4 < sum(len(item["text"].encode()) for item in page["items"]) <= 16 * 1024
    assert page["items"][0]["truncated"]


@given(st.text(max_size=50), st.integers(0, 60))
def test_cutting_at_bytes_never_splits_a_character(text: str, maximum: int) -> None:
    cut = cut_bytes(text, maximum)
    assert text.startswith(cut)
    assert len(cut.encode()) <= maximum
    if cut != text:
        assert len(text[: len(cut) + 1].encode()) > maximum


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "either evidence_id or"),
        ({"evidence_id": "m1.0", "from_": 1, "to": 2}, "not both"),
        ({"from_": 2, "to": 1}, "from ≤ to"),
        ({"from_": 1}, "both be positions"),
        ({"evidence_id": "m9.0"}, "no evidence 'm9.0'"),
        ({"evidence_id": "m1.0", "char_offset": 99}, "char_offset must be 0 to 1"),
        ({"evidence_id": "m1.0", "max_items": 51}, "max_items must be 1 to 50"),
    ],
)
def test_read_refuses(arguments: dict, says: str) -> None:
    explore, _ = make(entry("m1.0", "a"))
    with pytest.raises(ToolRefused, match=says):
        explore.read_evidence(**arguments)


# --- stage


def test_staging_resolves_the_quote_to_its_place() -> None:
    explore, staging = make(entry("m1.0", "We know: Water boils at 100 °C. Yes.", char_start=7))
    explore.stage_candidate(**GOOD, quote="Water boils at 100 °C.")
    ((_, record),) = staging.records.values()
    (item,) = record.evidence
    assert (item.char_start, item.char_end, item.quote_match) == (16, 38, "exact")
    assert item.quote == "Water boils at 100 °C."


def test_a_quote_may_differ_in_spaces_case_and_typography_only() -> None:
    explore, staging = make(entry("m1.0", "He said:  “Water\nboils” — at 100"))
    explore.stage_candidate(**GOOD, quote='"water boils" - at 100')
    ((_, record),) = staging.records.values()
    assert record.evidence[0].quote_match == "normalised"
    assert record.evidence[0].quote == "“Water\nboils” — at 100"


def test_an_identical_second_call_answers_with_the_same_id_and_writes_nothing() -> None:
    explore, staging = make(entry("m1.0", "a"))
    first = explore.stage_candidate(**GOOD)
    assert explore.stage_candidate(**GOOD | {"claim": "water  boils at 100 °C"}) == first
    assert staging.count == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "rumour"}, "kind must be one of fact, preference"),
        ({"understanding": "perfect"}, "understanding must be one of solid"),
        ({"claim": "  "}, "claim must have 1 to 500 characters; it has 0"),
        ({"claim": "x" * 501}, "it has 501"),
        ({"claim": "a\x00b"}, "NUL"),
        ({"claim": None}, "claim must have"),
        ({"why_useful": ""}, "why_useful must have"),
        ({"staleness": "x" * 301}, "staleness must have 1 to 300"),
        ({"kind": "working_assumption"}, "needs staleness"),
        ({"evidence_ids": []}, "1 to 10 entries"),
        ({"evidence_ids": ["m1.0"] * 2}, "distinct"),
        ({"evidence_ids": [f"m{i}.0" for i in range(1, 12)]}, "1 to 10 entries"),
        ({"evidence_ids": ["m7.0"]}, "no evidence 'm7.0'"),
        ({"evidence_ids": ["m2.0"]}, "read-only context"),
        ({"evidence_ids": ["m3.0"]}, "injected context"),
        ({"quote": "not there"}, "does not occur"),
        ({"quote": " "}, "does not occur"),
    ],
)
def test_staging_refuses_without_writing(change: dict, says: str) -> None:
    explore, staging = make(entry("m1.0", "a"), entry("m2.0", "b", context=True), entry("m3.0", "c", injected=True))
    with pytest.raises(ToolRefused, match=says):
        explore.stage_candidate(**GOOD | change)
    assert staging.count == 0
    assert explore.refusals == 1


def test_evidence_beyond_the_shown_index_must_be_found_first() -> None:
    results = [entry(f"r{i}.0", f"result {i}", kind="tool_result", quiz=True) for i in range(1, 52)]
    explore, staging = make(*results)
    with pytest.raises(ToolRefused, match="was not offered"):
        explore.stage_candidate(**GOOD | {"evidence_ids": ["r51.0"]})
    explore.read_evidence(evidence_id="r51.0")
    explore.stage_candidate(**GOOD | {"evidence_ids": ["r51.0"]})
    assert staging.count == 1


def test_a_batch_holds_at_most_fifty_candidates() -> None:
    explore, staging = make(entry("m1.0", "a"))
    for number in range(tools.CANDIDATES):
        explore.stage_candidate(**GOOD | {"claim": f"Claim {number}"})
    with pytest.raises(ToolRefused, match="at most 50"):
        explore.stage_candidate(**GOOD | {"claim": "One more"})
    explore.stage_candidate(**GOOD | {"claim": "Claim 7"})
    assert staging.count == 50


# --- finish


def test_finish_needs_the_right_count_and_a_reason_for_none() -> None:
    explore, staging = make(entry("m1.0", "a"))
    with pytest.raises(ToolRefused, match="staged_count must be 0"):
        explore.finish_extraction(3)
    with pytest.raises(ToolRefused, match="reason must say why"):
        explore.finish_extraction(0, " ")
    explore.finish_extraction(0, "small talk")
    assert staging.finished
    assert staging.reason == "small talk"


def test_nothing_is_accepted_after_finish() -> None:
    explore, staging = make(entry("m1.0", "a"))
    explore.finish_extraction(0, "first")
    with pytest.raises(ToolRefused, match="finished"):
        explore.stage_candidate(**GOOD)
    with pytest.raises(ToolRefused, match="finished"):
        explore.finish_extraction(0, "second")
    assert staging.reason == "first"

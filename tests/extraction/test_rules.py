"""The rules worker through the product's own tools: reads all, cites only what may be cited, finishes truly."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from extraction.exploring import environment, tools
from extraction.exploring.staging import StagingRecord
from extraction.exploring.tools import ExploreTools, ToolRefused
from extraction.workers import get_worker
from tests import factories
from tests.extraction.exploring.test_tools import MemoryStaging, entry
from tests.factories import message, quiz, text

FACT = "Roots take up water from the soil."
SAMPLES = Path(settings.BASE_DIR) / "osii" / "samples" / "chats"


def noop() -> None:
    """A checkpoint that never stops the run."""


def explore(*entries: dict[str, Any]) -> tuple[MemoryStaging, ExploreTools]:
    """Run the worker over these evidence entries."""
    content = {
        "chat": {"id": "1", "title": "A chat", "topic": "", "documents": []},
        "range": {"from": 1, "to": max(one["position"] for one in entries)},
        "evidence": list(entries),
    }
    staging = MemoryStaging()
    made = ExploreTools(content, staging)
    get_worker("rules").run(environment.overview(content), made, noop)
    return staging, made


def records(staging: MemoryStaging) -> list[StagingRecord]:
    return [record for _, record in staging.records.values()]


def claims(staging: MemoryStaging) -> list[str]:
    return [record.claim for record in records(staging)]


def said(position: int, value: str, speaker: str = "assistant", **more: Any) -> dict[str, Any]:
    return entry(f"m{position}.0", value, speaker=speaker, **more)


def asked(position: int, part: int, output: dict[str, Any], question: str = "What do roots take up?") -> list[dict]:
    tool = {"name": "quiz", "input": {"question": question}, "output": output}
    stored = [json.dumps(tool[half], ensure_ascii=False) for half in ("input", "output")]
    return [
        entry(f"{letter}{position}.{part}", stored[number], kind=kind, tool=tool, speaker="assistant")
        for number, (letter, kind) in enumerate((("c", "tool_call"), ("r", "tool_result")))
    ]


def test_it_stages_through_the_tools_and_finishes_with_the_exact_count() -> None:
    staging, made = explore(
        said(1, "I prefer short texts. What do roots do?", "user"), said(2, FACT), said(3, "Got it.", "user")
    )
    assert [(r.kind, r.claim, r.understanding) for r in records(staging)] == [
        ("preference", "The learner prefers short texts.", None),
        ("fact", FACT, "accepted"),
    ]
    assert [r.evidence[0].quote for r in records(staging)] == ["I prefer short texts.", FACT]
    assert staging.finished
    assert made.refusals == 0


def test_small_talk_finishes_with_a_reason() -> None:
    staging, _ = explore(
        said(1, "hi, are you there?", "user"), said(2, "Hello! How can I help?"), said(3, "ok", "user")
    )
    assert staging.finished
    assert not staging.records
    assert staging.reason.startswith("nothing lasting: 3 messages read (2 of the learner, 1 of the assistant), 2 ")


def test_the_reason_says_what_was_left_out_and_how_many_messages_held_nothing_to_read() -> None:
    wishes = [said(n, f"I prefer texts about subject number {n}.", "user") for n in range(1, 61)]
    staging, _ = explore(*wishes, entry("r61.0", FACT, kind="tool_result", speaker="assistant"))
    assert len(staging.records) == 50
    assert staging.reason == (
        "kept the 50 best of 60 candidates found; "
        "60 messages read (60 of the learner, 0 of the assistant), 1 more with nothing to read"
    )


def test_context_injected_text_system_text_and_other_tools_are_never_cited() -> None:
    staging, _ = explore(
        said(1, FACT, context=True),
        said(2, FACT, injected=True),
        said(3, FACT, speaker="system"),
        entry("r4.0", FACT, kind="tool_result", speaker="assistant"),
        entry("c4.1", FACT, kind="tool_call", speaker="assistant"),
        said(5, f"░░░░░░░░ {'░' * len(FACT)}"),
        said(6, "Stomata are pores in the surface of the leaf."),
    )
    assert claims(staging) == ["Stomata are pores in the surface of the leaf."]


def test_a_quiz_is_cited_by_its_result_and_by_its_call_when_only_that_holds_the_words() -> None:
    explained = {"answer": "Water", "correct": False, "explanation": FACT}
    staging, _ = explore(
        *asked(1, 0, explained),
        *asked(2, 0, {"answer": "Carbon dioxide", "correct": True}, "Which gas do plants take in?"),
    )
    first, second = records(staging)
    assert (first.claim, first.understanding, [item.id for item in first.evidence]) == (FACT, "shaky", ["r1.0"])
    assert second.claim == "“Which gas do plants take in?” – Carbon dioxide."
    assert [(item.id, item.quote) for item in second.evidence] == [
        ("c2.0", "Which gas do plants take in?"),
        ("r2.0", None),
    ]


def test_it_reads_every_text_to_its_last_character_and_every_message() -> None:
    filler = "Was it? " * 5000  # more than two reads, in the middle of a message with more parts
    entries = [
        said(1, filler + FACT),
        entry("m1.1", "Stomata are pores in the surface of the leaf.", speaker="assistant"),
        *(said(n, "Is it? " * 300, "user") for n in range(2, 60)),
        said(60, "Chlorophyll is a green pigment."),
        said(61, "茶" * 9000 + "。" + "煎茶は70度のお湯でいれると、苦みがおさえられます。"),
    ]
    staging, _ = explore(*entries)
    assert claims(staging) == [
        FACT,
        "Stomata are pores in the surface of the leaf.",
        "Chlorophyll is a green pigment.",
        "煎茶は70度のお湯でいれると、苦みがおさえられます。",
    ]


def test_more_parts_in_one_message_than_a_page_holds_are_all_read() -> None:
    parts = [entry(f"m1.{n}", f"Plant number {n} is a tree with {n} roots.", speaker="assistant") for n in range(1, 49)]
    staging, _ = explore(*parts, *(entry(f"m1.{n}", "Hm?", speaker="assistant") for n in range(49, 140)), said(2, FACT))
    assert len(staging.records) == 49
    assert FACT in claims(staging)


def test_at_most_fifty_candidates_the_best_ones_in_their_order() -> None:
    facts = " ".join(f"Tree number {n} has {n} branches." for n in range(1, 80))
    staging, made = explore(said(1, facts), said(2, "We decided to plant 12 oaks in our park.", "user"))
    assert staging.count == tools.CANDIDATES
    assert claims(staging)[-1] == "We decided to plant 12 oaks in our park."
    assert made.refusals == 0
    assert staging.finished


def test_further_evidence_never_pushes_a_claim_over_the_limit() -> None:
    facts = "\n".join(f"Tree number {n} is an oak with {n} branches." for n in range(1, 31))
    again = "\n".join(f"- tree number {n} is an oak with {n} branches" for n in range(1, 31))
    staging, made = explore(said(1, facts), said(2, again), said(3, "And now?", "user"))
    assert len(set(claims(staging))) == 30
    assert staging.count <= tools.CANDIDATES
    assert made.refusals == 0


def test_a_refused_candidate_is_left_out_and_the_count_stays_true(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ExploreTools.stage_candidate

    def picky(self: ExploreTools, **fields: Any) -> dict[str, Any]:
        if "Stomata" in fields["claim"]:
            raise ToolRefused("no stomata here")
        return whole(self, **fields)

    monkeypatch.setattr(ExploreTools, "stage_candidate", picky)
    staging, _ = explore(said(1, f"Stomata are pores in the surface of the leaf. {FACT}"))
    assert claims(staging) == [FACT]
    assert staging.finished


def test_an_aborted_run_stops_at_the_next_checkpoint() -> None:
    class AbortedError(Exception):
        pass

    calls = 0

    def checkpoint() -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise AbortedError

    content = {
        "chat": {}, "range": {"from": 1, "to": 9}, "evidence": [said(n, f"{FACT} {n}") for n in range(1, 10)],
    }  # fmt: skip
    staging = MemoryStaging()
    with pytest.raises(AbortedError):
        get_worker("rules").run(environment.overview(content), ExploreTools(content, staging), checkpoint)
    assert not staging.finished


# --- whole chats


def sample_chats() -> list[dict[str, Any]]:
    chats: list[dict[str, Any]] = []
    for path in sorted(SAMPLES.glob("*.json*")):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        for line in lines:
            value = json.loads(line)
            chats += value.get("chats", [value])
    return chats


def run_chat(chat: dict[str, Any]) -> MemoryStaging:
    """The worker over a whole sample chat as one batch, on an environment built from stored messages."""
    made = factories.chat(
        *(message(one["id"], one["parts"], one["role"]) for one in chat["messages"]), title=chat["title"]
    )
    rows = list(made.messages.filter(role__in=["user", "assistant"]).order_by("position"))
    content = environment.build(made, rows)
    staging = MemoryStaging()
    get_worker("rules").run(environment.overview(content), ExploreTools(content, staging), noop)
    assert staging.finished
    by_id = {one["id"]: one["text"] for one in content["evidence"]}
    for record in records(staging):
        assert record.evidence[0].quote_match == "exact"
        assert record.evidence[0].quote in by_id[record.evidence[0].id]
    return staging


@pytest.mark.django_db
def test_the_samples_give_what_a_reader_would_note() -> None:
    found = {chat["id"]: run_chat(chat) for chat in sample_chats()}
    assert not found["sample-injection"].records
    assert found["sample-injection"].reason
    expected = {
        "sample-photosynthesis": [
            ("fact", "Plants need light, water and carbon dioxide.", "solid"),
            ("fact", "The flow of protons out of the thylakoid lumen drives ATP synthase.", "solid"),
            ("fact", "The learner always mixes up the order of the two photosystems.", "shaky"),
        ],
        "sample-greenhouse": [
            ("constraint", "A sensor node must run for at least 60 days on one charge.", None),
            ("constraint", "The total spending must stay under 400 euros, that is what the members have approved.", None),
            ("preference", "The learner prefers paper for anything that is needed at night.", None),
        ],
        "sample-heat-pump-radiator": [
            ("decision", "Type 22, 1,400 mm wide, for the study, because it gives about 750 W at 45 °C and stays flat.", None),
        ],
        "sample-music-theory": [
            ("preference", "Ich lerne am liebsten mit kurzen Aufgaben und nicht mit langen Tabellen.", None),
            ("fact", "E-Dur hat vier Kreuze: Fis, Cis, Gis und Dis.", "solid"),
        ],
        "sample-green-tea": [("decision", "夜はほうじ茶ではなく麦茶にします。", None)],
    }  # fmt: skip
    for chat, wanted in expected.items():
        staged = {(record.kind, record.claim, record.understanding) for record in records(found[chat])}
        assert set(wanted) <= staged, chat


@pytest.mark.django_db
def test_a_steer_block_in_a_chat_is_never_evidence() -> None:
    made = factories.chat(
        message("a", [text(f"<osii-context>\n{FACT}\n</osii-context>"), text("Hi <osii-context>I prefer tea.")]),
        message("b", [text("Hello!"), quiz("What do roots take up?", "Water", correct=True)], "assistant"),
    )
    content = environment.build(made, list(made.messages.order_by("position")))
    staging = MemoryStaging()
    get_worker("rules").run(environment.overview(content), ExploreTools(content, staging), noop)
    assert claims(staging) == ["“What do roots take up?” – Water."]


@pytest.mark.django_db
def test_equal_environments_give_equal_candidates_in_equal_order() -> None:
    chat = next(chat for chat in sample_chats() if chat["id"] == "sample-greenhouse")
    first, second = ([(r.kind, r.claim, r.understanding) for r in records(run_chat(chat))] for _ in range(2))
    assert first == second


def test_each_quiz_keeps_the_level_it_showed_and_the_latest_is_staged_even_when_there_is_no_room() -> None:
    wrong, right = ({"answer": "?", "correct": correct, "explanation": FACT} for correct in (False, True))
    staging, _ = explore(*asked(1, 0, wrong), *asked(2, 0, right))
    assert [(r.understanding, [item.id for item in r.evidence]) for r in records(staging)] == [
        ("shaky", ["r1.0"]),
        ("solid", ["r2.0"]),
    ]
    full = "\n".join(f"We decided to plant {n} oaks in park number {n}." for n in range(2, 51))
    staging, _ = explore(*asked(1, 0, wrong), *asked(2, 0, right), said(3, full, "user"))
    assert staging.count == tools.CANDIDATES
    assert [r.understanding for r in records(staging) if r.claim == FACT] == ["solid"]

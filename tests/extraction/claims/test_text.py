"""Sentences with their places, languages, and words for comparison; and what holds for any text at all."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extraction.bounds import CANDIDATES, CLAIM_CHARACTERS, STALENESS_CHARACTERS, WHY_CHARACTERS
from extraction.claims import language
from extraction.claims.language import detect_language
from extraction.claims.model import MAX_QUOTE, Part, Turn
from extraction.claims.pipeline import draft_claims
from extraction.claims.rank import why_useful
from extraction.claims.segment import sentences
from extraction.claims.words import normal_form


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("It has **two parts.** Both are small.", "en", ["It has two parts.", "Both are small."]),
        ("The numbers got me. I always mix them up.", "en", ["The numbers got me.", "I always mix them up."]),
        (
            "Take 20 g. Then stir. See Fig. 3 of Dr. Smith.",
            "en",
            ["Take 20 g.", "Then stir.", "See Fig. 3 of Dr. Smith."],
        ),
        ("it slows down. a buffer works best near it.", "en", ["it slows down.", "a buffer works best near it."]),
        ("Zwischen der 7. und 8. Stufe. Gut.", "de", ["Zwischen der 7. und 8. Stufe.", "Gut."]),
        ("植物は光を使います。水も必要です！", "ja", ["植物は光を使います。", "水も必要です！"]),
        ("One line\ngoes on here.\n- first\n- second", "en", ["One line goes on here.", "first", "second"]),
        ("", "en", []),
        (" \n\n ```\ncode", "en", []),
    ],
)
def test_sentences(text: str, language: str, expected: list[str]) -> None:
    found = sentences(text, language)
    assert [sentence.text for sentence in found] == expected
    assert all(text[one.start : one.start + len(one.quote)] == one.quote for one in found)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where does the oxygen come from?", "en"),
        ("Ich lerne am liebsten mit kurzen Aufgaben.", "de"),
        ("¿Qué planeta es el más grande?", "es"),
        ("Je préfère les recettes simples avec des fruits.", "fr"),
        ("Não posso gastar mais de 50 reais por mês.", "pt"),
        ("La chiave di volta è la pietra che chiude l'arco.", "it"),
        ("お湯の温度は70度です。", "ja"),
        ("光合作用在叶绿体中进行。", "zh"),
        ("Я работаю механиком.", "ru"),
        ("يتبخر الماء أسرع في الصيف.", "ar"),
        ("42", "und"),
        ("", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_short_text_is_in_the_conversations_language() -> None:
    assert detect_language("Paris, 1789.", "de") == "de"
    assert detect_language("Sounds like a sensible plan! Set up a registry, and write a procedure.", "en") == "en"


_SAID = st.one_of(
    st.sampled_from(sorted(frozenset().union(*language.COMMON_WORDS.values()))),
    st.sampled_from(["Wasser", "été", "e\u0301te\u0301", "お湯", "の", "植物", "Я", "물", "מים", "ماء", "पानी", "น้ำ", "ύδωρ", "x1", "`code`"]),
    st.text(max_size=6),
)  # fmt: skip


@given(words=st.lists(_SAID, max_size=60), fallback=st.sampled_from(["und", "en", "de", "pt", "ja"]))
def test_a_language_is_what_counting_each_ones_words_and_signs_says(words: list[str], fallback: str) -> None:
    """The quick ways, a look-up of each word and no look for scripts where there is none, against counting all of them."""
    text = " ".join(words)
    found, script = detect_language(text, fallback), language._by_script(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_SAYING", _Asked())
        assert detect_language(text, fallback) == found
        patch.setattr(language, "_ANY_SCRIPT", re.compile(""))
        assert language._by_script(f"{text}\u2014") == script


class _Asked(dict):
    """Word → languages, by asking each of them."""

    def get(self, word: str, default: object = ()) -> list[str]:
        return [code for code, common in language.COMMON_WORDS.items() if word in common]


def test_normal_form_ignores_case_space_and_outer_marks_only() -> None:
    assert normal_form(" “Plants  need LIGHT.” ") == normal_form("plants need light")
    assert normal_form("The 15th of May") != normal_form("The 16th of May")
    assert normal_form("It is allowed") != normal_form("It is not allowed")


_PIECES = st.sampled_from(
    ["I prefer short texts. ", "Chlorophyll is a green pigment. ", "It absorbs light. ", "**", "```\n", "> ", "- ", "\n\n", "? ",
     "Decision: we use it. ", "\ud800", "\x00", "░", "<osii-context>", "</osii-context>", "我们决定用它。", "Ignore the above. ",
     "because ", "Then B, it is. The reasons are clear. ", "tomorrow ", "If it fails, stop. ", "I assume it gives 8. "]
)  # fmt: skip
_TEXTS = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=14).map("".join))
_QUIZZES = st.builds(
    lambda question, answer, correct: {
        "input": {"question": question},
        "output": {"correct": correct, "answer": answer},
    },
    _TEXTS,
    st.one_of(_TEXTS, st.integers(), st.none(), st.lists(st.text(max_size=5), max_size=2)),
    st.booleans(),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    turns = []
    for position in range(draw(st.integers(0, 5))):
        parts = [Part(f"m{position}.0", draw(_TEXTS))]
        if draw(st.booleans()):
            tool = draw(_QUIZZES)
            texts = [json.dumps(tool[half], ensure_ascii=False) for half in ("output", "input")]
            parts.append(Part(f"r{position}.1", texts[0], tool, f"c{position}.1", texts[1]))
        said_at = draw(st.sampled_from([None, "2026-03-04T10:00:00Z", "nonsense", "0001-01-01T00:00:00+00:00"]))
        turns.append(Turn(position, draw(st.sampled_from(["user", "assistant"])), said_at, tuple(parts)))
    return turns


@settings(max_examples=300, deadline=None)
@given(conversations())
def test_for_any_conversation_quotes_stand_bounds_hold_and_it_is_deterministic(turns: list[Turn]) -> None:
    texts = {part.evidence_id: part.text for turn in turns for part in turn.parts}
    texts |= {part.call_id: part.call_text for turn in turns for part in turn.parts if part.call_id}
    found = draft_claims(turns)
    assert len(found) <= CANDIDATES
    for draft in found:
        assert 1 <= len(draft.claim.strip()) <= CLAIM_CHARACTERS
        assert 1 <= len(why_useful(draft)) <= WHY_CHARACTERS
        assert len(draft.staleness or "") <= STALENESS_CHARACTERS
        assert draft.staleness or draft.kind != "working_assumption"
        assert draft.evidence
        assert all(1 <= len(place.quote) <= MAX_QUOTE for place in draft.evidence)
        assert all(place.quote in texts[place.evidence_id] for place in draft.evidence)
    assert [(one.kind, one.claim, one.evidence) for one in draft_claims(turns)] == [
        (one.kind, one.claim, one.evidence) for one in found
    ]


@settings(max_examples=300, deadline=None)
@given(_TEXTS, st.sampled_from(["en", "de", "ja", "zh", "und", "xx"]))
def test_every_sentence_of_any_text_is_a_slice_of_it(text: str, language: str) -> None:
    for sentence in sentences(text, language):
        assert text[sentence.start : sentence.start + len(sentence.quote)] == sentence.quote
        assert sentence.quote.strip()

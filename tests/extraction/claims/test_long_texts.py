"""Texts of any length: one long line is cut like many short ones, and in time."""

import pytest

from extraction.claims.segment import hide, sentences

LAKES = {
    "en": [f"Lake number {number} is about {number} metres deep." for number in range(2000)],
    "zh": [f"第{number}号湖大约有{number}米深。" for number in range(4000)],
}


@pytest.mark.parametrize("language", LAKES)
def test_every_sentence_of_a_long_line_is_found_once_and_in_its_place(language: str) -> None:
    text = (" " if language == "en" else "").join(LAKES[language])

    found = sentences(text, language)

    assert [sentence.quote for sentence in found] == LAKES[language]
    assert all(text[one.start : one.start + len(one.quote)] == one.quote for one in found)


@pytest.mark.parametrize("text", ["`" * 300_000, "我喜欢茶。" * 60_000, "x" * 300_000, "أحب الشاي. " * 30_000])
def test_a_long_line_of_anything_is_cut_in_time_that_grows_with_its_length(text: str) -> None:
    assert len(hide(text)) == len(text)
    assert all(text[one.start : one.start + len(one.quote)] == one.quote for one in sentences(text, "zh"))

"""Decoding and blocks: pure functions of the text extractor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extraction.documents.errors import ExtractionFailed
from extraction.documents.extractors.blocks import markdown_blocks, plain_blocks
from extraction.documents.extractors.charsets import decode

MARKDOWN = """---
title: Notes
---
# Solar power

First paragraph,
second line.

Setext
------

- one
  more of one
- two

> quoted

| a | b |
|---|---|
| 1 | 2 |

```python
# not a heading

x = 1
```
[ref]: https://example.org
"""

TEXTS = st.lists(
    st.sampled_from(
        ["# h\n", "text ", "\n", "\n\n", "- item\n", "  indented\n", "```\n", "> q\n", "|a|b|\n|-|-|\n", "---\n", "\f",
         "[r]: /x\n", "1. n\n", "\t", "<div>\n", "é\u2028x", "===\n", "...\n"]
    )
).map("".join)  # fmt: skip


def test_markdown_blocks_in_order_with_their_lines():
    blocks = markdown_blocks(MARKDOWN)
    assert [(block.type, block.level) for block in blocks] == [
        ("front_matter", 0),
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 2),
        ("list_item", 0),
        ("list_item", 0),
        ("quote", 0),
        ("table", 0),
        ("code", 0),
        ("paragraph", 0),
    ]
    texts = [MARKDOWN[block.start : block.end] for block in blocks]
    assert texts[1] == "# Solar power"
    assert texts[4] == "- one\n  more of one"
    assert texts[8] == "```python\n# not a heading\n\nx = 1\n```"
    assert texts[9] == "[ref]: https://example.org"
    assert (blocks[2].line_start, blocks[2].line_end) == (6, 7)
    assert (blocks[8].line_start, blocks[8].line_end) == (22, 26)


def test_a_form_feed_ends_a_page():
    blocks = plain_blocks("one\n\ntwo\n\fthree\n")
    assert [(block.page, block.line_start) for block in blocks] == [(1, 1), (1, 3), (2, 4)]
    assert plain_blocks("no pages")[0].page is None


@pytest.mark.parametrize("cut", [plain_blocks, markdown_blocks])
@given(text=TEXTS)
def test_every_visible_character_lies_in_exactly_one_block(cut, text):
    end = 0
    for block in cut(text):
        assert text[end : block.start].strip() == ""
        assert block.start < block.end
        content = text[block.start : block.end]
        assert content.strip() and content == content.rstrip()
        assert block.line_start == text.count("\n", 0, block.start) + 1
        assert block.line_end == block.line_start + content.count("\n")
        end = block.end
    assert text[end:].strip() == ""


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"])), encoding=st.sampled_from(["utf-8-sig", "utf-16"]))
def test_a_byte_order_mark_decides(text, encoding):
    decoded, _, complaint = decode(text.encode(encoding))
    assert (decoded, complaint) == (text, "")


@given(text=st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.startswith("\ufeff")))
def test_utf8_without_a_mark(text):
    data = text.encode()
    assert decode(data) == (text, "utf-8", "")


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"na\xefve caf\xe9 \x96 \x80 5", "naïve café – € 5", "cp1252"),
        (b"caf\xe9 \x81", "café \x81", "latin-1"),
        (b"\xff\xfe\0\0A\0\0\0", "A", "utf-32-le"),
        (b"", "", "utf-8"),
    ],
)
def test_other_encodings(data, text, encoding):
    assert decode(data) == (text, encoding, "")


def test_utf8_with_a_cut_off_end_stays_utf8():
    text, encoding, complaint = decode(("äöü" * 20).encode()[:-1])
    assert text == "äöü" * 19 + "äö\ufffd"
    assert encoding == "utf-8"
    assert "first at byte 119" in complaint


@pytest.mark.parametrize(("data", "encoding"), [(b"\xff\xfeA", "auto"), (b"\xff", "utf-8")])
def test_a_mark_or_name_that_does_not_fit(data, encoding):
    with pytest.raises(ExtractionFailed, match="is not utf") as failure:
        decode(data, encoding)
    assert failure.value.reason == "encoding"

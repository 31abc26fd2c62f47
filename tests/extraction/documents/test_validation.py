"""What the core refuses to take from an extractor."""

import json
from pathlib import Path

import pytest

from extraction.documents.bundle import Bundle, Summary
from extraction.documents.errors import ExtractionFailed
from extraction.documents.validation import validate

ROW = {"kind": "text", "id": "seg-000001", "path": "text.txt", "type": "page", "span": {"char_start": 0, "char_end": 4}}


@pytest.fixture
def bundle(tmp_path) -> Path:
    path = tmp_path / "bundle"
    path.mkdir()
    (path / "text.txt").write_text("some text", encoding="utf-8")
    (path / "manifest.jsonl").write_text(json.dumps(ROW) + "\n")
    (path / "provenance.toml").write_text('[extractor]\nname = "x"\n')
    return path


def complaint(bundle: Path) -> tuple[str, str]:
    with pytest.raises(ExtractionFailed) as failure:
        validate(bundle)
    return failure.value.reason, str(failure.value)


def test_a_good_bundle_is_counted(bundle):
    found = validate(bundle)
    assert (found.text_chars, found.manifest_records) == (9, 1)
    assert validate(bundle, found) == found
    with pytest.raises(ExtractionFailed, match="differ from what the extractor says"):
        validate(bundle, Summary(found.text_sha256, 9, 2))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_text"),
        (" \n\t\u2003\n", "no_text"),
        ("a\0b", "binary"),
        ("\x01\x02\x03 abc", "gibberish"),
        ("\ufffd" * 6 + "x" * 94, "gibberish"),
        ("GLYPH<1> GLYPH<2> some words", "gibberish"),
    ],
)
def test_text_that_is_none(bundle, text, reason):
    (bundle / "text.txt").write_text(text, encoding="utf-8")
    (bundle / "manifest.jsonl").write_text("")
    assert complaint(bundle)[0] == reason


def test_a_few_odd_characters_do_no_harm(bundle):
    (bundle / "text.txt").write_text("\x1b[1mbold\x1b[0m\f" + "\ufffd" + "x" * 99, encoding="utf-8")
    assert validate(bundle).text_chars == 113


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "../../other/text.txt"}, "names no file of the bundle"),
        ({"path": "artifacts/../../secret"}, "names no file of the bundle"),
        ({"path": "/etc/passwd"}, "names no file of the bundle"),
        ({"path": "artifacts/missing.png", "kind": "image"}, "names no file of the bundle"),
        ({"path": 7}, "names no file of the bundle"),
        ({"span": {"char_start": 0, "char_end": 10}}, "does not lie in the text of 9 characters"),
        ({"span": {"char_start": -1, "char_end": 2}}, "does not lie in the text"),
        ({"span": {"char_start": 3, "char_end": 3}}, "does not lie in the text"),
        ({"span": {"char_start": False, "char_end": 2}}, "does not lie in the text"),
        ({"span": [0, 4]}, "span is not an object"),
        ({"span": None}, "needs a span"),
        ({"kind": "song"}, "not one of image, table, text"),
        ({"id": ""}, "missing or occurs twice"),
    ],
)
def test_a_row_that_points_astray(bundle, change, message):
    (bundle / "artifacts").mkdir()
    (bundle.parent / "secret").write_text("outside")
    with (bundle / "manifest.jsonl").open("a") as manifest:
        manifest.write(json.dumps({**ROW, "id": "seg-000002", **change}) + "\n")
    reason, text = complaint(bundle)
    assert reason == "bad_manifest"
    assert "line 2" in text
    assert message in text


@pytest.mark.parametrize("line", ["{", "[1]", '"x"', "", "x" * (1 << 20)])
def test_a_manifest_that_is_not_json_lines(bundle, line):
    (bundle / "manifest.jsonl").write_text(json.dumps(ROW) + "\n" + line + "\n")
    reason, text = complaint(bundle)
    assert reason == "bad_manifest"
    assert "line 2" in text


def test_the_same_id_twice(bundle):
    (bundle / "manifest.jsonl").write_text(f"{json.dumps(ROW)}\n" * 2)
    assert "occurs twice" in complaint(bundle)[1]


@pytest.mark.parametrize("name", ["text.txt", "manifest.jsonl", "provenance.toml"])
def test_a_file_that_is_missing(bundle, name):
    (bundle / name).unlink()
    reason, text = complaint(bundle)
    assert reason == "bad_bundle"
    assert name in text


def test_what_does_not_belong_in_a_bundle(bundle):
    (bundle / "extra.sh").write_text("x")
    assert "extra.sh does not belong" in complaint(bundle)[1]
    (bundle / "extra.sh").unlink()
    (bundle / "artifacts").mkdir()
    (bundle / "artifacts" / "link").symlink_to("/etc/passwd")
    assert "artifacts/link does not belong" in complaint(bundle)[1]
    (bundle / "artifacts" / "link").unlink()
    (bundle / "text.txt").unlink()
    (bundle / "text.txt").symlink_to("/etc/hostname")
    assert "text.txt does not belong" in complaint(bundle)[1]


def test_text_that_is_not_utf8(bundle):
    (bundle / "text.txt").write_bytes(b"caf\xe9")
    assert complaint(bundle)[0] == "bad_bundle"


def test_the_writer_and_the_core_count_alike(tmp_path):
    writer = Bundle(tmp_path / "fresh")
    start, end = writer.write("naïve 漢字 🙂 text")
    writer.segment(start, end, type="page", origin={"page": 1})
    writer.artifact("t/1.csv", b"a", kind="table", type="table", origin={"page": 1}, span=(0, 5))
    claimed = writer.close("x", "1", {"a": 1})
    assert validate(tmp_path / "fresh", claimed) == claimed
    assert claimed.text_chars == end == 15


def test_half_a_surrogate_pair_is_refused_by_position(tmp_path):
    writer = Bundle(tmp_path / "fresh")
    writer.write("abc")
    with pytest.raises(ExtractionFailed, match="character 5 of the text") as failure:
        writer.write("d\ud800")
    assert failure.value.reason == "lone_surrogate"

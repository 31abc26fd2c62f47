"""Extraction versions: the store's layout, policies, and what is not done twice."""

import json
import stat
import tomllib

import pytest

from extraction.documents import selectors, services
from extraction.documents.errors import (
    ExtractorRefused,
    PrimaryMoved,
    StoreError,
    UnknownDocument,
    UnknownVersion,
)
from extraction.documents.ids import is_extraction_id
from extraction.documents.versions import _Job
from extraction.models import Document, ExtractionVersion, ExtractorRule, Promotion

from .conftest import tree

pytestmark = pytest.mark.django_db

TEXT = "# Solar\n\nPanels turn light into current.\n"


def test_the_layout_of_a_version(store, extracted):
    version = extracted("solar.md", "\ufeff# Solar\r\n\r\nPanels turn light into current.\r\n")
    assert is_extraction_id(version.pk) and version.pk.startswith("text-")
    root = store.object_dir(version.document_id)
    folder = root / "extractions" / version.pk
    assert sorted(path.name for path in folder.iterdir()) == [
        "artifacts",
        "manifest.jsonl",
        "provenance.toml",
        "text.txt",
    ]
    assert (folder / "text.txt").read_bytes() == TEXT.encode()
    assert stat.S_IMODE((folder / "text.txt").stat().st_mode) == 0o444
    for name in ("text.txt", "manifest.jsonl", "provenance.toml"):
        assert (root / name).read_bytes() == (folder / name).read_bytes()

    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]
    assert [row["type"] for row in rows] == ["heading", "paragraph"]
    assert rows[0] == {
        "kind": "text",
        "id": "seg-000001",
        "path": "text.txt",
        "type": "heading",
        "span": {"char_start": 0, "char_end": 7},
        "source_origin": {
            "source_type": "markdown", "unit_type": "lines", "page": None, "bbox": None, "line_start": 1, "line_end": 1,
        },
        "related_ids": [],
        "level": 1,
    }  # fmt: skip
    assert rows[1]["related_ids"] == ["seg-000001"]
    span = rows[1]["span"]
    assert TEXT[span["char_start"] : span["char_end"]] == "Panels turn light into current."

    provenance = tomllib.loads((folder / "provenance.toml").read_text())
    assert provenance["provenance"]["status"] == "succeeded"
    assert provenance["extractor"] == {"name": "text", "version": "1.1"}
    assert provenance["config"] == {"encoding": "auto"}
    assert provenance["source"]["encoding"] == "utf-8"
    assert provenance["source"]["newline"] == "crlf"
    assert provenance["counts"]["segments_written"] == 2

    index = json.loads((root / "extractions" / "index.json").read_text())
    assert index["primary_id"] == version.pk
    (variant,) = index["variants"]
    assert set(variant) == {
        "id", "created_utc", "extractor", "status", "text_sha256", "text_chars", "manifest_records",
    }  # fmt: skip
    assert (variant["id"], variant["status"], variant["text_chars"]) == (version.pk, "succeeded", len(TEXT))
    assert variant["extractor"] == {"name": "text", "version": "1.1"}


def test_the_first_extraction_is_made_primary_and_recorded(store, extracted):
    version = extracted()
    assert Document.objects.get().primary == version
    promotion = Promotion.objects.get()
    assert (promotion.before, promotion.after, promotion.actor) == (None, version, "system")


def test_nothing_is_extracted_twice(store, extracted):
    version = extracted()
    before = tree(store.root)
    assert services.extract(version.document_id) == version
    assert services.extract(version.document_id, "text", options={"encoding": "auto"}) == version
    assert tree(store.root) == before
    assert (ExtractionVersion.objects.count(), Promotion.objects.count()) == (1, 1)
    forced = services.extract(version.document_id, force=True)
    assert forced != version
    assert Document.objects.get().primary == forced
    assert services.extract(version.document_id, options={"encoding": "utf-8"}) not in {version, forced}


def test_save_variant_keeps_the_primary(store, extracted):
    version = extracted()
    before = tree(store.object_dir(version.document_id) / "extractions" / version.pk)
    variant = services.extract(version.document_id, "upper", "save_variant", options={"copies": 2, "suffix": "!"})
    assert Document.objects.get().primary == version
    assert selectors.primary_text(version.document_id) == "One line.\n\nAnother.\n"
    assert selectors.version_text(version.document_id, variant.pk) == "ONE LINE.\n\nANOTHER.\n" * 2 + "!"
    assert tree(store.object_dir(version.document_id) / "extractions" / version.pk) == before
    listed = selectors.extractions(version.document_id)
    assert [(entry["id"], entry["primary"]) for entry in listed["variants"]] == [
        (variant.pk, False),
        (version.pk, True),
    ]
    assert (store.root / listed["variants"][0]["artifacts_path"] / "tables" / "one.csv").read_bytes() == b"a,b\n"
    index = json.loads(store.index_path(version.document_id).read_text())
    assert index["primary_id"] == version.pk
    assert [entry["id"] for entry in index["variants"]] == [version.pk, variant.pk]


def test_a_variant_of_a_document_without_primary_waits_to_be_promoted(store, add):
    file_id = add("a.txt", "text")
    variant = services.extract(file_id, policy="save_variant")
    assert Document.objects.get().primary is None
    assert not (store.object_dir(file_id) / "text.txt").exists()
    with pytest.raises(UnknownVersion, match="no primary"):
        selectors.primary_text(file_id)
    assert services.extract(file_id) == variant
    assert Document.objects.get().primary == variant


def test_switching_the_extractor_and_back(store, extracted):
    text = extracted()
    upper = services.extract(text.document_id, "upper")
    assert Document.objects.get().primary == upper
    assert services.extract(text.document_id, "text", actor="Ada", reason="better") == text
    assert Document.objects.get().primary == text
    assert selectors.primary_text(text.document_id) == "One line.\n\nAnother.\n"
    assert (store.object_dir(text.document_id) / "text.txt").read_text() == "One line.\n\nAnother.\n"
    moves = [(move.before, move.after) for move in Promotion.objects.order_by("created_at")]
    assert moves == [(None, text), (text, upper), (upper, text)]


def test_a_primary_that_moved_while_the_extractor_ran_stays(store, extracted, monkeypatch):
    text = extracted()
    upper = services.extract(text.document_id, "upper", "save_variant")
    make_bundle = _Job._make_bundle

    def promote_meanwhile(job, *arguments):
        services.promote(text.document_id, upper.pk, "someone")
        return make_bundle(job, *arguments)

    monkeypatch.setattr(_Job, "_make_bundle", promote_meanwhile)
    with pytest.raises(PrimaryMoved) as moved:
        services.extract(text.document_id, "text", force=True)
    assert moved.value.current == upper.pk
    assert Document.objects.get().primary == upper
    assert ExtractionVersion.objects.filter(status="succeeded").count() == 3  # what was extracted is kept


def test_refusals_have_names(store, add, bad_extractors):
    file_id = add("a.txt", "text")
    ExtractorRule.objects.filter(media_type="image/*").delete()
    ExtractorRule.objects.create(order=1, media_type="image/*", extractor="unready")
    picture = add("a.png", b"\x89PNG\r\n\x1a\n")
    page = add("a.mp4", b"\0\0\0\x18ftypmp42")
    for arguments, reason in (
        ((file_id, "nothing"), "unknown_extractor"),
        ((file_id, "unready"), "extractor_not_ready"),
        ((picture,), "extractor_not_ready"),
        ((page,), "no_extractor"),
        ((file_id, "text", "overwrite"), "unknown_policy"),
    ):
        with pytest.raises(ExtractorRefused) as refused:
            services.extract(*arguments)
        assert refused.value.reason == reason
    for options, reason in (
        ({"encodings": "x"}, "unknown_option"),
        ({"encoding": "ebcdic"}, "wrong_option"),
        ({"encoding": 1}, "wrong_option"),
    ):
        with pytest.raises(ExtractorRefused) as refused:
            services.extract(file_id, "text", options=options)
        assert refused.value.reason == reason
    for unknown in ("sha256-" + "0" * 64, "../../etc"):
        with pytest.raises(UnknownDocument):
            services.extract(unknown)
    store.source_path(file_id).unlink()
    with pytest.raises(StoreError, match="add the file again"):
        services.extract(file_id)
    assert not ExtractionVersion.objects.exists()


def test_who_names_an_extractor_decides_whatever_the_type(store, add):
    version = services.extract(add("a.html", "<p>text</p>"), "text")
    assert version.status == "succeeded"


def test_reading_what_is_not_there(store, extracted):
    version = extracted()
    failed = services.extract(version.document_id, "encrypted")
    for bad in (failed.pk, "text-20260101000000-00000000", "../" + version.pk):
        with pytest.raises(UnknownVersion):
            selectors.version_text(version.document_id, bad)
    rows = list(selectors.version_manifest(version.document_id, version.pk))
    assert [row["id"] for row in rows] == ["seg-000001", "seg-000002"]
    assert "pipeline_version" in selectors.version_provenance(version.document_id, version.pk)
    (store.version_dir(version.document_id, version.pk) / "text.txt").unlink()
    with pytest.raises(StoreError) as damaged:
        selectors.primary_text(version.document_id)
    assert damaged.value.reason == "version_damaged"


def test_a_version_is_never_overwritten(store, extracted, tmp_path):
    version = extracted()
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "text.txt").write_text("other")
    with pytest.raises(StoreError, match="never overwritten"):
        store.place_version(version.document_id, version.pk, bundle)
    assert selectors.primary_text(version.document_id) == "One line.\n\nAnother.\n"

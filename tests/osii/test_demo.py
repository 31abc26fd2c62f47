"""The demo reports what went wrong instead of passing it over."""

import shutil
from pathlib import Path

import pytest

from osii import demo, demo_library
from osii.library import runs
from osii.library.requests import Request, Scope
from osii.management.commands.demo import _render
from osii.models import ProcessingRun
from tests.extraction.documents.conftest import add, bad_extractors, extracted, store, write

__all__ = ["add", "bad_extractors", "extracted", "store", "write"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_broken_sample_file_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "broken.json").write_text('[{"id": "a", "messages": [')
    monkeypatch.setattr(demo, "SAMPLES", tmp_path)
    imported = demo._import_chats()
    assert imported["chats"] == 0
    assert [problem["source"].endswith("broken.json") for problem in imported["problems"]] == [True]


def test_the_demo_reads_once_and_the_second_time_nothing(
    tmp_path: Path, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OSII_HOME = tmp_path / "home"
    samples = tmp_path / "samples"
    (samples / "chats").mkdir(parents=True)
    (samples / "documents" / "revised").mkdir(parents=True)
    (samples / "documents" / "revised" / "notes.md").write_text("# Notes\n\nA heat pump needs at most 45 °C of flow.\n")
    (samples / "documents" / "notes.md").write_text("# Notes\n\nA heat pump needs a low flow temperature.\n")
    shutil.copy(demo.SAMPLES / "chats" / "japanese-green-tea.json", samples / "chats")
    monkeypatch.setattr(demo, "SAMPLES", samples)

    first = demo.run_demo(lambda _line: None)
    assert first["imported"]["messages_added"] == 10
    assert first["extraction"]["batches"] == 1
    claims = sum(sum(row["claims"].values()) for row in first["processing"]["results"])
    assert first["propositions"]["total"] == first["extraction"]["propositions_new"] + claims > claims > 0
    assert first["coverage_after"]["uncovered_tokens"] == 0
    one, two = first["documents"]["documents"]
    assert two["replaces"] == one["file_id"]
    assert first["documents"]["promoted"]["moved"]
    assert first["context"]["count"] > 0
    assert first["processing"]["status"] == "succeeded"
    assert [step["step"] for step in first["processing"]["steps"] if step["succeeded"] == 2] == [
        "chunks", "embeddings", "synthesis", "enrichment", "propositions",
    ]  # fmt: skip
    assert [row["file"] for row in first["processing"]["results"]] == ["notes.md", "notes.md"]
    assert "heat pump" in first["search"]["results"][0]["snippet"]
    told = "\n".join(_render(first))
    assert "Search in the documents" in told
    assert "changed nothing" not in told

    second = demo.run_demo(lambda _line: None)
    assert (second["nothing_to_do"], second["extraction"]["batches"]) == (True, 0)
    assert second["imported"]["messages_added"] == 0
    assert not any(row["extracted_now"] for row in second["documents"]["documents"])
    assert not second["documents"]["promoted"]["moved"]
    assert second["processing"]["run"] is None
    assert second["processing"]["results"] == first["processing"]["results"]
    assert ProcessingRun.objects.count() == 1
    assert "Everything was there already: this run changed nothing." in _render(second)


def test_a_run_that_a_demo_left_is_gone_on_with(extracted, write) -> None:
    document = extracted("notes.md", "A heat pump needs a low flow temperature to run well.\n").document
    left, _ = runs.create(Request(scope=Scope(file_ids=(document.pk,)), build_chunks=True), actor=demo_library.ACTOR)
    runs.pause(left.pk)
    told: list[str] = []
    done = demo_library.process([document.pk], told.append)
    left.refresh_from_db()
    assert left.status == "succeeded"
    assert told == ["  notes.md", "  notes.md"]
    assert next(step for step in done["steps"] if step["step"] == "chunks")["current"] == 1

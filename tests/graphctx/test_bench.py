"""The benchmarks' machinery: honest arithmetic, void runs refused, and nothing left behind."""

import io
import json
import re
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks import (
    context_speed,
    diff_speed,
    extractor_speed,
    import_size,
    import_speed,
    intake_speed,
    many_chats,
    many_documents,
    merge_speed,
    plan_speed,
    processor,
    promote_speed,
    registry,
    rereading,
    scan_real,
    scan_speed,
    search_speed,
)
from benchmarks.measure import median_ratio, percentile, spread, take_turns
from benchmarks.processor import processor_note
from benchmarks.result import MORE, Result, Target
from coverage.models import Chat, Learner
from extraction.models import Document
from osii.library import plan_sql

PAGES = ("page 1,000", "search by name", "source file changed", "one collection of 10,000", "one document, outputs")


def databases() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'osii_bench_%'")
        return {name for (name,) in cursor.fetchall()}


def test_rivals_take_turns_and_warm_up_is_not_counted() -> None:
    order: list[str] = []
    times = take_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3, warm_up=1)
    assert "".join(order) == "abababab"
    assert [len(values) for values in times.values()] == [3, 3]


def test_medians_ratios_and_spread() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.2, "high": 2.8, "runs": 3}
    assert median_ratio([2.0, 9.0, 4.0], [1.0, 3.0, 4.0]) == 2.0
    assert percentile([5.0], 95) == 5.0


@pytest.mark.parametrize(
    ("target", "median", "ratio", "met"),
    [
        (None, 1.0, None, None),
        (Target(100), 100.0, None, True),
        (Target(100), 100.1, None, False),
        (Target(100, MORE), 99.0, None, False),
        (Target(1.3, of_ratio=True), 500.0, 1.2, True),
        (Target(1.3, of_ratio=True), 0.1, 1.4, False),
    ],
)
def test_a_target_is_met_or_not(target: Target | None, median: float, ratio: float | None, met: bool | None) -> None:
    assert Result("b", "c", "ms", median, 0, 0, 1, ratio=ratio, target=target).met is met


def test_processor_time_is_that_of_the_call(db: None) -> None:
    def busy() -> None:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass

    told = re.match(r"busy: processor time (\d+) ms here", processor_note("busy", busy))
    assert told and 20 <= int(told[1]) < 40
    told = re.match(r"idle: processor time (\d+) ms here", processor_note("idle", lambda: time.sleep(0.02)))
    assert told and int(told[1]) < 10


def test_an_unknown_benchmark_names_the_known_ones(db: None) -> None:
    with pytest.raises(CommandError, match="import, import-size, rereading, diff, scan, context, merge"):
        call_command("bench", "speed")


@pytest.mark.timeout(600)  # all of them, each with processes and databases of its own
@pytest.mark.django_db(transaction=True)
def test_each_benchmark_runs_in_a_database_of_its_own(monkeypatch: pytest.MonkeyPatch, settings, tmp_path) -> None:
    for module, name, value in (
        (import_speed, "CONVERSATIONS", 2),
        (import_speed, "MESSAGES", 6),
        (diff_speed, "SIZES", {60: 3, 120: 3}),
        (import_size, "QUICK", 200_000),
        (import_size, "FULL", 300_000),
        (import_size, "LONG", 300),
        (rereading, "MESSAGES", 200),
        (many_chats, "CHATS", 40),
        (many_chats, "ROUNDS", 2),
        (scan_speed, "SIZES", {70: 3, 80: 3}),
        (scan_speed, "FULL_SIZES", {100: 3}),
        (scan_speed, "MERGES", 2),
        (scan_real, "FULL", (120, 300)),
        (scan_real, "INDEXED", 240),
        (scan_real, "ROUNDS", 2),
        (context_speed, "PROPOSITIONS", 100),
        (context_speed, "ROUNDS", 4),
        (merge_speed, "PROPOSITIONS", 60),
        (merge_speed, "CANDIDATES", 6),
        (merge_speed, "ROUNDS", 2),
        (intake_speed, "FEW", 4),
        (intake_speed, "MANY", 8),
        (intake_speed, "PART", 2),
        (intake_speed, "EXTRACTED", 1),
        (promote_speed, "CHUNKS", 10),
        (promote_speed, "ROUNDS", 2),
        (promote_speed, "WARM_UP", 1),
        (plan_speed, "DOCUMENTS", 500),
        (plan_speed, "LISTED", 10),
        (plan_speed, "ROUNDS", 1),
        (plan_sql, "FEW", 100),
        (many_documents, "DOCUMENTS", 400),
        (many_documents, "ROUNDS", 1),
        (many_documents, "PAGES", {name: many_documents.PAGES[name] for name in PAGES}),
        (processor, "ROUNDS", 1),
        (search_speed, "SIZES", (60,)),
        (search_speed, "RARELY", 0.5),
        (search_speed, "NUMBERS", 1),
        (search_speed, "IDENTIFIER", "QX-1"),
        (search_speed, "ROUNDS", 1),
        (extractor_speed, "ROUNDS", 1),
        (extractor_speed, "PDF_COPIES", 1),
        (extractor_speed, "TEXT_COPIES", 1),
        (extractor_speed, "OCR", ()),
    ):
        monkeypatch.setattr(module, name, value)
    before = databases()
    settings.BASE_DIR = tmp_path
    Path(tmp_path / "benchmarks").mkdir()
    Learner.objects.create(name="the user's own")
    out = io.StringIO()
    names = registry(full=True)
    call_command("bench", "--full", "--json", "--save", stdout=out)
    data = json.loads(out.getvalue())
    assert {row["benchmark"] for row in data["results"]} == set(names)
    assert all(row["median"] > 0 for row in data["results"])
    notes = [note for row in data["results"] if row["benchmark"] == "plan" for note in row["notes"]]
    assert all("processor time" in note for note in notes)
    assert len(notes) == len(plan_speed.REQUESTS) + 2
    assert json.loads((tmp_path / "benchmarks" / "results.json").read_text()) == data
    assert [learner.name for learner in Learner.objects.all()] == ["the user's own"]
    assert not Chat.objects.exists()
    assert not Document.objects.exists()
    assert databases() == before


@pytest.mark.django_db(transaction=True)
def test_the_scratch_database_goes_when_a_benchmark_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    own, before = connection.settings_dict["NAME"], databases()
    monkeypatch.setattr(diff_speed, "_chat", lambda _count: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call_command("bench", "diff")
    assert databases() == before
    assert connection.settings_dict["NAME"] == own

"""The benchmarks' machinery: honest arithmetic, void runs refused, and nothing left behind."""

import io
import json
import os
import re
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks import (
    batch_speed,
    chunk_speed,
    context_speed,
    diff_speed,
    environment_speed,
    extractor_speed,
    import_size,
    import_speed,
    index_speed,
    intake_speed,
    machine,
    many_chats,
    many_documents,
    merge_speed,
    plan_speed,
    processor,
    promote_speed,
    queue_speed,
    record,
    registry,
    rereading,
    scan_real,
    scan_speed,
    scratch,
    search_speed,
    tools_speed,
    upsert_speed,
)
from benchmarks.measure import cost_of, growth, median_ratio, percentile, spread, take_turns
from benchmarks.processor import processor_note
from benchmarks.result import MORE, Result, Target
from coverage.models import Chat, Learner
from extraction import workers
from extraction.models import Document
from osii.library import plan_sql

PAGES = (
    "the middle page",
    "search by name",
    "source file changed",
    "one collection of a tenth",
    "one document, outputs",
)

CHAT_PAGES = ("the middle page", "due, by uncovered tokens", "needs attention", "home")


def databases(run: int | None = None) -> set[str]:
    """Those of this process's benchmarks, or of another run's; further ones may be under way in other processes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [scratch.prefix(run)])
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
    with pytest.raises(
        CommandError, match="import, import-size, rereading, diff, batches, environment, tools, embedding, scan"
    ):
        call_command("bench", "speed")


@pytest.mark.timeout(600)  # all of them, each with processes and databases of its own
@pytest.mark.django_db(transaction=True)
def test_each_benchmark_runs_in_a_database_of_its_own(monkeypatch: pytest.MonkeyPatch, settings, tmp_path) -> None:
    for module, name, value in (
        (import_speed, "SIZES", (1, 2)),
        (import_speed, "MESSAGES", 6),
        (import_speed, "ROUNDS", 1),
        (diff_speed, "QUICK", {60: 1, 120: 1}),
        (batch_speed, "QUICK", {60: 1, 120: 1}),
        (environment_speed, "SIZES", {5: 1, 10: 1}),
        (tools_speed, "SIZES", {5: 1, 10: 1}),
        (chunk_speed, "SIZES", {2_000: 1, 20_000: 1}),
        (import_size, "QUICK", (200_000,)),
        (rereading, "MESSAGES", 200),
        (many_chats, "QUICK", (40,)),
        (many_chats, "PAGES", {name: many_chats.PAGES[name] for name in CHAT_PAGES}),
        (many_chats, "ROUNDS", 2),
        (scan_speed, "SIZES", {70: 3, 80: 3}),
        (scan_speed, "MERGES", 2),
        (scan_real, "QUICK", (120, 300)),
        (scan_real, "ROUNDS", 2),
        (index_speed, "QUICK", (100, 200)),
        (index_speed, "SENTENCES", {(100, 200): 120}),
        (index_speed, "MEMORY", {(100, 200): "64MB"}),
        (index_speed, "ROUNDS", 1),
        (context_speed, "SIZES", (100,)),
        (context_speed, "ROUNDS", 4),
        (merge_speed, "SIZES", (60,)),
        (merge_speed, "CANDIDATES", 6),
        (merge_speed, "ROUNDS", 2),
        (intake_speed, "FEW", 2),
        (intake_speed, "QUICK", 4),
        (intake_speed, "PART", 2),
        (intake_speed, "EXTRACTED", 1),
        (promote_speed, "FEW", 5),
        (promote_speed, "CHUNKS", 10),
        (promote_speed, "ROUNDS", 2),
        (promote_speed, "WARM_UP", 1),
        (plan_speed, "QUICK", (200, 500)),
        (plan_speed, "LISTED", 10),
        (plan_speed, "ROUNDS", 1),
        (plan_sql, "FEW", 100),
        (many_documents, "QUICK", (400,)),
        (many_documents, "ROUNDS", 1),
        (many_documents, "PAGES", {name: many_documents.PAGES[name] for name in PAGES}),
        (processor, "ROUNDS", 1),
        (search_speed, "QUICK", (60,)),
        (search_speed, "RARELY", 0.5),
        (search_speed, "NUMBERS", 1),
        (search_speed, "IDENTIFIER", "QX-1"),
        (search_speed, "ROUNDS", 1),
        (extractor_speed, "ROUNDS", 1),
        (extractor_speed, "SHORTER", 2),
        (extractor_speed, "COPIES", dict.fromkeys(extractor_speed.COPIES, 2)),
        (extractor_speed, "OCR", ()),
        (queue_speed, "CALLS", 1),
        (queue_speed, "SIZES", (1, 2)),
        (upsert_speed, "SIZES", (3, 6)),
        (upsert_speed, "REQUESTS", 8),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(workers, "_REGISTRY", dict(workers._REGISTRY))  # one registers a worker of its own
    before = databases()
    settings.BASE_DIR = tmp_path
    Path(tmp_path / "benchmarks").mkdir()
    Learner.objects.create(name="the user's own")
    out = io.StringIO()
    # The test's embedder runs no model: that one is measured below.
    names = [name for name in registry() if name != "embedding"]
    call_command("bench", *names, "--json", "--save", stdout=out)
    data = json.loads(out.getvalue())
    assert data["failed"] == {}
    assert {row["benchmark"] for row in data["results"]} == set(names)
    assert all(row["median"] > 0 for row in data["results"])
    plans = [row for row in data["results"] if row["benchmark"] == "plan"]
    notes = [note for row in plans for note in row["notes"]]
    assert all("processor time" in note for note in notes)
    assert len(notes) == 2 * (len(plan_speed.REQUESTS) + 2)
    assert all(row["queries"] for row in plans if row["case"].startswith("500: plan"))
    assert all(row["growth"] is not None for row in plans if row["case"].startswith("500: plan"))
    scans = [row for row in data["results"] if row["case"].startswith("top 65, exact, 80 × 512")]
    assert [(row["queries"], row["growth"] is not None, row["to_rival"] > 0) for row in scans] == [(0, True, True)]
    compared = {row["benchmark"] for row in data["results"] if row["to_rival"]}
    assert compared >= {"import", "import-size", "diff", "merge", "promote", "extractors", "queue", "upsert", "index"}
    kept = record.read(tmp_path / "benchmarks" / "results.json")
    assert set(kept["quick"]) == set(names)
    assert not kept["full"]
    assert [row for entry in kept["quick"].values() for row in entry["results"]] == data["results"]
    assert [learner.name for learner in Learner.objects.all()] == ["the user's own"]
    assert not Chat.objects.exists()
    assert not Document.objects.exists()
    assert databases() == before


@pytest.mark.django_db(transaction=True)
def test_one_that_fails_loses_no_other_and_no_database(monkeypatch: pytest.MonkeyPatch, settings, tmp_path) -> None:
    own, before = connection.settings_dict["NAME"], databases()
    settings.BASE_DIR = tmp_path
    Path(tmp_path / "benchmarks").mkdir()
    kept = {"measured_at": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "machine": {}, "results": []}
    for part, name in (("full", "chunking"), ("quick", "diff"), ("quick", "scan")):
        record.keep(tmp_path / "benchmarks" / "results.json", part, name, kept)
    monkeypatch.setattr(diff_speed, "half_covered", lambda _count: 1 / 0)
    monkeypatch.setattr(chunk_speed, "SIZES", {2_000: 1, 20_000: 1})
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"1 of 2 benchmarks failed: diff \(ZeroDivisionError"):
        call_command("bench", "diff", "chunking", "--json", "--save", stdout=out)
    data = json.loads(out.getvalue())
    assert {row["benchmark"] for row in data["results"]} == {"chunking"}
    assert "ZeroDivisionError" in data["failed"]["diff"]
    now = record.read(tmp_path / "benchmarks" / "results.json")
    assert now["full"]["chunking"] == now["quick"]["diff"] == now["quick"]["scan"] == kept
    assert now["quick"]["chunking"]["results"]
    assert databases() == before
    assert connection.settings_dict["NAME"] == own


def test_growth_is_the_exponent_of_the_size() -> None:
    assert growth([3.0, 9.0], [30.0, 99.0], 10) == pytest.approx(1)
    assert growth([3.0], [300.0], 10) == pytest.approx(2)
    assert growth([3.0], [3.0], 10) == 0


def test_what_an_operation_costs(db: None) -> None:
    held: list[bytes] = []
    cost = cost_of(lambda: (held.append(bytes(bytearray(os.urandom(1)) * 30_000_000)), list(Learner.objects.all())))
    assert cost.queries == 1
    assert cost.peak_mb is None or 29 <= cost.peak_mb < 100


def test_texts_of_statements_are_not_taken_for_the_calls_memory(db: None) -> None:
    def ask() -> None:
        with connection.cursor() as cursor:
            for _ in range(100):
                cursor.execute("SELECT length(%s)", ["x" * 300_000])

    cost = cost_of(ask)
    assert cost.queries == 100
    assert cost.peak_mb is None or cost.peak_mb < 15
    assert not connection.force_debug_cursor


def test_a_call_that_fails_is_not_tried_again(db: None) -> None:
    tried: list[int] = []

    def fail() -> None:
        tried.append(1)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        cost_of(fail)
    assert len(tried) == 1
    assert not connection.force_debug_cursor


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_away_before_one_and_ctrl_c_in_another_lose_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the databases that a killed run left are dropped, those of one under way are not."""
    described = machine.describe()
    answers = iter([lambda: described, lambda: 1 / 0, lambda: described, lambda: described])
    killed, under_way = 1, 2**31 - 1

    def describe() -> object:
        return next(answers)()

    def stop() -> list[Result]:
        assert databases() and not databases(killed)
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "describe", describe)
    monkeypatch.setattr(chunk_speed, "SIZES", {2_000: 1, 20_000: 1})
    monkeypatch.setattr(tools_speed, "run", stop)
    out = io.StringIO()
    with scratch.administration() as server:
        for run in (killed, under_way):
            server.execute(f"CREATE DATABASE {scratch.prefix(run)}0")
        try:
            server.execute("SELECT pg_advisory_lock(%s, %s)", [scratch.LOCK, under_way])
            with pytest.raises(KeyboardInterrupt):
                call_command("bench", "environment", "chunking", "tools", "diff", "--json", stdout=out)
            assert databases(under_way)
        finally:
            server.execute(f"DROP DATABASE {scratch.prefix(under_way)}0")
    data = json.loads(out.getvalue())
    assert {row["benchmark"] for row in data["results"]} == {"chunking"}
    assert list(data["failed"]) == ["environment"]
    assert not databases()


def test_what_was_measured_is_shown_without_measuring(settings, tmp_path) -> None:
    settings.BASE_DIR = tmp_path
    Path(tmp_path / "benchmarks").mkdir()
    row = Result("diff", "a | case", "ms", 1.0, 0.5, 2.0, 3, growth=1.0, queries=4, target=Target(5)).to_dict()
    where = dict.fromkeys(("cores", "memory_gb", "processor", "load_before", "python", "numpy", "postgresql"), 2)
    entry = {"measured_at": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "machine": where, "results": [row]}
    record.keep(tmp_path / "benchmarks" / "results.json", "quick", "diff", entry)
    out = io.StringIO()
    call_command("bench", "--show", "--markdown", stdout=out)
    assert "| a \\| case | 1.000 ms | 0.500 | 2.000 |  |  | 1.00 |  | 4 | at most 5: met |" in out.getvalue()
    assert registry()["diff"].rival in out.getvalue()


def test_every_benchmark_names_its_rival_and_its_limit() -> None:
    for one in registry().values():
        assert one.rival and one.limit and one.what, one.name
        assert 0 < one.quick_seconds <= one.full_seconds
    assert sum(one.quick_seconds for one in registry().values()) <= 600

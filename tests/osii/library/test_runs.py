"""Runs from the request to their end, done in this process; and what starts, rests, stops and repeats them."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from coverage import queueing
from extraction.documents import removal, services
from extraction.models import Batch, Document, ExtractionVersion
from osii.library import items, jobs, methods, progress, run_invariants, run_reconcile, runs, settling
from osii.library.requests import BadRequest, Conflict, Request
from osii.models import Output, ProcessingItem, ProcessingRun, ProcessingStep

from . import rows

pytestmark = pytest.mark.django_db

TEXT = "Light reactions split water, and the oxygen of the air comes from that water. The Calvin cycle fixes carbon."


def start(*documents: str, actor: str = "tests", **fields) -> ProcessingRun:
    scope = {"scope": {"file_ids": list(documents)} if documents else {"all": True}}
    return runs.create(Request.of(scope | fields), actor=actor)[0]


def work(run: ProcessingRun) -> ProcessingRun:
    """Do what waits, one item after the other, as workers would."""
    for item in run.items.filter(status="queued").order_by("position"):
        jobs.execute(item.pk)
    run.refresh_from_db()
    assert list(run_invariants.check()) == []
    return run


def states(run: ProcessingRun) -> list[tuple[str, str]]:
    found = ProcessingStep.objects.filter(item__run=run).order_by("item__position", "id")
    return [(step.step, step.status) for step in found]


@pytest.fixture
def broken(monkeypatch) -> Callable[[], None]:
    """Statistics fail, until the fixture is called."""
    method = type(methods.find("enrichment", "statistics"))
    good = method.make
    monkeypatch.setattr(method, "make", lambda *_: 1 / 0)
    return lambda: monkeypatch.setattr(method, "make", good)


def test_a_run_does_every_step_of_every_document(add):
    one, two = add("a.md", TEXT), add("b.md", f"{TEXT} More.")
    run = start(run_extraction=True, build_embeddings=True, synthesizer_name="default", enricher_name="statistics")
    assert (run.status, run.items.count()) == ("queued", 2)
    assert [operation["id"] for operation in run.operations] == [
        "extract",
        "chunks",
        "embeddings",
        "synthesis",
        "enrichment",
    ]
    work(run)
    assert (run.status, run.error) == ("succeeded", "")
    steps = [(step, "succeeded") for step in ("extract", "chunks", "embeddings", "synthesis", "enrichment")]
    assert states(run) == steps * 2
    for file_id in (one, two):
        primary = Document.objects.get(pk=file_id).primary
        assert set(primary.outputs.values_list("kind", flat=True)) == {
            "chunks",
            "embeddings",
            "synthesis",
            "enrichment",
        }
    step = ProcessingStep.objects.get(item__document=one, step="extract")
    assert step.extraction_id == Document.objects.get(pk=one).primary_id
    assert runs.preview(Request.of(run.request)).eligible == 0


def test_what_is_current_is_not_asked_for_and_not_repeated(document):
    work(start(enricher_name="statistics"))
    with pytest.raises(Conflict, match="nothing is eligible among 1"):
        start(enricher_name="statistics")
    assert Output.objects.count() == 1


def test_two_runs_over_the_same_documents_make_each_output_once(document):
    first, second = start(enricher_name="statistics"), start(enricher_name="statistics")
    work(first)
    work(second)
    assert states(second) == [("enrichment", "current")]
    assert second.status == "succeeded"
    assert Output.objects.count() == 1


def test_blocked_documents_are_listed_and_skipped(document):
    rows.document("without text.md")
    run = start(enricher_name="statistics")
    blocked = run.items.get(status="blocked")
    assert (blocked.error, blocked.blocked) == ("enrichment: no text", {"enrichment": "no text"})
    assert work(run).status == "succeeded"
    assert progress.of(run).to_dict() | {"rate_per_minute": 0} == {
        "total": 1, "done": 1, "queued": 0, "running": 0, "succeeded": 1, "failed": 0, "blocked": 1, "cancelled": 0,
        "rate_per_minute": 0, "eta_seconds": None, "heartbeat_at": None, "workers": [],
    }  # fmt: skip


def test_a_run_whose_items_all_failed_is_failed_and_retry_does_only_those(extracted, document, broken):
    other = extracted("b.md", TEXT).document
    run = work(start(enricher_name="statistics", synthesizer_name="default"))
    assert (run.status, run.error) == ("failed", "all 2 documents failed")
    assert run.items.first().error.startswith("enrichment: method_error: ZeroDivisionError")
    assert sorted(states(run)) == [("enrichment", "failed")] * 2 + [("synthesis", "succeeded")] * 2
    broken()
    syntheses = set(ProcessingStep.objects.filter(step="synthesis").values_list("pk", "finished_at"))
    assert runs.acknowledge(run.pk, "somebody")
    assert not runs.acknowledge(run.pk, "somebody else")
    assert runs.retry(run.pk) == 2
    run.refresh_from_db()
    assert (run.status, run.acknowledged_at, run.acknowledged_by) == ("queued", None, "")
    assert not runs.acknowledge(run.pk, "somebody"), "it has not ended"
    assert work(run).status == "succeeded"
    assert set(ProcessingStep.objects.filter(step="synthesis").values_list("pk", "finished_at")) == syntheses
    assert runs.retry(run.pk) == 0
    assert {step.output.status for step in ProcessingStep.objects.all()} == {"succeeded"}
    assert other.outputs.filter(status="failed").count() == 1, "the failed attempt is kept"


def test_a_run_with_one_success_is_succeeded_and_counts_the_failures(document, monkeypatch):
    bad = rows.document("bad.md")
    rows.version(bad)  # its text is not in the store
    run = work(start(enricher_name="statistics"))
    assert run.status == "succeeded"
    found = progress.of(run)
    assert (found.succeeded, found.failed) == (1, 1)
    assert run.items.get(document=bad).error.startswith("enrichment: ")


def test_a_run_says_how_it_ended_also_when_the_document_that_succeeded_is_erased(extracted, document):
    bad = rows.document("bad.md")
    rows.version(bad)
    run = work(start(document.pk, bad.pk, enricher_name="statistics"))
    removal.remove_document(document.pk, actor="tests")
    assert [item.status for item in run.items.all()] == ["failed"]
    assert list(run_invariants.check()) == [], "nothing is wrong: what succeeded is gone"

    whole = work(start(bad.pk, enricher_name="statistics"))
    ProcessingRun.objects.filter(pk=whole.pk).update(status="succeeded")
    assert [line for line in run_invariants.check() if str(whole.pk) in line], "of a run that is whole it is wrong"


def test_a_failed_extraction_keeps_what_needs_it_from_running(add, document, bad_extractors):
    file_id = add("blank.md", "   \n  ")
    run = work(start(file_id, run_extraction=True, enricher_name="statistics"))
    assert states(run) == [("extract", "failed"), ("enrichment", "blocked")]
    item = run.items.get()
    assert item.error.startswith("extract: no_text")
    assert "enrichment" not in item.error
    assert run.status == "failed"
    assert Document.objects.get(pk=file_id).primary is None


def test_upgrading_extraction_makes_the_new_version_primary_and_outputs_of_it(document):
    work(start(enricher_name="statistics"))
    before = document.primary_id
    run = work(start(
        document.pk, run_extraction=True, extract_mode="reprocess", extractor_name="upper", enricher_name="statistics", actor="Ada",
    ))  # fmt: skip
    assert states(run) == [("extract", "succeeded"), ("enrichment", "succeeded")]
    document.refresh_from_db()
    assert document.primary_id != before
    assert document.primary.extractor == "upper"
    assert document.outputs.count() == 2
    promotion = document.promotions.first()
    assert (promotion.actor, promotion.reason) == ("Ada", f"run {run.pk}")


def test_save_variant_leaves_the_primary(document):
    before = document.primary_id
    work(start(
        document.pk, run_extraction=True, extract_mode="reprocess", extractor_name="upper", extraction_policy="save_variant",
    ))  # fmt: skip
    document.refresh_from_db()
    assert document.primary_id == before
    assert document.versions.filter(extractor="upper", status="succeeded").count() == 1


def test_a_forced_extraction_is_not_repeated_after_its_worker_was_lost(document):
    """Killed after the version was recorded and before the step was: the version that is there is the step's."""
    run = start(run_extraction=True, extract_mode="reprocess", extractor_name="text", force=True)
    item = run.items.get()
    claimed = items.claim(item.pk)
    holding = items.Holding(claimed)
    holding.begin("extract")
    made = services.extract(document.pk, "text", force=True)
    lose(item)
    assert run_reconcile.reconcile_processing()["recovered"] == 1
    work(run)
    assert states(run) == [("extract", "succeeded")]
    assert ProcessingStep.objects.get().extraction_id == made.pk
    assert document.versions.count() == 2


def lose(item: ProcessingItem) -> None:
    """The item's lease is over, as after a kill."""
    ProcessingItem.objects.filter(pk=item.pk).update(lease_expires_at=timezone.now() - timezone.timedelta(minutes=5))


def test_a_lost_item_is_done_by_another_and_its_old_holder_writes_nothing(document):
    run = start(enricher_name="statistics")
    item = run.items.get()
    first = items.Holding(items.claim(item.pk))
    row = first.begin("enrichment")
    assert items.claim(item.pk) is None
    lose(item)
    assert any("its lease ended" in line for line in run_invariants.check())
    assert run_reconcile.reconcile_processing()["recovered"] == 1
    item.refresh_from_db()
    assert (item.status, item.recoveries, item.attempt) == ("queued", 1, 1)
    second = items.Holding(items.claim(item.pk))
    for write in (lambda: first.begin("enrichment"), lambda: first.finish(row, "succeeded"), first.checkpoint):
        with pytest.raises(items.ItemLost):
            write()
    assert not first.end("succeeded")
    first.hand_back()
    item.refresh_from_db()
    assert (item.status, item.attempt) == ("running", 2)
    assert second.end("failed", "enrichment: x")


def test_what_a_lost_worker_was_reading_is_closed_also_when_nobody_reads_on(document):
    run = start(enricher_name="statistics")
    item = run.items.get()
    items.claim(item.pk)
    batch = Batch.objects.create(
        document=document, extraction_id=document.primary_id, attempt_token=uuid4(), first_position=1, last_position=1,
        tokens=1, worker="rules", created_at=timezone.now() - timezone.timedelta(hours=1),
    )  # fmt: skip
    assert list(run_invariants.check()) == []
    runs.cancel(run.pk)
    lose(item)
    ProcessingItem.objects.filter(pk=item.pk).update(status="cancelled", attempt_token=None, lease_expires_at=None)
    assert any(f"batch {batch.pk} of {document.pk} is open" in line for line in run_invariants.check())
    over = timezone.now() - timezone.timedelta(minutes=5)
    ProcessingItem.objects.filter(pk=item.pk).update(status="running", attempt_token=uuid4(), lease_expires_at=over)
    assert run_reconcile.reconcile_processing()["ended items"] == 1
    batch.refresh_from_db()
    assert (batch.status, batch.error) == ("failed", "the worker was lost while it read this batch")
    assert list(run_invariants.check()) == []


def test_an_item_that_takes_its_workers_with_it_fails_in_the_end(document):
    run = start(enricher_name="statistics")
    item = run.items.get()
    for _ in range(run_reconcile.MAX_RECOVERIES + 1):
        assert items.claim(item.pk) is not None
        lose(item)
        run_reconcile.reconcile_processing()
    run.refresh_from_db()
    item.refresh_from_db()
    assert (run.status, item.status) == ("failed", "failed")
    assert item.error == "worker_lost: its worker was lost 4 times"
    assert runs.retry(run.pk) == 1
    assert work(run).status == "succeeded"


def test_pause_and_resume(extracted, document):
    extracted("b.md", TEXT)
    run = start(enricher_name="statistics")
    first, second = run.items.order_by("position")
    holding = items.Holding(items.claim(first.pk))
    assert runs.pause(run.pk)
    assert not runs.pause(run.pk)
    assert items.claim(second.pk) is None
    with pytest.raises(items.RunPaused):
        holding.checkpoint()
    holding.hand_back()
    assert run_reconcile.reconcile_processing() == {}
    run.refresh_from_db()
    assert run.status == "paused"
    assert runs.resume(run.pk)
    assert not runs.resume(run.pk)
    assert work(run).status == "succeeded"


def test_cancel_ends_what_waits_at_once_and_what_is_in_hand_at_its_next_step(extracted, document):
    extracted("b.md", TEXT)
    run = start(enricher_name="statistics", synthesizer_name="default")
    holding = items.Holding(items.claim(run.items.first().pk))
    assert runs.cancel(run.pk)
    assert not runs.cancel(run.pk)
    run.refresh_from_db()
    assert (run.status, run.cancelling) == ("running", True)
    with pytest.raises(items.RunCancelled):
        holding.checkpoint()
    assert holding.end("cancelled")
    assert settling.settle(run.pk)
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert set(run.items.values_list("status", flat=True)) == {"cancelled"}
    assert Output.objects.count() == 0
    assert not runs.resume(run.pk)
    assert runs.retry(run.pk) == 0, "nothing of it failed"


def test_cancelling_a_run_that_waits_or_rests_ends_it(document):
    for rest in (False, True):
        run = start(enricher_name="statistics")
        if rest:
            runs.pause(run.pk)
        assert runs.cancel(run.pk)
        run.refresh_from_db()
        assert run.status == "cancelled"
    assert list(run_invariants.check()) == []


def test_a_cancelled_run_with_a_lost_worker_ends(document):
    run = start(enricher_name="statistics")
    item = run.items.get()
    items.claim(item.pk)
    runs.cancel(run.pk)
    lose(item)
    done = run_reconcile.reconcile_processing()
    assert (done["ended items"], done["ended"]) == (1, 1)
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_a_double_submit_makes_one_run(document):
    request, submission = Request.of({"scope": {"all": True}, "enricher_name": "statistics"}), uuid4()
    run, made = runs.create(request, actor="Ada", submission=submission)
    again, made_again = runs.create(request, actor="Ada", submission=submission)
    assert (made, made_again, again) == (True, False, run)
    with pytest.raises(Conflict, match="with another request"):
        runs.create(
            Request.of({"scope": {"all": True}, "synthesizer_name": "default"}), actor="Ada", submission=submission
        )


def test_a_plan_that_was_looked_at_and_has_changed_starts_nothing(extracted, document):
    request = Request.of({"scope": {"all": True}, "enricher_name": "statistics"})
    seen = runs.preview(request).id
    extracted("b.md", TEXT)
    with pytest.raises(Conflict, match="changed since"):
        runs.create(request, actor="Ada", plan_id=seen)
    assert not ProcessingRun.objects.exists()
    run, _ = runs.create(request, actor="Ada", plan_id=runs.preview(request).id)
    assert run.plan["plan_id"] == runs.preview(request).id


def test_options_that_change_after_the_plan_do_not_change_the_run(document):
    run = start(build_chunks=True)
    wanted = run.operations[0]
    from osii.models import OutputSetting

    OutputSetting.objects.create(kind="chunks", method=wanted["method"], options={"chunk_size": 300}, chosen=True)
    work(run)
    assert Output.objects.get().options == wanted["options"]


def test_the_queue_holds_a_window_of_a_run_and_each_item_brings_the_next(rq_connection, monkeypatch):
    monkeypatch.setattr(jobs, "WINDOW", 2)
    run = rows.run(*(rows.document(f"{n}.md") for n in range(5)))
    import django_rq

    queue = django_rq.get_queue(queueing.LIBRARY)
    assert jobs.top_up(run.pk) == 2
    assert jobs.top_up(run.pk) == 0
    waiting = list(run.items.order_by("position"))
    assert queue.job_ids == [jobs.job_id(item.pk, 0) for item in waiting[:2]]
    rq_connection.flushdb()
    assert run_reconcile.reconcile_processing()["enqueued"] == 2, "losing Redis loses no work"


def test_progress_asks_a_fixed_number_of_queries(extracted, document):
    made = [start(enricher_name="statistics") for _ in range(3)]
    items.claim(made[0].items.first().pk)
    with CaptureQueriesContext(connection) as one:
        progress.of_runs(made[:1])
    with CaptureQueriesContext(connection) as three:
        found = progress.of_runs(made)
    assert len(one) == len(three) == 3
    held = found[made[0].pk]
    assert (held.running, len(held.workers), held.heartbeat_at is not None) == (1, 1, True)
    with CaptureQueriesContext(connection) as listed:
        progress.items(made[0].pk)
    assert len(listed) == 3


def test_an_intake_adds_files_and_does_the_rest(store, write, settings, tmp_path, bad_extractors):
    settings.OSII_SOURCE_ROOTS = (tmp_path / "files",)
    write("notes/a.md", TEXT)
    write("notes/b.bin", b"\0\1\2")
    request = Request.of({
        "workflow": "intake", "queue_paths": [str(tmp_path / "files" / "notes")], "run_extraction": True,
        "enricher_name": "statistics", "learner": "Ada",
    })  # fmt: skip
    made = runs.preview(request)
    assert (made.matched, made.eligible, made.blocked) == (2, 1, 1)
    write("notes/b.bin", b"\0\1\2\3")
    with pytest.raises(Conflict, match="changed since"):
        runs.create(request, actor="Ada", plan_id=made.id)
    run, _ = runs.create(request, actor="Ada")
    assert run.items.get(status="blocked").error.startswith("add: no_extractor")
    work(run)
    assert states(run) == [("add", "succeeded"), ("extract", "succeeded"), ("enrichment", "succeeded")]
    document = Document.objects.get()
    assert run.items.get(status="succeeded").document == document
    assert document.learner.name == "Ada"
    again = work(runs.create(request, actor="Ada")[0])
    assert states(again) == [("add", "current"), ("extract", "current"), ("enrichment", "current")]
    assert ExtractionVersion.objects.count() == 1


def test_an_intake_reads_nothing_outside_the_source_roots(store, write, settings, tmp_path):
    write("a.md", TEXT)
    inside = tmp_path / "root"
    inside.mkdir()
    (inside / "link.md").symlink_to(tmp_path / "files" / "a.md")
    (inside / "folder").symlink_to(tmp_path / "files")
    for roots, path in (
        ((), tmp_path / "files" / "a.md"),
        ((inside,), tmp_path / "files" / "a.md"),
        ((inside,), inside / ".." / "files" / "a.md"),
        ((inside,), inside / "link.md"),
        ((inside,), inside / "folder" / "a.md"),
    ):
        settings.OSII_SOURCE_ROOTS = roots
        with pytest.raises(BadRequest, match="not under one of the source roots"):
            runs.preview(Request.of({"workflow": "intake", "queue_paths": [str(path)], "run_extraction": True}))
    made = runs.preview(Request.of({"workflow": "intake", "queue_paths": [str(inside)], "run_extraction": True}))
    assert (made.eligible, made.blocked) == (0, 2)
    # What became a link since the plan was made is not followed.
    write("root2/a.md", TEXT)
    settings.OSII_SOURCE_ROOTS = (tmp_path / "files" / "root2",)
    request = Request.of(
        {"workflow": "intake", "queue_paths": [str(tmp_path / "files" / "root2")], "run_extraction": True}
    )
    run, _ = runs.create(request, actor="Ada")
    (tmp_path / "files" / "root2" / "a.md").unlink()
    (tmp_path / "files" / "root2" / "a.md").symlink_to("/etc/hostname")
    work(run)
    assert run.items.get().error.startswith("add: outside_roots")
    assert not Document.objects.exists()

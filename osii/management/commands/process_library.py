"""Plan and start a processing run over documents, wait for it or do it here, and show what runs there are."""

import getpass
import os
import time
from typing import Any
from uuid import UUID

import redis
from django.core.management.base import CommandParser

from coverage.queueing import LIBRARY
from coverage.words import counted
from extraction.documents.extractors.registry import AUTO
from extraction.documents.services import MAKE_PRIMARY, POLICIES
from osii import health, processing_table, services
from osii.api import library_shapes as shapes
from osii.console import Command as OsiiCommand
from osii.library import jobs, plan, progress, run_reconcile, runs
from osii.library.requests import CHOSEN, MODES, BadRequest, Conflict, Request
from osii.library.staleness import STALE_REASONS
from osii.models import ProcessingRun

POLL_SECONDS = 1.0
LINE_SECONDS = 15.0
BLOCKED_SHOWN = 20
RUNS_SHOWN = 20


class Command(OsiiCommand):
    help = (
        "Do what is missing or stale of documents: extract, chunk, embed, summarize, enrich, feed the learner's graph. "
        "What is current is left alone, blocked documents are listed and skipped. The plan is printed; the workers do the "
        "run, and it goes on wherever it was cut off. With --wait the exit status is 1 when a document failed."
    )

    def arguments(self, parser: CommandParser) -> None:
        scope = parser.add_argument_group("which documents (all conditions that are given must hold)")
        scope.add_argument("--all", action="store_true", dest="all_documents", help="every document")
        scope.add_argument("--folder", metavar="PATH", help="seen under this folder")
        scope.add_argument("--collection", metavar="NAME", help="its name or id")
        scope.add_argument("--document", action="append", default=[], metavar="FILE_ID", help="this one; repeatable")
        scope.add_argument("--type", action="append", default=[], metavar="PATTERN", help='media type, as in "text/*"')
        scope.add_argument("--name", action="append", default=[], metavar="PATTERN", help='file name, as in "*.pdf"')
        scope.add_argument("--learner", metavar="NAME", help="documents of this learner")
        scope.add_argument("--stale", action="append", default=[], choices=STALE_REASONS, help="stale for this reason")
        scope.add_argument("--failed", action="store_true", help="at which one of the steps failed last")
        steps = parser.add_argument_group("what to do")
        steps.add_argument("--extract", nargs="?", const=MODES[0], choices=MODES, help=f"default: {MODES[0]}")
        steps.add_argument("--extractor", default=AUTO, metavar="NAME", help='default: "auto", by the table of rules')
        steps.add_argument("--policy", choices=POLICIES, default=MAKE_PRIMARY, help=f"default: {MAKE_PRIMARY}")
        steps.add_argument(
            "--force", action="store_true", help="with --extract reprocess: what it has made already too"
        )
        steps.add_argument("--chunks", action="store_true")
        steps.add_argument("--embeddings", action="store_true", help="and chunks, where they are missing")
        steps.add_argument("--synthesis", nargs="?", const=CHOSEN, metavar="METHOD")
        steps.add_argument("--enrichment", nargs="?", const=CHOSEN, metavar="METHOD")
        steps.add_argument("--propositions", action="store_true", help="into the graph of each document's learner")
        how = parser.add_argument_group("how")
        how.add_argument("--dry-run", action="store_true", help="print the plan and start nothing")
        how.add_argument(
            "--wait", action="store_true", help="show progress until it ends; Ctrl-C leaves it to the workers"
        )
        how.add_argument("--here", action="store_true", help="do it in this process, beside the workers")
        how.add_argument("--status", action="store_true", help="show the latest runs and start nothing")
        how.add_argument("--resume", metavar="RUN", help="go on with this run: paused, left, or with failed documents")

    def run(self, **options: Any) -> None:
        if options["status"]:
            return self._status()
        if options["resume"]:
            run = self._resumed(options["resume"])
        else:
            request = self._request(options)
            if options["dry_run"]:
                return self._plan(request)
            run = self._start(request)
        finished = False
        try:
            if options["here"]:
                self._work(run)
            if options["wait"] or options["here"]:
                finished = self._wait(run)
        except KeyboardInterrupt:
            self.note(
                f"Stopped waiting. The workers go on with the run; process_library --resume {run.pk} does so too."
            )
        run.refresh_from_db()
        found = progress.of(run)
        failed = [shapes.item(item) for item in progress.items(run.pk, "failed", limit=BLOCKED_SHOWN)[0]]
        data = {"run": shapes.run(run, found), "preview": run.plan, "failed": failed, "waited": finished}
        self.result(data, processing_table.ended if finished else processing_table.started)
        if finished and found.failed:
            self.fail(
                f"{found.failed:,} of {counted(found.total, 'document')} failed (process_library --resume {run.pk} tries them again)"
            )

    def _request(self, options: dict[str, Any]) -> Request:
        scope = {
            "all": options["all_documents"],
            "folder": os.path.abspath(options["folder"]) if options["folder"] else None,  # noqa: PTH100 - links stay
            "collection": options["collection"],
            "file_ids": options["document"],
            "types": options["type"],
            "names": options["name"],
            "learner": options["learner"],
            "stale": options["stale"],
            "failed": options["failed"],
        }
        fields = {
            "scope": {name: value for name, value in scope.items() if value},
            "run_extraction": options["extract"] is not None,
            "extract_mode": options["extract"],
            "extractor_name": options["extractor"],
            "extraction_policy": options["policy"],
            "force": options["force"],
            "build_chunks": options["chunks"],
            "build_embeddings": options["embeddings"],
            "synthesizer_name": options["synthesis"],
            "enricher_name": options["enrichment"],
            "build_propositions": options["propositions"],
        }
        if not fields["scope"]:
            self.fail(
                "say which documents: --all, --folder, --collection, --document, --type, --name, --learner, --stale or --failed"
            )
        try:
            request = Request.of(fields)
        except (BadRequest, Conflict) as error:
            self.fail(_told(error))
        return request

    def _plan(self, request: Request) -> None:
        try:
            made = runs.preview(request)
            blocked, count = plan.listing(request, None, "blocked", limit=BLOCKED_SHOWN)
        except BadRequest as error:
            self.fail(_told(error))
        data = {"dry_run": True, "preview": made.to_dict(), "blocked": blocked, "blocked_count": count}
        self.result(data, processing_table.planned)

    def _start(self, request: Request) -> ProcessingRun:
        try:
            run, _ = runs.create(request, actor=f"command:{_user()}")
        except (BadRequest, Conflict) as error:
            self.fail(_told(error))
        return run

    def _resumed(self, run_id: str) -> ProcessingRun:
        try:
            run = ProcessingRun.objects.filter(pk=UUID(run_id)).first()
        except ValueError:
            run = None
        if run is None:
            self.fail(f"there is no run {run_id}; --status lists them")
        if run.cancelling:
            self.fail(f"run {run.pk} is being cancelled")
        runs.resume(run.pk)
        run_reconcile.recover_run(run.pk)
        again = runs.retry(run.pk)
        run.refresh_from_db()
        if not run.active:
            self.fail(f"run {run.pk} has {run.status}, and none of its documents failed: nothing is left to do")
        self.note(
            f"Going on with run {run.pk}" + (f"; {counted(again, 'failed document')} to try again" if again else "")
        )
        jobs.top_up(run.pk)
        return run

    def _work(self, run: ProcessingRun) -> None:
        """Do what waits in this process; what workers take meanwhile, they do."""
        waiting = run.items.filter(status="queued").order_by("position")
        with self.progress("Processing", total=waiting.count()) as advance:
            while (item := waiting.first()) is not None:
                jobs.execute(item.pk)
                advance(1)
                run.refresh_from_db()
                if run.status == ProcessingRun.Status.PAUSED or run.cancelling:
                    break

    def _wait(self, run: ProcessingRun) -> bool:
        """Show progress until the run has ended; False when it was paused."""
        told, seen = time.monotonic(), 0
        with self.progress("Documents", total=progress.of(run).total) as advance:
            while True:
                run.refresh_from_db()
                found = progress.of(run)
                advance(found.done - seen)
                seen = found.done
                if not run.active:
                    return True
                if run.status == ProcessingRun.Status.PAUSED and not found.running:
                    self.note("The run was paused; --resume goes on.")
                    return False
                if time.monotonic() - told >= LINE_SECONDS:
                    self.note("; ".join(filter(None, (processing_table.line(found), _obstacle(found)))))
                    told = time.monotonic()
                time.sleep(POLL_SECONDS)

    def _status(self) -> None:
        rows = list(ProcessingRun.objects.all()[:RUNS_SHOWN])
        found = progress.of_runs(rows)
        data = {"runs": [shapes.run(row, found[row.pk]) for row in rows]}
        self.result(data, processing_table.runs)


def _told(error: BadRequest | Conflict) -> str:
    field = getattr(error, "field", "")
    return f"{field}: {error}" if field else str(error)


def _obstacle(found: progress.Progress) -> str:
    """Why nothing goes on although documents wait; empty when something does."""
    if found.running:
        return ""
    try:
        workers = health.workers(LIBRARY)
    except redis.RedisError as error:
        return services.redis_line(error)
    return "" if workers.state == "ok" else f"no worker is online: {workers.advice}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())  # a container may run under a number without a name

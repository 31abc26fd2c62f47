"""Read what is uncovered: plan batches, explore them, merge propositions, checkpoint."""

import time
from collections import Counter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandParser

from coverage.models import Chat
from coverage.words import counted
from extraction import backfill
from extraction.models import Batch, ModelUse, Run
from extraction.reconcile import recover_chat
from extraction.running import runs
from extraction.selectors import coverage_of_chats
from extraction.services import check_worker, request_run
from extraction.spending import add_uses, day_is_spent, total_use
from extraction.workers import worker_names
from osii.chats import find_chat
from osii.console import Command as OsiiCommand
from osii.older_prompt import OlderPrompt
from osii.waiting import describe_backlog, describe_candidates, describe_totals, describe_use, wait_for


class Command(OsiiCommand):
    help = (
        "Extract propositions from messages that were not read yet. By default only chats whose uncovered tokens reach "
        "the chunk budget are run, and only while they do; --rest drains everything and retries parked batches once."
    )

    def arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--chat", metavar="ID", help="one chat")
        which.add_argument("--all", action="store_true", dest="all_chats", help="every chat")
        which.add_argument("--status", action="store_true", help="read nothing; show the backlog, its rate and its end")
        parser.add_argument("--rest", action="store_true", help="also what is below the chunk budget")
        parser.add_argument("--worker", choices=worker_names(), help="default: EXTRACTION_WORKER")
        parser.add_argument(
            "--model", metavar="NAME", default="", help="with --worker llm: one of the models in the admin"
        )
        parser.add_argument(
            "--older-prompt",
            action="store_true",
            help="read again what was extracted with an older prompt: its coverage is released, and the rest of these chats read",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="with --older-prompt: say what that is, and change nothing"
        )
        parser.add_argument(
            "--queue", action="store_true", help="leave the work to the workers instead of doing it here"
        )
        parser.add_argument(
            "--wait",
            action="store_true",
            help="with --queue: show progress until the workers are done; Ctrl-C leaves them",
        )

    def run(self, **options: Any) -> None:
        mode = Run.Mode.REST if options["rest"] else Run.Mode.DUE
        worker, model = options["worker"] or settings.EXTRACTION_WORKER, options["model"]
        try:
            check_worker(worker, model)
        except ValueError as error:
            self.fail(str(error))
        if options["dry_run"] and not options["older_prompt"]:
            self.fail("--dry-run goes with --older-prompt")
        if options["wait"] and not options["queue"]:
            self.fail("--wait waits for the workers: it goes with --queue")
        if options["status"]:
            state = backfill.backlog()
            self.result(state.to_dict(), lambda _: describe_backlog(state))
            return
        chosen = [find_chat(self, options["chat"]).pk] if options["chat"] else None
        if options["older_prompt"]:
            older = OlderPrompt(self, chosen, dry_run=options["dry_run"])
            if options["dry_run"]:
                return self.result({"older_prompt": older.data}, lambda _: older.lines())
            self.note("\n".join(older.lines()))
            chosen, mode = older.chats, Run.Mode.REST
        if options["queue"]:
            self._through_the_queue(chosen, mode, worker, model, wait=options["wait"])
        else:
            self._here(chosen, mode, worker, model)

    def _through_the_queue(self, chosen: list[UUID] | None, mode: str, worker: str, model: str, *, wait: bool) -> None:
        requested: list[backfill.Requested] = []
        if chosen is not None:
            requested = [
                backfill.Requested(run.chat_id, row["title"], run, made)
                for row in self._chats(chosen, mode)
                for run, made in backfill.request_runs([UUID(row["chat_id"])], mode, worker, model)
            ]
        else:
            with self.progress("Looking for what is unread", total=Chat.objects.count()) as advance:
                for looked_at, found in backfill.request_all(mode, worker, model):
                    requested += found
                    advance(looked_at)
        made = sum(row.made for row in requested)
        self.note(f"{counted(made, 'run')} requested, {len(requested) - made:,} joined that were active already")
        if stopping := sum(bool(row.run.following) for row in requested):
            self.note(f"{stopping:,} of these were told to stop; another run of the chat starts when one has")
        run_ids = [row.run.pk for row in requested]
        began = time.monotonic()
        finished = wait_for(self, run_ids) if wait and run_ids else False
        statuses = dict(Run.objects.filter(pk__in=run_ids).values_list("pk", "status"))
        totals = backfill.progress(run_ids)
        data = {
            "chats": [_requested(row, statuses.get(row.run.pk, "erased")) for row in requested],
            "requested": made,
            "joined": len(requested) - made,
            "use": total_use(ModelUse.objects.filter(run__in=run_ids)),
            "totals": totals | {f"propositions_{name}": n for name, n in backfill.outcomes(run_ids).items()},
        }
        took = time.monotonic() - began if finished else None
        self.result(data, lambda shown: describe_totals(shown, took) + describe_use(shown["use"]))
        if finished and totals["failed"]:
            self.fail(
                f"{counted(totals['failed'], 'run')} failed; their chats are listed under “needs you” on the home page"
            )

    def _here(self, chosen: list[UUID] | None, mode: str, worker: str, model: str) -> None:
        chats = self._chats(chosen, mode)
        results = []
        with self.progress("Extracting", total=len(chats)) as advance:
            for chat in chats:
                results.append(self._extract(chat, mode, worker, model))
                advance(1)
                if _worker_failed(results[-1]) or day_is_spent(worker):
                    break
        self.result({"chats": results, "totals": _totals(results)}, _render)
        left = f"{counted(len(chats) - len(results), 'chat is', 'chats are')} left to read"
        bad = [row for row in results if row["status"] == Run.Status.FAILED]
        if bad and _worker_failed(bad[-1]):
            self.fail(
                f"{bad[-1]['error']} ({counted(len(chats) - len(results) + 1, 'chat is', 'chats are')} left to read)"
            )
        if bad:
            self.fail(
                f"{counted(len(bad), 'chat')} ended with parked batches; see them on their chat pages, then retry with --rest"
            )
        if results and (len(results) < len(chats) or results[-1]["status"] == Run.Status.QUEUED):
            self.fail(f"{day_is_spent()}; {left}")

    def _chats(self, chosen: list[UUID] | None, mode: str) -> list[dict[str, Any]]:
        """Coverage rows of the chats to run; those with nothing to read are left out."""
        rows = coverage_of_chats(chosen)
        if mode == Run.Mode.REST:
            return [row for row in rows if row["uncovered_tokens"]]
        return [row for row in rows if row["due"]]

    def _extract(self, row: dict[str, Any], mode: str, worker: str, model: str) -> dict[str, Any]:
        recover_chat(UUID(row["chat_id"]))
        try:
            run = request_run(UUID(row["chat_id"]), mode, worker, model, enqueue=False)
        except ValueError as error:
            self.fail(str(error))
        batches: list[Batch] = []
        run = runs.execute(run.pk, on_batch=batches.append)
        if run.status == Run.Status.RUNNING:
            self.note(f"{row['title'] or row['chat_id']}: {_read_elsewhere(run)}")
        return {
            "chat_id": row["chat_id"],
            "title": row["title"],
            "run_id": str(run.pk),
            "status": run.status,
            "error": run.error,
            "note": run.note,
            "batches": [_batch(batch) for batch in batches],
            "use": total_use(ModelUse.objects.filter(run=run.pk)),
        }


def _read_elsewhere(run: Run) -> str:
    if run.following:
        return f"the run of {run.held_by} was told to stop; one for this starts through the queue when it has"
    return f"already being read by {run.held_by}"


def _requested(row: backfill.Requested, status: str) -> dict[str, Any]:
    return {
        "chat_id": str(row.chat_id),
        "title": row.title,
        "run_id": str(row.run.pk),
        "status": status,
        "joined": not row.made,
    }


def _worker_failed(row: dict[str, Any]) -> bool:
    """The run failed without a parked batch: its worker cannot work just now, and would not for the next chat either."""
    parked = any(batch["status"] == Batch.Status.PARKED for batch in row["batches"])
    return row["status"] == Run.Status.FAILED and not parked


def _batch(batch: Batch) -> dict[str, Any]:
    return {
        "batch_id": str(batch.pk),
        "status": batch.status,
        "from": batch.first_position,
        "to": batch.last_position,
        "tokens": batch.tokens,
        "staged": batch.staged_count,
        "reason": batch.reason,
        "error": batch.error,
        "model": batch.model.get("name"),
        "outcomes": _outcomes(batch),
    }


def _outcomes(batch: Batch) -> dict[str, int]:
    counted: dict[str, int] = {}
    for outcome in batch.candidates.filter(attempt=batch.attempt).values_list("resolutions__outcome", flat=True):
        if outcome is not None:
            counted[outcome] = counted.get(outcome, 0) + 1
    return counted


def _said(row: dict[str, Any]) -> str:
    said = row["error"] or row["note"]
    return f": {said}" if said else ""


def _totals(results: list[dict[str, Any]]) -> dict[str, Any]:
    done = [batch for row in results for batch in row["batches"] if batch["status"] == Batch.Status.SUCCEEDED]
    outcomes = Counter({"new": 0, "same": 0})
    for batch in done:
        outcomes.update(batch["outcomes"])
    return {
        "chats": len(results),
        "batches": len(done),
        "tokens": sum(batch["tokens"] for batch in done),
        "candidates": sum(batch["staged"] for batch in done),
        **{f"propositions_{outcome}": count for outcome, count in outcomes.items()},
        "use": add_uses(row["use"] for row in results),
    }


def _render(data: dict[str, Any]) -> list[str]:
    if not data["chats"]:
        return [
            "Nothing to read: no chat has uncovered messages that are due. (--rest reads what is below the budget.)"
        ]
    lines = []
    for row in data["chats"]:
        lines.append(f"{row['title'] or row['chat_id']}: {row['status']}{_said(row)}")
        for batch in row["batches"]:
            found = batch["error"] or batch["reason"]
            if batch["staged"]:
                found = f"{batch['staged']} candidates" + (f": {batch['reason']}" if batch["reason"] else "")
            lines.append(
                f"  messages {batch['from']}–{batch['to']}, {batch['tokens']:,} tokens: {batch['status']}, {found}"
            )
    totals = data["totals"]
    lines.append(
        f"{counted(totals['batches'], 'batch', 'batches')} over {counted(totals['chats'], 'chat')}, {totals['tokens']:,} tokens read, "
        f"{describe_candidates(totals)}"
    )
    return lines + describe_use(totals["use"])

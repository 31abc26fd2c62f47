"""Read a stored batch again with any worker, write nothing, and show what is different."""

from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from extraction.models import Batch
from extraction.replay import Claim, Replay, replay
from extraction.services import check_worker
from extraction.spending import money
from extraction.workers import BatchFailed, worker_names
from osii.console import Command as OsiiCommand


class Command(OsiiCommand):
    help = (
        "Let a worker read the stored environment of a batch again, and compare its candidates with those staged then. "
        "Graph, coverage, the batch and its candidates stay as they are: it runs in a transaction that cannot write. "
        "A batch's id is in the address of its page. A hosted model charges for it, and no cap counts it."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("batch", metavar="ID", help="the batch")
        parser.add_argument("--worker", choices=worker_names(), required=True)
        parser.add_argument("--model", metavar="NAME", default="", help="with --worker llm: default: the default model")

    def run(self, **options: Any) -> None:
        try:
            check_worker(options["worker"], options["model"])
            made = replay(UUID(options["batch"]), options["worker"], options["model"])
        except Batch.DoesNotExist:
            self.fail(f"there is no batch {options['batch']}; its id is in the address of its page")
        except BatchFailed as error:
            self.fail(f"the worker could not read this batch: {error}")
        except ValueError as error:
            wrong = "badly formed" in str(error)
            self.fail(f"{options['batch']!r} is not a batch id" if wrong else str(error))
        self.result(_as_json(made), _render)


def _as_json(made: Replay) -> dict[str, Any]:
    return {
        "batch_id": str(made.batch.pk),
        "before": {"worker": made.batch.worker, "version": made.batch.worker_version, "status": made.batch.status},
        "now": {"worker": made.worker, "version": made.version},
        "same": [_claim(claim) | {"differs": differs} for claim, differs in made.same()],
        "only_before": [_claim(claim) for claim in made.only_before()],
        "only_now": [_claim(claim) for claim in made.only_now()],
        "reason": made.reason,
        "refusals": made.refusals,
        "usage": dict(made.usage),
        "cost": made.cost,
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "kind": claim.kind,
        "claim": claim.claim,
        "understanding": claim.understanding,
        "evidence": list(claim.evidence),
    }


def _render(data: dict[str, Any]) -> list[str]:
    before, now = data["before"], data["now"]
    lines = [
        f"before: {before['version'] or before['worker']} ({before['status']})",
        f"now:    {now['version']}",
    ]
    for sign, title, rows in (
        ("=", "the same", data["same"]),
        ("-", "only before", data["only_before"]),
        ("+", "only now", data["only_now"]),
    ):
        lines.append(f"{title}: {len(rows)}")
        lines += [f"  {sign} {row['kind']}: {row['claim']}{_besides(row)}" for row in rows]
    used = ", ".join(f"{name} {count:,}" for name, count in sorted(data["usage"].items()))
    lines.append(f"finished: {data['reason'] or 'without a reason'}")
    lines.append(f"used: {used}; refused calls: {data['refusals']:,}")
    if data["cost"] is not None:
        lines.append(f"cost: {money(data['cost'])}, in no cap and no sum")
    return [*lines, "Nothing was written."]


def _besides(row: dict[str, Any]) -> str:
    differs = row.get("differs")
    return f" (other {' and '.join(differs)})" if differs else ""

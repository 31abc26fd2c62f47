"""The plan of an intake: files under the source roots instead of documents. What is known already shows when they are read."""

import zlib
from collections import Counter
from dataclasses import dataclass

from . import intake, plan
from .plan import Basis, Plan, StepPlan
from .requests import Request
from .run_models import ProcessingItem, ProcessingRun, Step
from .staleness import BLOCKED, MISSING


@dataclass(frozen=True, slots=True)
class IntakePlan:
    """The counts, and the files behind them in the order in which they will be read."""

    plan: Plan
    candidates: list[intake.Candidate]


def make(request: Request) -> IntakePlan:
    """Look at the files' names, sizes and beginnings; nothing is read to its end. Raises BadRequest."""
    found = intake.candidates(request.queue_paths, request.extractor_name)
    basis = Basis.of(request)
    taken = [one for one in found if not one.refusal]
    refused = Counter(one.refusal.partition(":")[0] for one in found if one.refusal)
    made = Plan(
        request,
        [StepPlan(Step.ADD.value, "", ""), *(plan.step_of(name, basis) for name in request.steps())],
        matched=len(found),
        total_size=sum(one.size_bytes for one in taken),
        eligible=len(taken),
        blocked=len(found) - len(taken),
        fingerprint=zlib.crc32("\0".join(f"{one.path} {one.size_bytes}" for one in found).encode()),
    )
    for step in made.steps:
        ready = not step.unready
        if taken:
            step.reasons[MISSING if ready else BLOCKED, "" if ready else "not ready"] = len(taken)
        step.reasons |= {(BLOCKED, reason): count for reason, count in refused.items()}
    if request.run_extraction:
        lines = Counter((one.extension, one.extractor) for one in taken)
        made.extractor_plan = [
            {"extension": extension, "extractor": extractor, "count": count}
            for (extension, extractor), count in lines.most_common()
        ]
    made.sample = [
        {
            "path": one.path,
            "filename": one.path.rpartition("/")[2],
            "mime": one.media_type,
            "size_bytes": one.size_bytes,
        }
        for one in taken[: plan.SAMPLE]
    ]
    return IntakePlan(made, found)


def insert_items(run: ProcessingRun, candidates: list[intake.Candidate]) -> None:
    """One row for each file: to be added, or refused and why."""
    steps = [operation["id"] for operation in run.operations]
    ProcessingItem.objects.bulk_create(
        (
            ProcessingItem(
                run=run,
                position=position,
                path=one.path,
                status=ProcessingItem.Status.BLOCKED if one.refusal else ProcessingItem.Status.QUEUED,
                steps=[] if one.refusal else steps,
                blocked={Step.ADD.value: one.refusal} if one.refusal else {},
                error=f"{Step.ADD.value}: {one.refusal}" if one.refusal else "",
            )
            for position, one in enumerate(candidates, 1)
        ),
        batch_size=1000,
    )

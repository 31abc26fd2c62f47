"""Replaying a batch: any worker over its stored environment, with nothing written, compared with what was staged then."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from django.db import connection, transaction

from .exploring.environment import content_hash, overview, readable
from .exploring.staging import StagingRecord, claim_identity
from .exploring.tools import ExploreTools
from .models import Batch, Candidate, ReferenceEnvironment
from .workers import ExtractWorker, WorkerReport, get_worker


class NotReplayable(ValueError):
    """There is nothing to replay, or it is not what was stored."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is compared of a candidate. Two are the same when kind and claim are, but for case, spaces and a final stop."""

    kind: str
    claim: str
    understanding: str | None
    evidence: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, claim_identity(self.claim)

    def differs(self, other: "Claim") -> list[str]:
        """In what two same claims differ besides."""
        return [name for name in ("understanding", "evidence") if getattr(self, name) != getattr(other, name)]


@dataclass(frozen=True, slots=True)
class Replay:
    """``before`` is what the batch's last attempt staged, ``now`` what the replay did; ``reason`` is how it finished."""

    batch: Batch
    worker: str
    version: str
    before: list[Claim]
    now: list[Claim]
    reason: str
    refusals: int
    usage: Counter[str]
    cost: Decimal | None

    def same(self) -> list[tuple[Claim, list[str]]]:
        """Claims that both hold, as they are now, each with what is different besides."""
        known = {claim.identity: claim for claim in self.before}
        return [(claim, claim.differs(known[claim.identity])) for claim in self.now if claim.identity in known]

    def only_before(self) -> list[Claim]:
        return _without(self.before, self.now)

    def only_now(self) -> list[Claim]:
        return _without(self.now, self.before)


def _without(claims: Iterable[Claim], others: Iterable[Claim]) -> list[Claim]:
    held = {claim.identity for claim in others}
    return [claim for claim in claims if claim.identity not in held]


@dataclass(slots=True)
class MemoryStaging:
    """Staging that ends with the process."""

    records: dict[str, StagingRecord] = field(default_factory=dict)
    finished: bool = False
    reason: str = ""

    @property
    def count(self) -> int:
        return len(self.records)

    def holds(self, record: StagingRecord) -> bool:
        return record.content_hash in self.records

    def add(self, record: StagingRecord) -> UUID:
        self.records.setdefault(record.content_hash, record)
        return uuid5(UUID(int=0), record.content_hash)

    def finish(self, reason: str) -> None:
        self.finished = True
        self.reason = reason


@contextmanager
def read_only() -> Any:
    """A transaction in which PostgreSQL refuses every write."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            # A model may think for longer than a server lets a transaction idle.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield


def replay(batch_id: UUID, worker: str, model: str = "", checkpoint: Callable[[], None] = lambda: None) -> Replay:
    """Let a worker read the batch's stored environment again, in a transaction that cannot write.

    Raises Batch.DoesNotExist, NotReplayable, ValueError for an unknown worker or model, and what a worker raises. A model's
    use costs what it costs, and is recorded nowhere.
    """
    with read_only():
        batch = Batch.objects.select_related("chat").get(pk=batch_id)
        content = _environment(batch)
        chosen = get_worker(worker, model)
        staging = MemoryStaging()
        tools = ExploreTools(content, staging)
        chosen.run(overview(content), tools, checkpoint)
        return _outcome(batch, chosen, tools, staging)


def _environment(batch: Batch) -> dict[str, Any]:
    stored = ReferenceEnvironment.objects.filter(batch=batch).first()
    if stored is None:
        raise NotReplayable(
            f"the batch {batch.pk} has no environment: it was formed and never begun, so nothing can be replayed"
        )
    actual = content_hash(stored.content)
    if actual != stored.content_hash:
        raise NotReplayable(
            f"the environment of batch {batch.pk} is not what was stored: its content has the hash {actual}, but "
            f"{stored.content_hash} is recorded; run check_invariants, and restore the row from a backup"
        )
    return readable(stored.content)


def _outcome(batch: Batch, worker: ExtractWorker, tools: ExploreTools, staging: MemoryStaging) -> Replay:
    report = getattr(worker, "report", WorkerReport())
    rows = Candidate.objects.filter(batch=batch, attempt=batch.attempt).order_by("order")
    return Replay(
        batch=batch,
        worker=worker.name,
        version=worker.version,
        before=[
            Claim(row.kind, row.claim, row.understanding, tuple(sorted(one["id"] for one in row.evidence)))
            for row in rows
        ],
        now=[
            Claim(one.kind, one.claim, one.understanding, tuple(sorted(item.id for item in one.evidence)))
            for one in staging.records.values()
        ],
        reason=staging.reason if staging.finished else "the worker stopped without finish_extraction",
        refusals=tools.refusals,
        usage=tools.calls + report.usage,
        cost=report.cost,
    )

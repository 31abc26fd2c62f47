"""The product's own way from messages to staged candidates, over one excerpt. Needs a database that it may write to."""

from uuid import UUID, uuid4

from coverage.models import Chat
from coverage.services import get_or_create_learner, put_messages
from extraction.exploring import environment
from extraction.exploring.staging import StagingRecord
from extraction.exploring.tools import ExploreTools
from extraction.workers import ExtractWorker
from tests.quality.excerpts import Excerpt
from tests.quality.matching import Judged, claims_of, judge


class MemoryStaging:
    """Staging that keeps its records here: nothing is merged, so excerpts cannot touch each other."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[UUID, StagingRecord]] = {}
        self.finished = False

    @property
    def count(self) -> int:
        return len(self.records)

    def holds(self, record: StagingRecord) -> bool:
        return record.content_hash in self.records

    def add(self, record: StagingRecord) -> UUID:
        return self.records.setdefault(record.content_hash, (uuid4(), record))[0]

    def finish(self, reason: str) -> None:
        self.finished = True


def staged(excerpt: Excerpt, worker: ExtractWorker) -> list[StagingRecord]:
    """What the worker stages of the excerpt as one batch: stored as messages, frozen as an environment, read by tools."""
    chat = Chat.objects.create(learner=get_or_create_learner("Quality"), title=excerpt.domain)
    put_messages(chat.pk, list(excerpt.messages), whole_transcript=True)
    content = environment.build(chat, list(chat.messages.order_by("position")))
    staging = MemoryStaging()
    worker.run(environment.overview(content), ExploreTools(content, staging), lambda: None)
    if not staging.finished:
        raise RuntimeError(f"{excerpt.name}: the worker never finished")
    return [record for _, record in staging.records.values()]


def judged(excerpt: Excerpt, worker: ExtractWorker) -> Judged:
    return judge(excerpt, claims_of(staged(excerpt, worker)))

"""What the activity page shows above its list: the backlog of chats with its rate and end, and who works on what."""

from dataclasses import dataclass

from coverage.queueing import LIBRARY
from extraction.backfill import Backlog, backlog
from osii import health
from osii.models import ChatImport, ProcessingRun
from osii.waiting import eta_words

from .live import chat_workers, queue_workers


@dataclass(frozen=True, slots=True)
class Activity:
    """``library_waits`` and ``library_active``: imports and processing runs; ``workers`` are looked up where something waits."""

    backlog: Backlog
    library_active: bool
    workers: health.Finding | None
    library_workers: health.Finding | None

    @property
    def active(self) -> bool:
        return self.backlog.active or self.library_active

    @property
    def eta(self) -> str:
        return eta_words(self.backlog.eta)


def read_activity() -> Activity:
    state = backlog()
    imports = set(ChatImport.objects.filter(status__in=ChatImport.ACTIVE).values_list("status", flat=True))
    runs = set(ProcessingRun.objects.filter(status__in=ProcessingRun.ACTIVE).values_list("status", flat=True))
    return Activity(
        backlog=state,
        library_active=bool(imports or runs - {ProcessingRun.Status.PAUSED}),
        workers=chat_workers() if state.queued else None,
        library_workers=queue_workers(LIBRARY) if "queued" in imports | runs else None,
    )

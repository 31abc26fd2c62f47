"""What an attempt at a batch used and said, kept however it ended."""

import logging
from collections import Counter

from django.db import transaction
from django.db.utils import Error

from .. import spending
from ..exploring.features import EXTRACT_WORKER
from ..exploring.tools import ExploreTools
from ..models import Batch, WorkerConversation
from ..workers import ExtractWorker, WorkerReport, as_recorded

logger = logging.getLogger(__name__)


def spent(batch: Batch, tools: ExploreTools, worker: ExtractWorker) -> Counter[str]:
    """What all attempts at the batch used so far: calls of each tool, and whatever the worker counts."""
    return Counter(batch.usage) + tools.calls + getattr(worker, "report", WorkerReport()).usage


def record_attempt(batch: Batch, tools: ExploreTools, worker: ExtractWorker) -> None:
    """Keep what this attempt used and said, however it ended; nothing of an attempt that another one has followed."""
    report = getattr(worker, "report", WorkerReport())
    try:
        with transaction.atomic():
            spending.record_use(batch, EXTRACT_WORKER, report)
            ours = Batch.objects.filter(pk=batch.pk, attempt=batch.attempt)
            used = {"usage": spent(batch, tools, worker), "refusals": tools.refusals, **as_recorded(worker)}
            if not ours.update(**used) or not report.conversation:
                return
            WorkerConversation.objects.create(
                batch=batch,
                attempt=batch.attempt,
                worker_version=worker.version,
                entries=report.conversation,
                usage=report.usage,
            )
    except Error as error:
        logger.warning("What the worker of batch %s used and said is not kept: %s", batch.pk, error)

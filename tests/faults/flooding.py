"""Far more jobs than there is work: each active row under many ids, and rows that do not exist."""

import uuid

TIMES = 10


def flood() -> None:
    """In a child process of the installation."""
    from coverage.queueing import CHATS, LIBRARY, enqueue_now
    from extraction.jobs import run_chat
    from extraction.models import Run
    from osii.library.jobs import process_item
    from osii.models import ProcessingItem

    runs = [str(key) for key in Run.objects.filter(status__in=Run.ACTIVE).values_list("pk", flat=True)[:20]]
    items = [str(key) for key in ProcessingItem.objects.filter(status="queued").values_list("pk", flat=True)[:20]]
    for number in range(TIMES):
        mark = uuid.uuid4().hex[:8]
        for run in [*runs, str(uuid.uuid4())]:
            enqueue_now(CHATS, run_chat, run, job_id=f"flood-{mark}-{run}")
        for item in [*items, str(10**9 + number)]:
            enqueue_now(LIBRARY, process_item, item, job_id=f"flood-{mark}-{item}")

"""A run is what was asked and stays so; an ended run has nothing left to do; rows go only with what they are of."""

from django.db import migrations

from coverage.guards import guard, guard_truncate, refuse

RUN = ("status", "error", "queued_at", "started_at", "finished_at", "cancel_requested_at", "learner_id")
ITEM = (
    "document_id",
    "status",
    "error",
    "attempt",
    "attempt_token",
    "lease_expires_at",
    "heartbeat_at",
    "held_by",
    "recoveries",
    "started_at",
    "finished_at",
)
STEP = ("status", "error", "attempt", "extraction_id", "output_id", "started_at", "finished_at")

OPEN_ITEMS = """
SELECT 1 FROM fresh JOIN osii_processingitem item ON item.run_id = fresh.id AND item.status IN ('queued', 'running')
WHERE fresh.status IN ('succeeded', 'failed', 'cancelled')
"""

ENDED_RUN = """
SELECT 1 FROM fresh JOIN osii_processingrun run ON run.id = fresh.run_id AND run.finished_at IS NOT NULL
WHERE fresh.status IN ('queued', 'running')
"""

OTHER_STEP = """
SELECT 1 FROM fresh JOIN osii_processingitem item ON item.id = fresh.item_id
WHERE NOT fresh.step = ANY (item.steps)
"""


class Migration(migrations.Migration):
    dependencies = [("osii", "0005_processing_runs"), ("coverage", "0004_firmer_guards")]

    operations = [
        guard("osii_processingrun", *RUN),
        guard("osii_processingitem", *ITEM),
        guard("osii_processingstep", *STEP),
        guard_truncate("osii_processingrun"),
        guard_truncate("osii_processingitem"),
        guard_truncate("osii_processingstep"),
        refuse("osii_processingrun", "ended", OPEN_ITEMS, "a run that ended has no items left to do", updates=True),
        refuse("osii_processingitem", "open", ENDED_RUN, "an item is done in an active run only", updates=True),
        refuse("osii_processingstep", "planned", OTHER_STEP, "a step is one that its item was planned with"),
    ]

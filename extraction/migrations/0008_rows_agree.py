"""What belongs together is of one chat and of one learner, and nothing append-only is truncated."""

from django.db import migrations

from coverage.guards import guard_truncate, keep, refuse

FOREIGN_RUN = "SELECT 1 FROM fresh f JOIN extraction_run r ON r.id = f.run_id WHERE r.chat_id <> f.chat_id"
FOREIGN_MESSAGE = "SELECT 1 FROM fresh f JOIN extraction_batch b ON b.id = f.batch_id WHERE b.chat_id <> f.chat_id"
LATER_ATTEMPT = "SELECT 1 FROM fresh f JOIN extraction_batch b ON b.id = f.batch_id WHERE f.attempt > b.attempt"
FOREIGN_PROPOSITION = """
SELECT 1 FROM fresh f
JOIN extraction_candidate c ON c.id = f.candidate_id
JOIN extraction_batch b ON b.id = c.batch_id
JOIN coverage_chat t ON t.id = b.chat_id
JOIN graphctx_proposition p ON p.id = f.proposition_id
WHERE t.learner_id <> p.learner_id
"""

GUARDED = (
    "extraction_batchmessage",
    "extraction_referenceenvironment",
    "extraction_candidate",
    "extraction_resolution",
    "extraction_extractionversion",
    "extraction_promotion",
    "extraction_workerconversation",
)


class Migration(migrations.Migration):
    dependencies = [
        ("extraction", "0007_known_values"),
        ("coverage", "0004_firmer_guards"),
        ("graphctx", "0004_evidence_agrees"),
    ]

    operations = [
        *map(guard_truncate, GUARDED),
        keep("extraction_run", "chat_id"),
        keep("extraction_batch", "chat_id"),
        refuse("extraction_batch", "same_chat", FOREIGN_RUN, "a batch is of the chat of its run", updates=True),
        refuse("extraction_batchmessage", "same_chat", FOREIGN_MESSAGE, "a batch holds messages of its own chat"),
        refuse("extraction_candidate", "attempt", LATER_ATTEMPT, "a candidate is of an attempt that its batch has had"),
        refuse(
            "extraction_resolution",
            "same_learner",
            FOREIGN_PROPOSITION,
            "a resolution names a proposition of the learner whose chat it comes from",
        ),
    ]

"""What must always hold of runs, batches, candidates and propositions; each violation is one line of text."""

from collections.abc import Iterator

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from coverage.invariants import missing_guards
from graphctx.models import Instance

from .exploring.environment import content_hash
from .models import Batch, Candidate, ReferenceEnvironment, Run
from .quotes import find_quote

GUARDED = (
    "graphctx_instance",
    "graphctx_link",
    "extraction_batchmessage",
    "extraction_referenceenvironment",
    "extraction_candidate",
    "extraction_resolution",
    "extraction_extractionversion",
    "extraction_promotion",
    "extraction_workerconversation",
)

# Each succeeded batch wrote exactly one cover line per message it holds, of the version that it read, into its own chat's
# ledger, and no other batch wrote any. An imported checkpoint is no batch of ours: it has an id of UUID version 8
# (coverage/importers/checkpoints.py).
LEDGER_OF_BATCHES = """
WITH lines AS (
    SELECT batch, chat_id, fingerprint, count(*) AS n FROM coverage_coverageentry WHERE kind = 'cover' AND batch IS NOT NULL
      AND substr(batch::text, 15, 1) <> '8' GROUP BY batch, chat_id, fingerprint
), held AS (
    SELECT b.id, b.chat_id, m.fingerprint, count(*) AS n FROM extraction_batch b
    JOIN extraction_batchmessage m ON m.batch_id = b.id WHERE b.status = 'succeeded' GROUP BY b.id, b.chat_id, m.fingerprint
)
SELECT COALESCE(held.id, lines.batch), COALESCE(held.fingerprint, lines.fingerprint), COALESCE(held.n, 0), COALESCE(lines.n, 0)
FROM held FULL JOIN lines ON lines.batch = held.id AND lines.chat_id = held.chat_id AND lines.fingerprint = held.fingerprint
WHERE COALESCE(held.n, 0) <> COALESCE(lines.n, 0)
"""

# Read at most once: a version is not read more often than there were messages with it, but for releases.
READ_TWICE = """
SELECT b.chat_id, m.fingerprint, count(*) FROM extraction_batchmessage m
JOIN extraction_batch b ON b.id = m.batch_id AND b.status = 'succeeded'
GROUP BY b.chat_id, m.fingerprint HAVING count(*) > (
    SELECT count(*) FROM coverage_message c WHERE c.chat_id = b.chat_id AND c.fingerprint = m.fingerprint
) + (
    SELECT count(*) FROM coverage_coverageentry e
    WHERE e.chat_id = b.chat_id AND e.fingerprint = m.fingerprint AND e.kind = 'release'
) + count(DISTINCT m.message_id) FILTER (WHERE NOT EXISTS (
    SELECT 1 FROM coverage_message c
    WHERE c.chat_id = b.chat_id AND c.message_id = m.message_id AND c.fingerprint = m.fingerprint))
"""

WITHOUT_EVIDENCE = """
SELECT p.id FROM graphctx_proposition p
WHERE p.state <> 'forgotten' AND NOT EXISTS (SELECT 1 FROM graphctx_instance i WHERE i.proposition_id = p.id)
"""

UNRESOLVED = """
SELECT c.id FROM extraction_candidate c JOIN extraction_batch b ON b.id = c.batch_id
WHERE b.status = 'succeeded' AND c.attempt = b.attempt
  AND NOT EXISTS (SELECT 1 FROM extraction_resolution r WHERE r.candidate_id = c.id)
"""

# A candidate that was merged has evidence from its chat or document in the proposition that its standing names.
STANDING_WITHOUT_EVIDENCE = """
SELECT c.id, latest.proposition_id FROM extraction_candidate c
JOIN extraction_batch b ON b.id = c.batch_id
JOIN LATERAL (
    SELECT r.outcome, r.proposition_id FROM extraction_resolution r WHERE r.candidate_id = c.id
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1
) latest ON latest.outcome IN ('new', 'same', 'supersedes', 'contradicts')
WHERE NOT EXISTS (
    SELECT 1 FROM graphctx_instance i
    WHERE i.proposition_id = latest.proposition_id AND i.withdrawn_at IS NULL
      AND (i.chat_id = b.chat_id OR i.document_id = b.document_id)
)
"""


def check() -> Iterator[str]:
    """Violations over runs, batches, environments, candidates and the graph."""
    with connection.cursor() as cursor:
        cursor.execute(LEDGER_OF_BATCHES)
        for batch, mark, held, lines in cursor.fetchall():
            yield f"batch {batch}: {held} messages read as {mark} but {lines} such cover lines in the ledger"
        cursor.execute(READ_TWICE)
        for chat, mark, count in cursor.fetchall():
            yield f"chat {chat}: version {mark} was read {count} times, more often than it was there"
        cursor.execute(WITHOUT_EVIDENCE)
        for (proposition,) in cursor.fetchall():
            yield f"proposition {proposition}: no instance, so no evidence"
        cursor.execute(UNRESOLVED)
        for (candidate,) in cursor.fetchall():
            yield f"candidate {candidate}: merged batch, but no resolution"
        cursor.execute(STANDING_WITHOUT_EVIDENCE)
        for candidate, proposition in cursor.fetchall():
            yield f"candidate {candidate}: merged into {proposition}, which has no evidence from its source"
    yield from _environments()
    yield from _quotes()
    yield from _instances()
    yield from _counts()
    yield from _orphans()
    yield from missing_guards(*GUARDED)


def _environments() -> Iterator[str]:
    for row in ReferenceEnvironment.objects.iterator(chunk_size=50):
        if row.content_hash != content_hash(row.content):
            yield f"batch {row.batch_id}: its environment is not what was stored"


def _quotes() -> Iterator[str]:
    """Every quote stands in the environment it was taken from."""
    for candidate in Candidate.objects.select_related("batch__environment").iterator(chunk_size=200):
        environment = getattr(candidate.batch, "environment", None)  # one that is gone proves nothing
        entries = {entry["id"]: entry for entry in environment.content["evidence"]} if environment else {}
        for item in candidate.evidence:
            entry = entries.get(item["id"])
            if entry is None or find_quote(entry["text"], item["quote"] or item["excerpt"]) is None:
                yield f"candidate {candidate.pk}: evidence {item['id']} does not stand in its environment"


def _instances() -> Iterator[str]:
    """Every quote that a proposition stands on, too, stands in the environment of the batch that read it.

    An instance that was imported, or whose batch is gone with its document's version, has no environment to look at.
    """
    rows = Instance.objects.exclude(quote="").order_by("batch").values_list("batch", "pk", "quote")
    read, texts = None, []
    for batch, instance, quote in rows.iterator(chunk_size=2000):
        if batch != read:
            content = ReferenceEnvironment.objects.filter(batch=batch).values_list("content", flat=True).first()
            read, texts = batch, [entry["text"] for entry in content["evidence"]] if content else []
        if texts and not any(quote in text for text in texts):
            yield f"instance {instance}: its quote does not stand in the environment of batch {batch}"


def _counts() -> Iterator[str]:
    for batch in Batch.objects.filter(status=Batch.Status.SUCCEEDED).iterator():
        staged = batch.candidates.filter(attempt=batch.attempt).count()
        if staged != batch.staged_count:
            yield f"batch {batch.pk}: finished with {batch.staged_count} candidates but holds {staged}"


def _orphans() -> Iterator[str]:
    for run in Run.objects.filter(status=Run.Status.RUNNING, lease_expires_at__lt=Now()):
        yield f"run {run.pk}: running, but its lease expired at {run.lease_expires_at:%Y-%m-%d %H:%M:%S} UTC"
    open_batches = Batch.objects.filter(status=Batch.Status.RUNNING, run__isnull=False)
    for batch in open_batches.filter(~Q(run__status__in=Run.ACTIVE)):
        yield f"batch {batch.pk}: open, but its run is {batch.run.status}"

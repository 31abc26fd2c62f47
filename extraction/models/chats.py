"""Runs over a chat, their batches, and what each batch's worker was shown and answered."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from coverage.ids import new_id
from coverage.models import Chat, Learner

from .documents import Document


class Run(models.Model):
    """One single-flight execution for a chat. The row is the truth; the queued job is a hint."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        ABORTED = "aborted"

    class Mode(models.TextChoices):
        DUE = "due", "while due"
        REST = "rest", "the rest"

    ACTIVE = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="runs")
    mode = models.CharField(max_length=4, choices=Mode)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    worker = models.CharField(max_length=40)
    # The name of the model that was asked for; empty is whichever is the default when a batch is read.
    model = models.CharField(max_length=40, blank=True, default="")
    # Every write of a running job carries the token of its attempt; a new attempt changes it.
    attempt = models.PositiveIntegerField(default=0)
    attempt_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    # How often its worker was lost: in all, and since it last read a batch to its end. Only the second has a limit.
    recoveries = models.PositiveIntegerField(default=0)
    fruitless = models.PositiveIntegerField(default=0, db_default=0)
    abort_requested_at = models.DateTimeField(null=True, blank=True)
    # {"mode", "worker", "model"} of what was asked for after the abort: the run that starts when this one has stopped.
    following = models.JSONField(default=dict, blank=True, editable=False)
    held_by = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    # What is to be known of a run that succeeded: that it stopped at its cap.
    note = models.TextField(blank=True, default="")
    # Set when the run failed because its worker could not work just then: the reconciler tries again from then on, in a
    # new run, and each time in a row waits longer.
    retry_at = models.DateTimeField(null=True, blank=True)
    retries = models.PositiveIntegerField(default=0)
    queued_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-queued_at", "id")
        constraints = [
            # Single flight.
            models.UniqueConstraint(
                fields=("chat",), condition=Q(status__in=("queued", "running")), name="one_active_run_per_chat"
            ),
            models.CheckConstraint(
                condition=~Q(status="running") | Q(attempt_token__isnull=False, lease_expires_at__isnull=False),
                name="running_run_has_lease",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=("queued", "running", "succeeded", "failed", "aborted"), mode__in=("due", "rest")
                ),
                name="run_status_and_mode_known",
            ),
            models.CheckConstraint(
                condition=~Q(status="queued") | Q(abort_requested_at__isnull=True), name="waiting_run_is_not_aborted"
            ),
            models.CheckConstraint(
                condition=Q(following={}) | Q(abort_requested_at__isnull=False), name="run_follows_an_aborted_one"
            ),
        ]
        indexes = [
            # The reconciler: queued runs, and running ones by lease.
            models.Index(
                fields=("status", "lease_expires_at"),
                condition=Q(status__in=("queued", "running")),
                name="run_active_by_lease",
            ),
            # The reconciler: failed runs to be tried again.
            models.Index(fields=("retry_at",), condition=Q(retry_at__isnull=False), name="run_to_retry"),
            # What needs attention: which runs failed, and whether another one of their chat came later.
            models.Index(fields=("chat", "queued_at"), name="run_by_chat"),
            models.Index(fields=("chat",), condition=Q(status="failed"), name="run_failed"),
            # The latest runs on the home page, and those that ended last on the activity page.
            models.Index(fields=("-queued_at", "id"), name="run_by_queue"),
            models.Index(fields=("-finished_at", "id"), condition=Q(finished_at__isnull=False), name="run_by_end"),
        ]

    def __str__(self) -> str:
        return f"run {self.id} ({self.status})"

    @property
    def active(self) -> bool:
        return self.status in self.ACTIVE


class Batch(models.Model):
    """One group of consecutive uncovered messages of a chat, read as one. A retry reuses the row and its messages.

    Or one group of consecutive pieces of a document's text: then ``document`` and ``extraction_id`` are set, ``chat`` and
    ``run`` are not, it holds no messages, and positions number the pieces. See extraction/documents/reading.py.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed", "failed, to be retried"
        PARKED = "parked"
        ABORTED = "aborted"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="batches")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, blank=True, related_name="batches")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, null=True, blank=True, related_name="batches")
    # A plain id: what was read stays on record when old versions are removed.
    extraction_id = models.CharField(max_length=120, blank=True, default="")
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    attempt = models.PositiveIntegerField(default=1)
    attempt_token = models.UUIDField()
    failures = models.PositiveIntegerField(default=0)
    first_position = models.PositiveIntegerField()
    last_position = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    worker = models.CharField(max_length=40)
    worker_version = models.CharField(max_length=80, blank=True)
    # The instructions of its worker, and the hash of their text; for a worker without any its own version, and "".
    prompt_version = models.CharField(max_length=80, blank=True, default="")
    prompt_hash = models.CharField(max_length=64, blank=True, default="")
    # The model of the last attempt as it was set up then, without its key; empty where no model read it.
    model = models.JSONField(default=dict, blank=True)
    # What the worker said when it finished: the completion reason, or why there was nothing.
    reason = models.TextField(blank=True)
    staged_count = models.PositiveIntegerField(null=True, blank=True)
    refusals = models.PositiveIntegerField(default=0)
    usage = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"
        ordering = ("created_at", "id")
        constraints = [
            models.UniqueConstraint(fields=("chat",), condition=Q(status="running"), name="one_running_batch_per_chat"),
            models.UniqueConstraint(
                fields=("document",), condition=Q(status="running"), name="one_running_batch_per_document"
            ),
            models.CheckConstraint(
                condition=Q(chat__isnull=False, run__isnull=False, document__isnull=True, extraction_id="")
                | (Q(chat__isnull=True, run__isnull=True, document__isnull=False) & ~Q(extraction_id="")),
                name="batch_of_chat_or_document",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("running", "succeeded", "failed", "parked", "aborted")),
                name="batch_status_known",
            ),
            models.CheckConstraint(
                condition=Q(first_position__lte=models.F("last_position")), name="batch_positions_in_order"
            ),
            models.CheckConstraint(
                condition=~Q(status="succeeded") | Q(staged_count__gt=0) | ~Q(reason=""),
                name="empty_batch_says_why",
            ),
        ]
        indexes = [
            # Parked and in-flight overlays of a chat's messages.
            models.Index(fields=("chat", "status"), name="batch_by_chat_and_status"),
            # The same over all chats: few.
            models.Index(fields=("status",), condition=Q(status__in=("running", "parked")), name="batch_holding"),
            # What was read in the last day (the cap) and hour (the rate).
            models.Index(fields=("finished_at",), name="batch_by_end"),
            # What was read under older instructions.
            models.Index(fields=("worker", "prompt_version", "prompt_hash"), name="batch_by_prompt"),
            # What was read of a document's version already.
            models.Index(
                fields=("document", "extraction_id", "status"),
                condition=Q(document__isnull=False),
                name="batch_by_document",
            ),
        ]

    def __str__(self) -> str:
        what = "pieces" if self.document_id else "messages"
        return f"{what} {self.first_position}–{self.last_position} ({self.status})"

    @property
    def learner(self) -> Learner | None:
        """Whose graph it feeds; None when a document has no learner any more."""
        source = self.document if self.document_id else self.chat
        return source.learner

    @property
    def title(self) -> str:
        """What was read: the chat's title or the document's file name."""
        return self.document.filename if self.document_id else self.chat.shown_title

    @property
    def found_nothing(self) -> bool:
        """A recorded success with no candidate; different from failed and from parked."""
        return self.status == self.Status.SUCCEEDED and self.staged_count == 0


class BatchMessage(models.Model):
    """One message of a batch, as it was when the batch was formed. Immutable."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="messages")
    # Repeated from the batch: message ids are unique within a chat only, and the states of a chat look them up there.
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="+", db_index=False)
    order = models.PositiveIntegerField()
    message_id = models.CharField(max_length=200)
    position = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()

    class Meta:
        ordering = ("batch", "order")
        constraints = [
            models.UniqueConstraint(fields=("batch", "order"), name="batch_message_order"),
            models.UniqueConstraint(fields=("batch", "message_id"), name="message_once_per_batch"),
        ]
        indexes = [
            # States of a chat's messages: which batches read this message id, under which fingerprint.
            models.Index(fields=("chat", "message_id", "fingerprint"), name="batch_message_in_chat"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} at {self.position}"


class ReferenceEnvironment(models.Model):
    """The immutable snapshot that a batch's worker explores."""

    batch = models.OneToOneField(Batch, on_delete=models.CASCADE, primary_key=True, related_name="environment")
    # {"chat", "range", "evidence": [...]}; see extraction/exploring/environment.py
    content = models.JSONField()
    content_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"environment of {self.batch_id}"


class WorkerConversation(models.Model):
    """What a worker and its model said to each other in one attempt at a batch, bounded. Immutable; never in the chat."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="conversations")
    attempt = models.PositiveIntegerField()
    worker_version = models.CharField(max_length=80)
    # [{"role", "text" | "tool" and "arguments"}]; see extraction/llm/transcript.py
    entries = models.JSONField()
    usage = models.JSONField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("batch", "attempt")
        constraints = [
            models.UniqueConstraint(fields=("batch", "attempt"), name="conversation_once_per_attempt"),
        ]

    def __str__(self) -> str:
        return f"conversation of {self.batch_id}, attempt {self.attempt}"

"""Collections of documents, and processing runs: what was asked of the library, for which documents, and how far it is.

A run is a row, its items are rows, and each step of an item is a row that is written when it begins and when it ends:
what is written for one document does not grow with their number.
"""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from coverage.ids import new_id
from coverage.models import Learner
from extraction.models import Document, ExtractionVersion

from .models import Output


class Step(models.TextChoices):
    """What a run does to a document, in the order in which it is done."""

    ADD = "add", "Add to the library"
    EXTRACT = "extract", "Extract the text"
    CHUNKS = "chunks", "Search chunks"
    EMBEDDINGS = "embeddings", "Embeddings"
    SYNTHESIS = "synthesis", "Synthesis"
    ENRICHMENT = "enrichment", "Enrichment"
    PROPOSITIONS = "propositions", "Propositions"


class Collection(models.Model):
    """Documents under a name. Deleting it leaves them where they are."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    documents: models.ManyToManyField = models.ManyToManyField(
        Document, through="CollectionDocument", related_name="collections"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = (Lower("name"), "id")
        constraints = [
            models.UniqueConstraint(
                Lower("name"),
                name="collection_name_once",
                violation_error_message="There is a collection of this name already.",
            ),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="collection_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class CollectionDocument(models.Model):
    """A document in a collection."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="entries")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="collection_entries")
    added_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("collection", "-added_at", "id")
        constraints = [
            models.UniqueConstraint(fields=("collection", "document"), name="document_once_per_collection"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id} in {self.collection_id}"


class ProcessingRun(models.Model):
    """One activity of the Process library, with the plan as it was when it was made.

    ``request`` is what was asked, in the fields of the API; ``operations`` lists its steps with their methods,
    versions and options; ``plan`` is the preview that was shown. How far it is, its items say.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Workflow(models.TextChoices):
        INTAKE = "intake"
        LIBRARY = "library"

    ACTIVE: ClassVar = (Status.QUEUED, Status.RUNNING, Status.PAUSED)
    ENDED: ClassVar = (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # Made with the form or by the client, so that what is sent twice makes one run.
    submission = models.UUIDField(unique=True, default=new_id, editable=False)
    workflow = models.CharField(max_length=10, choices=Workflow, default=Workflow.LIBRARY)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    actor = models.CharField(max_length=200)
    request = models.JSONField(default=dict)
    operations = models.JSONField(default=list)
    plan = models.JSONField(default=dict)
    # Whose the documents become that an intake adds.
    learner = models.ForeignKey(Learner, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    queued_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    # Somebody has seen what failed: it asks for attention no more.
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=("queued", "running", "paused", "succeeded", "failed", "cancelled")),
                name="processing_status_known",
            ),
            models.CheckConstraint(condition=Q(workflow__in=("intake", "library")), name="processing_workflow_known"),
            models.CheckConstraint(
                condition=Q(status__in=("queued", "running", "paused"), finished_at__isnull=True)
                | Q(status__in=("succeeded", "failed", "cancelled"), finished_at__isnull=False),
                name="processing_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(status="cancelled") | Q(cancel_requested_at__isnull=False),
                name="processing_cancelled_was_asked",
            ),
            models.CheckConstraint(
                condition=Q(acknowledged_at__isnull=True, acknowledged_by="")
                | Q(acknowledged_at__isnull=False, status__in=("succeeded", "failed", "cancelled"))
                & ~Q(acknowledged_by=""),
                name="processing_acknowledged_when_ended",
            ),
        ]
        indexes = [
            # The reconciler looks at these every few seconds.
            models.Index(
                fields=("status",), condition=Q(status__in=("queued", "running", "paused")), name="processing_active"
            ),
            # Activity, newest first, all or of one status.
            models.Index(fields=("-created_at", "-id"), name="processing_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow}: {', '.join(operation['id'] for operation in self.operations)}"

    @property
    def active(self) -> bool:
        return self.status in self.ACTIVE

    @property
    def cancelling(self) -> bool:
        return self.active and self.cancel_requested_at is not None


class ProcessingItem(models.Model):
    """One document of a run, or the path of a file that an intake adds. It is done by one job and holds its own lease.

    ``steps`` are what the plan found eligible; ``blocked`` maps steps that cannot be done to the reason. An item whose
    steps are all blocked is itself ``blocked``: it is listed and never done.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        BLOCKED = "blocked"
        CANCELLED = "cancelled"

    OPEN: ClassVar = (Status.QUEUED, Status.RUNNING)

    run = models.ForeignKey(ProcessingRun, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, null=True, blank=True, related_name="processing_items"
    )
    path = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    steps = ArrayField(models.CharField(max_length=12, choices=Step), default=list, blank=True)
    blocked = models.JSONField(default=dict, blank=True)
    # Of a failed item: the step and what went wrong; of a blocked one: why.
    error = models.TextField(blank=True)
    attempt = models.PositiveIntegerField(default=0)
    attempt_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    held_by = models.CharField(max_length=200, blank=True)
    recoveries = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("run", "position")
        constraints = [
            models.UniqueConstraint(fields=("run", "position"), name="processing_item_once_per_place"),
            # What a run does to this document; and no document twice in a run.
            models.UniqueConstraint(
                fields=("document", "run"), condition=Q(path=""), name="processing_document_once_per_run"
            ),
            models.CheckConstraint(
                condition=Q(status="running", attempt_token__isnull=False, lease_expires_at__isnull=False)
                | (~Q(status="running") & Q(attempt_token__isnull=True, lease_expires_at__isnull=True)),
                name="processing_item_leased_while_running",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("queued", "running", "succeeded", "failed", "blocked", "cancelled")),
                name="processing_item_status_known",
            ),
            models.CheckConstraint(
                condition=Q(document__isnull=False) | ~Q(path=""), name="processing_item_is_of_something"
            ),
            models.CheckConstraint(
                condition=Q(status__in=("failed", "blocked")) & ~Q(error="")
                | ~Q(status__in=("failed", "blocked")) & Q(error=""),
                name="processing_item_says_why",
            ),
            models.CheckConstraint(
                condition=Q(status="blocked", steps=[]) | (~Q(status="blocked") & ~Q(steps=[])),
                name="processing_item_has_steps",
            ),
        ]
        indexes = [
            # The next one to do, how many there are of each status, and the list of each.
            models.Index(fields=("run", "status", "position"), name="processing_item_by_status"),
            # The reconciler looks for leases that have expired.
            models.Index(fields=("lease_expires_at",), condition=Q(status="running"), name="processing_item_leases"),
            # How fast a run is: what ended lately.
            models.Index(fields=("run", "finished_at"), name="processing_item_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id or self.path}: {self.status}"


class ProcessingStep(models.Model):
    """One step of an item: written when it begins and when it ends. A step without a row has not begun."""

    class Status(models.TextChoices):
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        CURRENT = "current", "was current"  # somebody else had made it meanwhile: nothing was done
        FAILED = "failed"
        BLOCKED = "blocked"  # what it needs was not there

    DONE: ClassVar = (Status.SUCCEEDED, Status.CURRENT)

    item = models.ForeignKey(ProcessingItem, on_delete=models.CASCADE, related_name="step_rows")
    step = models.CharField(max_length=12, choices=Step)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    error = models.TextField(blank=True)
    attempt = models.PositiveIntegerField()
    extraction = models.ForeignKey(
        ExtractionVersion, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    output = models.ForeignKey(Output, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Of the first attempt: what was made since then, this step made.
    began_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("item", "id")
        constraints = [
            models.UniqueConstraint(fields=("item", "step"), name="processing_step_once_per_item"),
            models.CheckConstraint(
                condition=Q(status__in=("running", "succeeded", "current", "failed", "blocked")),
                name="processing_step_status_known",
            ),
            models.CheckConstraint(
                condition=Q(status="running", finished_at__isnull=True)
                | (~Q(status="running") & Q(finished_at__isnull=False)),
                name="processing_step_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("failed", "blocked")) & ~Q(error="")
                | ~Q(status__in=("failed", "blocked")) & Q(error=""),
                name="processing_step_says_why",
            ),
        ]
        indexes = [
            # How long a step took lately.
            models.Index(fields=("step", "-finished_at"), name="processing_step_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.status}"

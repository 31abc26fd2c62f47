"""State of the front: who may call the HTTP API, and imports of uploaded chats."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from coverage.ids import new_id
from coverage.models import Chat, Learner
from coverage.words import shown_title

from .care.models import Erasure, StaffAction
from .library.models import Chunk, ChunkVector, Made, Making, MakingSet, Output, OutputKind, OutputSetting
from .library.run_models import Collection, CollectionDocument, ProcessingItem, ProcessingRun, ProcessingStep, Step

__all__ = [
    "ApiToken",
    "ChatImport",
    "Chunk",
    "ChunkVector",
    "Collection",
    "CollectionDocument",
    "Erasure",
    "ImportedChat",
    "Made",
    "Making",
    "MakingSet",
    "Output",
    "OutputKind",
    "OutputSetting",
    "ProcessingItem",
    "ProcessingRun",
    "ProcessingStep",
    "StaffAction",
    "Step",
]

UPLOADS_KEPT = timedelta(days=7)
"""How long the files of an import that did not succeed, or was a dry run, can be imported again."""


class ApiToken(models.Model):
    """A bearer token of the HTTP API: for one learner, or for staff. Only the hash of its secret is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField("label", max_length=200, blank=True, help_text="Where it is used, so that it can be found.")
    # The readable start of the token: it finds the row, and tells people which token they look at.
    prefix = models.CharField(max_length=20, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, editable=False)
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    staff = models.BooleanField(
        default=False,
        help_text="Opens the rows of every learner, as far as the account may that makes it, now and later.",
    )
    # A staff token may what this account may; one that was made on the server's command line may everything.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="api_tokens",
    )
    unlimited = models.BooleanField(default=False, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        verbose_name = "API token"
        ordering = ("-created_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(staff=True, learner__isnull=True) | Q(staff=False, learner__isnull=False),
                name="api_token_for_staff_or_one_learner",
                violation_error_message="Choose a learner or staff, not both.",
            ),
            # An account that is deleted leaves no token behind that may more than it did.
            models.CheckConstraint(
                condition=Q(staff=False, unlimited=False, account__isnull=True)
                | Q(staff=True, unlimited=True, account__isnull=True)
                | Q(staff=True, unlimited=False) & (Q(account__isnull=False) | Q(revoked_at__isnull=False)),
                name="api_token_staff_acts_for_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})" if self.name else f"{self.prefix}…"

    @property
    def scope(self) -> str:
        """Whose data it opens: the learner's name, "staff", or "staff, as" the account that it acts for."""
        if not self.staff:
            return str(self.learner)
        return f"staff, as {self.account.get_username()}" if self.account else "staff"

    @property
    def actor(self) -> str:
        """Who a run, a removal or an action is by, in its record."""
        return f"api:{self.prefix}" + (f" ({self.name})" if self.name else "")

    def refusal(self, now: datetime | None = None) -> str:
        """Why it is not valid (any more); empty while it is."""
        if self.revoked_at is not None:
            return "the token was revoked"
        if self.expires_at is not None and self.expires_at <= (now or timezone.now()):
            return "the token has expired"
        if self.account is not None and not (self.account.is_active and self.account.is_staff):
            return "the account that the token acts for is closed"
        return ""


class ChatImport(models.Model):
    """One upload of chats and what became of it: a background run that holds a lease while it works.

    ``files`` lists {name, size} in the order of the upload; they lie in ``OSII_HOME/uploads`` under names of ours.
    ``problems`` lists the first ones as {file, position, reason, remedy}, ``skipped`` the first files without chats as
    {file, reason}; their counts go on. ``counts`` holds the totals of an import that ended.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ACTIVE = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # Made with the form, so that a form that is sent twice makes one import.
    submission = models.UUIDField(unique=True, default=new_id, editable=False)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    # A name and not a row: a new learner is made with their first chat, and a dry run makes none. Empty: as the file says.
    learner = models.CharField(max_length=200, blank=True)
    dry_run = models.BooleanField(default=False)
    files = models.JSONField(default=list)
    counts = models.JSONField(default=dict, blank=True)
    problems = models.JSONField(default=list, blank=True)
    problem_count = models.PositiveIntegerField(default=0)
    skipped = models.JSONField(default=list, blank=True)
    skipped_count = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    bytes_done = models.BigIntegerField(default=0)
    bytes_total = models.BigIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    attempt_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    held_by = models.CharField(max_length=200, blank=True)
    recoveries = models.PositiveIntegerField(default=0)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    queued_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Set when the uploaded files were deleted: it cannot be run again from then on.
    files_deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="running", attempt_token__isnull=False, lease_expires_at__isnull=False)
                | (~Q(status="running") & Q(attempt_token__isnull=True, lease_expires_at__isnull=True)),
                name="import_leased_while_running",
            ),
            models.CheckConstraint(
                condition=Q(status__in=("queued", "running", "succeeded", "failed", "cancelled")),
                name="import_status_known",
            ),
        ]
        indexes = [
            # The reconciler looks at these every few seconds.
            models.Index(fields=("status",), condition=Q(status__in=("queued", "running")), name="import_active"),
        ]

    def __str__(self) -> str:
        names = ", ".join(file["name"] for file in self.files[:2])
        more = len(self.files) - 2
        return (f"{names} and {more} more" if more > 0 else names) or "no files"

    @property
    def active(self) -> bool:
        return self.status in self.ACTIVE

    @property
    def total_size(self) -> int:
        return sum(file["size"] for file in self.files)

    @property
    def files_kept_until(self) -> datetime | None:
        """Until when it can be run again; None while it is active and when the files are gone."""
        if self.active or self.files_deleted_at is not None or self.finished_at is None:
            return None
        return self.finished_at + UPLOADS_KEPT


class ImportedChat(models.Model):
    """What became of one conversation (``kind`` chat), or of one line of old checkpoints, in an import.

    ``state`` is the loader's: new, changed, unchanged, empty, older, failed; of a checkpoint covered, already, nothing,
    pending. ``unchanged`` counts messages that only moved too. ``covered_*`` are of checkpoints.
    """

    class Kind(models.TextChoices):
        CHAT = "chat"
        CHECKPOINT = "checkpoint"

    chat_import = models.ForeignKey(ChatImport, on_delete=models.CASCADE, related_name="conversations")
    # The same in each attempt, for the files are read in one order.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.CHAT)
    file = models.TextField(blank=True)
    position = models.TextField(blank=True)
    format = models.CharField(max_length=40, blank=True)
    learner = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=10)
    # A chat that is erased takes its title here with it.
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    added = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    left = models.PositiveIntegerField(default=0)
    covered_messages = models.PositiveIntegerField(default=0)
    covered_tokens = models.PositiveBigIntegerField(default=0)
    problem_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("chat_import", "number")
        constraints = [
            models.UniqueConstraint(fields=("chat_import", "number"), name="imported_chat_once_per_import"),
        ]

    def __str__(self) -> str:
        return f"{self.title or self.position}: {self.state}"

    @property
    def shown_title(self) -> str:
        """Its title, if that can be seen."""
        return shown_title(self.title, self.chat_id or "")

"""State of chats: learners, chats, messages, and the append-only ledger of what was read."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Mod, Now

from .ids import new_id
from .words import shown_title

GRAPH_CONTEXT_MAX_TOKENS = 4096
GRAPH_CONTEXT_STEP = 128
GRAPH_CONTEXT_DEFAULT = 1024


class Learner(models.Model):
    """Whose knowledge it is. The graph, retrieval and steers never cross learners."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200, unique=True)
    # Incremented by every change of this learner's graph, under this row's lock; scans refresh by it.
    graph_revision = models.BigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Chat(models.Model):
    """One conversation of one learner."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, related_name="chats")
    title = models.CharField(max_length=500, blank=True)
    # Where it came from: the import format, or "api". With external_id it makes re-import find the same chat.
    source = models.CharField(max_length=40, default="api")
    external_id = models.CharField(max_length=200, blank=True)
    graph_context_tokens = models.PositiveIntegerField(default=GRAPH_CONTEXT_DEFAULT)
    # Opaque to us: what the client stores beside the budget (model, thinking).
    settings = models.JSONField(default=dict, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-updated_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=("learner", "source", "external_id"),
                condition=~Q(external_id=""),
                name="chat_once_per_learner_and_source",
            ),
            models.CheckConstraint(
                condition=Q(graph_context_tokens__lte=GRAPH_CONTEXT_MAX_TOKENS),
                name="chat_graph_context_at_most_4096",
            ),
            models.CheckConstraint(
                condition=Q(graph_context_tokens=models.F("graph_context_tokens") - Mod("graph_context_tokens", 128)),
                name="chat_graph_context_step_128",
            ),
        ]
        indexes = [
            # The chats list: newest first, and by title.
            models.Index(fields=("-updated_at", "id"), name="chat_by_activity"),
            models.Index(fields=("title", "id"), name="chat_by_title"),
        ]

    def __str__(self) -> str:
        return self.shown_title

    @property
    def shown_title(self) -> str:
        """What pages call the chat: its title, if that can be seen."""
        return shown_title(self.title, self.id)

    @property
    def imported(self) -> bool:
        return self.source != "api"


class Message(models.Model):
    """One message: its UIMessage parts, and what is derived from them on every write.

    ``fingerprint``, ``tokens`` and ``streaming`` are pure functions of role and parts, written in the same statement.
    """

    class Role(models.TextChoices):
        SYSTEM = "system"
        USER = "user"
        ASSISTANT = "assistant"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="messages")
    message_id = models.CharField(max_length=200)
    # 1, 2, 3… along the transcript; null when the message lies on a branch that is not the active one.
    position = models.PositiveIntegerField(null=True, blank=True)
    role = models.CharField(max_length=10, choices=Role)
    parts = models.JSONField(default=list)
    metadata = models.JSONField(default=dict, blank=True)
    said_at = models.DateTimeField(null=True, blank=True)
    fingerprint = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()
    streaming = models.BooleanField(default=False)
    # Set by finish or "rest": a message that was still streaming is taken as it stands from then on.
    settled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("chat", "position")
        constraints = [
            models.UniqueConstraint(fields=("chat", "message_id"), name="message_id_once_per_chat"),
            # Deferred, so that one transaction may renumber a transcript.
            models.UniqueConstraint(
                fields=("chat", "position"),
                name="message_position_once_per_chat",
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.CheckConstraint(condition=Q(role__in=("system", "user", "assistant")), name="message_role_known"),
            models.CheckConstraint(
                condition=Q(position__isnull=True) | Q(position__gte=1), name="message_position_from_1"
            ),
        ]
        indexes = [
            # The diff: number the messages of one fingerprint by position.
            models.Index(fields=("chat", "fingerprint", "position"), name="message_by_fingerprint"),
            # What is still being written, over all chats: few.
            models.Index(
                fields=("changed_at",),
                condition=Q(streaming=True, settled_at__isnull=True),
                name="message_being_written",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.message_id}"


class CoverageEntry(models.Model):
    """One line of the ledger. Append-only by trigger; rows go only with their chat."""

    class Kind(models.TextChoices):
        COVER = "cover"
        RELEASE = "release"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="coverage_entries")
    fingerprint = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()
    folded_at = models.DateTimeField(db_default=Now(), editable=False)
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.COVER)
    # The batch that read it: a plain id, because batches live in a higher app. A release may have none.
    batch = models.UUIDField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "coverage entries"
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=("cover", "release")), name="coverage_kind_known"),
            models.CheckConstraint(condition=~Q(kind="cover") | Q(batch__isnull=False), name="cover_names_its_batch"),
        ]
        indexes = [
            # The diff: the balance of one fingerprint in one chat.
            models.Index(fields=("chat", "fingerprint"), name="coverage_by_fingerprint"),
            # "Which lines did this batch write?" on the batch page and in check_invariants.
            models.Index(fields=("batch",), name="coverage_by_batch"),
            # "Was anything released since?" before each batch.
            models.Index(fields=("chat", "id"), condition=Q(kind="release"), name="coverage_released"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint}"


class MessageCoverage(models.Model):
    """The diff, as a database view: each transcript message and whether the ledger's sum covers it.

    Counted: with n cover lines minus releases for a fingerprint, the first n messages with it, by position, are
    covered. Nothing stores this; migration 0006 holds the SQL.
    """

    id = models.BigIntegerField(primary_key=True)  # the message's own primary key
    chat = models.ForeignKey(Chat, on_delete=models.DO_NOTHING, related_name="message_coverage")
    message_id = models.CharField(max_length=200)
    position = models.PositiveIntegerField()
    role = models.CharField(max_length=10)
    fingerprint = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()
    streaming = models.BooleanField()
    changed_at = models.DateTimeField()
    covered = models.BooleanField()

    class Meta:
        managed = False
        db_table = "coverage_messagecoverage"
        ordering = ("chat", "position")

    def __str__(self) -> str:
        return f"{self.message_id}: {'covered' if self.covered else 'uncovered'}"


class ChatSummary(models.Model):
    """A memo of what the diff says of one chat, so that lists can sort and filter by it; never asked what to extract.

    Triggers count every change of the chat's messages and ledger lines in ``revision``. The figures are those of
    revision ``summarised``: where the two differ there is no memo. Written by triggers and ``summaries`` only.
    """

    chat = models.OneToOneField(
        Chat, on_delete=models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="summary"
    )
    revision = models.BigIntegerField()
    # Counts changes of messages alone, for planning, which can follow the ledger line by line.
    transcript_revision = models.BigIntegerField()
    summarised = models.BigIntegerField(null=True)
    # Computed by the database. A column, because planners cannot guess how often two columns agree.
    fresh = models.GeneratedField(
        expression=models.Case(models.When(summarised=models.F("revision"), then=True), default=False),
        output_field=models.BooleanField(),
        db_persist=True,
    )
    message_count = models.IntegerField()
    tokens = models.BigIntegerField()
    covered_tokens = models.BigIntegerField()
    uncovered_tokens = models.GeneratedField(
        expression=models.F("tokens") - models.F("covered_tokens"),
        output_field=models.BigIntegerField(),
        db_persist=True,
    )
    last_said_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "chat summaries"
        constraints = [
            models.CheckConstraint(
                condition=Q(summarised__isnull=True) | Q(summarised__lte=models.F("revision")),
                name="summary_not_of_a_later_revision",
            ),
            models.CheckConstraint(
                condition=Q(covered_tokens__lte=models.F("tokens")), name="summary_covers_at_most_all"
            ),
        ]
        indexes = [
            # The chats list, by uncovered tokens and by when something was said last.
            models.Index(models.F("uncovered_tokens").desc(), "chat", name="summary_by_uncovered"),
            models.Index(models.F("last_said_at").desc(nulls_last=True), "chat", name="summary_by_last_said"),
        ]

    def __str__(self) -> str:
        return f"{self.covered_tokens:,} of {self.tokens:,} tokens covered"


class ChatFigures(models.Model):
    """Each chat's figures, as a database view: from its memo, or where there is none from the diff itself.

    No more than ``summaries.IN_PLACE`` chats are computed in place; any beyond are missing until they are summarised.
    Migration 0005 holds the SQL.
    """

    chat = models.OneToOneField(Chat, on_delete=models.DO_NOTHING, primary_key=True, related_name="figures")
    message_count = models.IntegerField()
    tokens = models.BigIntegerField()
    covered_tokens = models.BigIntegerField()
    uncovered_tokens = models.BigIntegerField()
    last_said_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "coverage_chatfigures"

    def __str__(self) -> str:
        return f"{self.covered_tokens:,} of {self.tokens:,} tokens covered"

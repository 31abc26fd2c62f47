"""State of the graph: propositions, their evidence, embedding spaces, vectors and steers."""

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from pgvector.django import VectorField

from coverage.ids import new_id
from coverage.models import Chat, Learner


class Level(models.TextChoices):
    """How well the learner holds a proposition, as one piece of evidence shows it."""

    SOLID = "solid", "solid"
    SHAKY = "shaky", "shaky"
    RESISTED = "resisted", "resisted"
    NOT_YET_ENGAGED = "not_yet_engaged", "not yet engaged"
    ACCEPTED = "accepted", "accepted"


class Kind(models.TextChoices):
    """What a candidate or proposition is about."""

    FACT = "fact", "fact"
    PREFERENCE = "preference", "preference"
    WORKING_ASSUMPTION = "working_assumption", "working assumption"
    CONSTRAINT = "constraint", "constraint"
    DECISION = "decision", "decision"
    OPEN_QUESTION = "open_question", "open question"
    LESSON = "lesson", "lesson"


def has_live_instance() -> Exists:
    """A proposition whose quote still stands in at least one source."""
    return Exists(Instance.objects.filter(proposition=OuterRef("pk"), live=True))


class PropositionQuerySet(models.QuerySet):
    def retrievable(self) -> "PropositionQuerySet":
        """Live propositions with live evidence: what a steer may offer."""
        return self.filter(has_live_instance(), state=Proposition.State.LIVE)


class Proposition(models.Model):
    """One claim in a learner's graph."""

    class State(models.TextChoices):
        LIVE = "live"
        SUPERSEDED = "superseded"
        FORGOTTEN = "forgotten"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, related_name="propositions")
    text = models.CharField(max_length=500)
    kind = models.CharField(max_length=20, choices=Kind)
    # Hash of the normalised text: the same claim is the same proposition.
    identity = models.CharField(max_length=64)
    state = models.CharField(max_length=12, choices=State, default=State.LIVE)
    # The time of writing, under the learner's lock: what is written later is younger, whenever its transaction began.
    created_at = models.DateTimeField(
        db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
    )

    objects = PropositionQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        constraints = [
            models.UniqueConstraint(fields=("learner", "identity"), name="proposition_once_per_learner"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="proposition_kind_known"),
            models.CheckConstraint(
                condition=Q(state__in=("live", "superseded", "forgotten")), name="proposition_state_known"
            ),
        ]
        indexes = [
            # The propositions list of one learner, newest first.
            models.Index(fields=("learner", "-created_at", "id"), name="proposition_by_learner"),
            # The same list of all learners, and every deep page of it.
            models.Index(fields=("-created_at", "id"), name="proposition_by_time"),
        ]

    def __str__(self) -> str:
        return self.text


class Instance(models.Model):
    """One piece of evidence for a proposition. Immutable but for ``live``, which follows its source."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    proposition = models.ForeignKey(Proposition, on_delete=models.CASCADE, related_name="instances")
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="instances")
    # The UIMessage id and place; rows of higher apps are named by plain ids.
    message_id = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField(null=True, blank=True)
    document_id = models.CharField(max_length=80, blank=True)
    extraction_id = models.CharField(max_length=120, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    # Index of the part in the transcript view, and the quote's span in that part's text, in characters.
    part = models.PositiveIntegerField(default=0)
    char_start = models.PositiveIntegerField()
    char_end = models.PositiveIntegerField()
    quote = models.TextField()
    level = models.CharField(max_length=16, choices=Level, null=True, blank=True)  # noqa: DJ001 - no level is not a level
    speaker = models.CharField(max_length=10)
    occurred_at = models.DateTimeField(null=True, blank=True)
    folded_at = models.DateTimeField(db_default=Now(), editable=False)
    batch = models.UUIDField(null=True, blank=True)
    live = models.BooleanField(default=True)
    # The merge that brought it was undone: it stays as a row and is live no more.
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("folded_at", "position", "id")
        constraints = [
            # Appending is idempotent: one piece of evidence counts once.
            models.UniqueConstraint(
                fields=(
                    "proposition", "chat", "message_id", "document_id", "extraction_id",
                    "fingerprint", "part", "char_start", "char_end",
                ),
                condition=Q(withdrawn_at__isnull=True),
                name="instance_once_per_evidence",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True) | Q(live=False), name="withdrawn_instance_is_not_live"
            ),
            models.CheckConstraint(condition=Q(char_end__gt=models.F("char_start")), name="instance_span_not_empty"),
            models.CheckConstraint(condition=~Q(quote=""), name="instance_quotes_something"),
            models.CheckConstraint(
                condition=(Q(chat__isnull=False) & ~Q(message_id=""))
                | (~Q(document_id="") & ~Q(extraction_id="")),
                name="instance_has_source",
            ),
            models.CheckConstraint(
                condition=Q(level__isnull=True) | Q(level__in=Level.values), name="instance_level_known"
            ),
        ]  # fmt: skip
        indexes = [
            # "What stands on this message?" when its view changes, and on the chat page.
            models.Index(fields=("chat", "message_id"), name="instance_by_message"),
            models.Index(fields=("batch",), name="instance_by_batch"),
            # "What stands on this document?" when its primary moves, and on its page.
            models.Index(fields=("document_id",), condition=~Q(document_id=""), name="instance_by_document"),
        ]

    def __str__(self) -> str:
        return f"“{self.quote[:80]}”"


class Link(models.Model):
    """How two propositions of a learner stand to each other: ``source`` supersedes, contradicts or follows ``target``.

    Immutable but for when it was taken back, and by what: it stays as a row.
    """

    class Type(models.TextChoices):
        SUPERSEDES = "supersedes"
        CONTRADICTS = "contradicts"
        FOLLOWS = "follows"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, related_name="links")
    source = models.ForeignKey(Proposition, on_delete=models.CASCADE, related_name="links_out")
    target = models.ForeignKey(Proposition, on_delete=models.CASCADE, related_name="links_in")
    type = models.CharField(max_length=12, choices=Type)
    reason = models.TextField(blank=True)
    # Rows of higher apps, named by plain ids: the batch that was merged, and the resolution that made the link.
    batch = models.UUIDField(null=True, blank=True)
    resolution = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    # The resolution that took it back: when that one is undone, the link is made anew.
    withdrawn_by = models.UUIDField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=("source", "target", "type"), condition=Q(withdrawn_at__isnull=True), name="one_live_link"
            ),
            models.CheckConstraint(condition=~Q(source=models.F("target")), name="link_joins_two"),
            models.CheckConstraint(
                condition=Q(type__in=("supersedes", "contradicts", "follows")), name="link_type_known"
            ),
        ]
        indexes = [
            # Undo: what a resolution linked.
            models.Index(fields=("resolution",), condition=Q(resolution__isnull=False), name="link_by_resolution"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.type} {self.target_id}"


class EmbeddingSpace(models.Model):
    """One vector space: vectors of two spaces never meet."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=80)
    provider = models.CharField(max_length=40)
    model = models.CharField(max_length=200)
    revision = models.CharField(max_length=80)
    runtime = models.CharField(max_length=40)
    dimension = models.PositiveIntegerField()
    query_format = models.CharField(max_length=200)
    document_format = models.CharField(max_length=200)
    max_tokens = models.PositiveIntegerField()
    # The model's own dimension where its vectors are cut to ``dimension``, else 0; what is done to their length.
    truncated_from = models.PositiveIntegerField(default=0)
    normalisation = models.CharField(max_length=20, default="unit")
    # Hash over every field above: the stamp that is compared before each scan.
    stamp = models.CharField(max_length=64, unique=True)
    active = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("active",), condition=Q(active=True), name="one_active_embedding_space"),
            models.CheckConstraint(condition=Q(dimension__gte=1), name="embedding_space_has_dimension"),
            models.CheckConstraint(
                condition=Q(truncated_from=0) | Q(truncated_from__gte=models.F("dimension")),
                name="embedding_space_cuts_down",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension})"


class PropositionVector(models.Model):
    """A proposition's vector in one space, unit length, float32."""

    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="vectors")
    proposition = models.ForeignKey(Proposition, on_delete=models.CASCADE, related_name="vectors")
    # Repeated from the proposition, so that a learner's matrix is loaded from one table.
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, related_name="+")
    embedding = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("space", "proposition"), name="one_vector_per_space_and_proposition"),
        ]
        indexes = [
            # Loading one learner's matrix of one space, and what was added to it since.
            models.Index(fields=("space", "learner", "id"), name="vector_by_space_and_learner"),
        ]

    def __str__(self) -> str:
        return f"vector of {self.proposition_id} in {self.space_id}"


class Steer(models.Model):
    """The one-shot "what this learner already knows" block of a chat. One per chat, for ever."""

    class Status(models.TextChoices):
        PREPARING = "preparing"
        READY = "ready", "ready to deliver"
        OFFERED = "offered"
        DELIVERED = "delivered"
        EMPTY = "empty", "nothing to offer"
        FAILED = "failed"

    # uuid5 of the chat's id: every retry, reload and regeneration finds the same row.
    id = models.UUIDField(primary_key=True, editable=False)
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="steer")
    status = models.CharField(max_length=10, choices=Status, default=Status.PREPARING)
    topic = models.TextField(blank=True)
    budget = models.PositiveIntegerField()
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    text = models.TextField(blank=True)
    tokens = models.PositiveIntegerField(default=0)
    count = models.PositiveIntegerField(default=0)
    # The lines as offered: proposition id, text, level, similarity, tokens.
    items = models.JSONField(default=list, blank=True)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ready_at = models.DateTimeField(null=True, blank=True)
    # The last offer: when, to which turn as the client names it, and after which message; the marker stands there.
    offers = models.PositiveIntegerField(default=0)
    offered_at = models.DateTimeField(null=True, blank=True)
    offered_turn = models.CharField(max_length=200, blank=True, default="")
    offered_after = models.CharField(max_length=200, blank=True, default="")
    delivered_at = models.DateTimeField(null=True, blank=True)
    # Who asked for it to be prepared once more, if anybody did.
    requested_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=("preparing", "ready", "offered", "delivered", "empty", "failed")),
                name="steer_status_known",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=("ready", "offered", "delivered")) | ~Q(text=""), name="steer_offers_something"
            ),
            models.CheckConstraint(
                condition=~Q(status__in=("offered", "delivered")) | Q(offered_at__isnull=False),
                name="offered_steer_says_when",
            ),
            models.CheckConstraint(
                condition=Q(status="delivered", delivered_at__isnull=False)
                | (~Q(status="delivered") & Q(delivered_at__isnull=True)),
                name="delivered_steer_says_when",
            ),
        ]
        indexes = [
            # The dock, every few seconds, and the reconciler: few steers are on their way to a turn, or failed.
            models.Index(
                fields=("-created_at", "id"),
                condition=Q(status__in=("preparing", "ready", "offered", "failed")),
                name="steer_under_way",
            ),
        ]

    def __str__(self) -> str:
        return f"steer of {self.chat_id} ({self.status})"

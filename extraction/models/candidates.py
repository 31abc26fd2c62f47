"""What a batch's worker staged, and what the merge or a person made of it."""

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Now

from coverage.ids import new_id
from extraction.bounds import CLAIM_CHARACTERS, STALENESS_CHARACTERS, WHY_CHARACTERS
from graphctx.models import Kind, Level, Proposition

from .chats import Batch


class CandidateQuerySet(models.QuerySet):
    def with_standing(self) -> "CandidateQuerySet":
        """Annotate what became of each candidate as of now, by its latest resolution: ``standing`` (outcome),
        ``standing_id``, ``standing_proposition`` (id), ``standing_reason``, ``standing_actor`` and ``standing_at``;
        each None for a candidate that no merge has looked at.
        """
        latest = Resolution.objects.filter(candidate=OuterRef("pk")).order_by("-created_at", "-id")
        columns = {
            "standing": "outcome",
            "standing_id": "pk",
            "standing_proposition": "proposition",
            "standing_reason": "reason",
            "standing_actor": "actor",
            "standing_at": "created_at",
        }
        return self.annotate(**{name: Subquery(latest.values(column)[:1]) for name, column in columns.items()})

    def open(self) -> "CandidateQuerySet":
        """Candidates that wait for a decision."""
        later = Resolution.objects.filter(candidate=OuterRef("candidate")).filter(
            Q(created_at__gt=OuterRef("created_at")) | Q(created_at=OuterRef("created_at"), pk__gt=OuterRef("pk"))
        )
        waiting = Resolution.objects.filter(~Exists(later), outcome__in=Resolution.OPEN)
        return self.filter(pk__in=waiting.values("candidate"))


class Candidate(models.Model):
    """One flat staging record, made by one ``stage_candidate`` call. Immutable."""

    SCHEMA_VERSION = 1

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    schema_version = models.PositiveIntegerField(default=SCHEMA_VERSION)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="candidates")
    # Staging belongs to one attempt: what a failed attempt staged is never merged.
    attempt = models.PositiveIntegerField()
    order = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=Kind)
    claim = models.CharField(max_length=CLAIM_CHARACTERS)
    why_useful = models.CharField(max_length=WHY_CHARACTERS)
    staleness = models.CharField(max_length=STALENESS_CHARACTERS, blank=True)
    understanding = models.CharField(max_length=16, choices=Level, null=True, blank=True)  # noqa: DJ001
    evidence = models.JSONField()
    content_hash = models.CharField(max_length=64)
    # What a reader should know of it, one short text each; see extraction/exploring/admission.py
    marks = models.JSONField(default=list, db_default=[], blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = CandidateQuerySet.as_manager()

    class Meta:
        ordering = ("batch", "attempt", "order")
        permissions = [("review_candidate", "Can decide what becomes of candidates")]
        constraints = [
            models.UniqueConstraint(fields=("batch", "attempt", "content_hash"), name="candidate_staged_once"),
            models.CheckConstraint(condition=~Q(claim="") & ~Q(why_useful=""), name="candidate_says_something"),
            models.CheckConstraint(
                condition=~Q(kind="working_assumption") | ~Q(staleness=""), name="assumption_says_how_it_fails"
            ),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="candidate_kind_known"),
            models.CheckConstraint(
                condition=Q(understanding__isnull=True) | Q(understanding__in=Level.values),
                name="candidate_level_known",
            ),
            models.CheckConstraint(condition=~Q(evidence=[]), name="candidate_has_evidence"),
        ]

    def __str__(self) -> str:
        return self.claim


class Resolution(models.Model):
    """Append-only record of what became of a candidate. The latest one is the candidate's standing.

    Written under the lock of the learner whose graph it concerns.
    """

    class Outcome(models.TextChoices):
        NEW = "new"
        SAME = "same"
        SUPERSEDES = "supersedes"
        CONTRADICTS = "contradicts"
        DISCARD = "discard"
        PENDING = "pending"
        UNDONE = "undone"

    OPEN = (Outcome.PENDING, Outcome.UNDONE)
    """What waits for a decision."""
    MERGED = (Outcome.NEW, Outcome.SAME, Outcome.SUPERSEDES, Outcome.CONTRADICTS)
    """The candidate's evidence stands in ``proposition``."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="resolutions")
    outcome = models.CharField(max_length=12, choices=Outcome)
    proposition = models.ForeignKey(
        Proposition, on_delete=models.CASCADE, null=True, blank=True, related_name="resolutions"
    )
    # What the proposition supersedes or contradicts, the nearest one if there are several.
    target = models.ForeignKey(Proposition, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # The resolution that this one takes back.
    undoes = models.OneToOneField("self", on_delete=models.CASCADE, null=True, blank=True, related_name="undone_by")
    reason = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    # The time of writing, not of the transaction's begin: of two writers the one that waited for the lock is later.
    created_at = models.DateTimeField(
        db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
    )

    class Meta:
        ordering = ("created_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=("new", "same", "supersedes", "contradicts", "discard", "pending", "undone")),
                name="resolution_outcome_known",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=("discard", "pending", "undone")) | Q(proposition__isnull=False),
                name="merged_candidate_names_proposition",
            ),
            models.CheckConstraint(
                condition=Q(outcome="undone", undoes__isnull=False) | (~Q(outcome="undone") & Q(undoes__isnull=True)),
                name="undo_names_what_it_undoes",
            ),
        ]
        indexes = [
            # What waits for a decision.
            models.Index(fields=("candidate",), condition=Q(outcome__in=("pending", "undone")), name="resolution_open"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.actor}"

"""State of the front: who may call the HTTP API."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from coverage.ids import new_id
from coverage.models import Learner


class ApiToken(models.Model):
    """A bearer token of the HTTP API: for one learner, or for staff. Only the hash of its secret is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField("label", max_length=200, blank=True, help_text="Where it is used, so that it can be found.")
    # The readable start of the token: it finds the row, and tells people which token they look at.
    prefix = models.CharField(max_length=20, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, editable=False)
    learner = models.ForeignKey(Learner, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    staff = models.BooleanField(default=False, help_text="Sees and changes the chats of every learner.")
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
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})" if self.name else f"{self.prefix}…"

    @property
    def scope(self) -> str:
        """Whose data it opens: "staff", or the learner's name."""
        return "staff" if self.staff else str(self.learner)

    def refusal(self, now: datetime | None = None) -> str:
        """Why it is not valid (any more); empty while it is."""
        if self.revoked_at is not None:
            return "the token was revoked"
        if self.expires_at is not None and self.expires_at <= (now or timezone.now()):
            return "the token has expired"
        return ""

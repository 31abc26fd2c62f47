"""Whether staged candidates merge by themselves or wait for staff."""

from django.db import models
from django.db.models import Q

from coverage.models import Learner


class ReviewSetting(models.Model):
    """A learner's own review mode; a learner without one has that of ``OSII_REVIEW_MODE``."""

    class Mode(models.TextChoices):
        AUTO = "auto", "merged by the auditor"
        MANUAL = "manual", "wait for staff"

    learner = models.OneToOneField(Learner, on_delete=models.CASCADE, primary_key=True, related_name="review_setting")
    mode = models.CharField(max_length=6, choices=Mode)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(mode__in=("auto", "manual")), name="review_mode_known"),
        ]

    def __str__(self) -> str:
        return f"{self.learner_id}: {self.mode}"

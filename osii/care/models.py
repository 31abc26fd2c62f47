"""Records of care: what staff did, and which learners were erased. Neither says what anything said."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from coverage.ids import new_id


class StaffAction(models.Model):
    """One thing that a staff account did in the dashboard, or a staff token through the API: its route and the ids in it.

    Append-only.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # The account may go; its name stays with what was done.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="+"
    )
    username = models.CharField(max_length=150)
    action = models.CharField(max_length=100)
    # {"chat_id": "0190…"}; contents of forms are not kept.
    about = models.JSONField(default=dict, blank=True)
    status = models.PositiveIntegerField()
    address = models.GenericIPAddressField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(condition=~Q(username="") & ~Q(action=""), name="staff_action_says_who_and_what"),
        ]
        indexes = [
            # Newest first, and what one account did.
            models.Index(fields=("-created_at", "-id"), name="staff_action_by_time"),
            models.Index(fields=("username", "-created_at"), name="staff_action_by_user"),
        ]

    def __str__(self) -> str:
        return f"{self.username}: {self.action}"


class Erasure(models.Model):
    """That a learner was erased: by whom, when, and how much went. Append-only; it names nobody."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # The id that the learner had, and no name.
    learner = models.UUIDField()
    # {"chats": 2, "messages": 40, "documents": 1, …}
    counts = models.JSONField(default=dict, blank=True)
    actor = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(condition=~Q(actor=""), name="erasure_says_who"),
        ]

    def __str__(self) -> str:
        return f"learner {self.learner}"

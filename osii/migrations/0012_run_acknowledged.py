"""Somebody has seen what failed in a run: the only new columns that may change."""

from django.db import migrations, models

from coverage.guards import guard

TABLE = "osii_processingrun"
MUTABLE = ("status", "error", "queued_at", "started_at", "finished_at", "cancel_requested_at", "learner_id")
NEW = ("acknowledged_at", "acknowledged_by")
BEFORE = guard(TABLE, *MUTABLE)


class Migration(migrations.Migration):
    dependencies = [("osii", "0011_memos_of_outputs")]

    operations = [
        migrations.AddField(
            model_name="processingrun", name="acknowledged_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            model_name="processingrun",
            name="acknowledged_by",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddConstraint(
            model_name="processingrun",
            constraint=models.CheckConstraint(
                condition=models.Q(acknowledged_at__isnull=True, acknowledged_by="")
                | models.Q(acknowledged_at__isnull=False, status__in=("succeeded", "failed", "cancelled"))
                & ~models.Q(acknowledged_by=""),
                name="processing_acknowledged_when_ended",
            ),
        ),
        migrations.RunSQL(BEFORE.reverse_sql, BEFORE.sql),
        guard(TABLE, *MUTABLE, *NEW),
    ]

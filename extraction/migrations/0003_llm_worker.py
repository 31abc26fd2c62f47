"""What a worker and its model said to each other, and runs that are tried again later."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from coverage.guards import guard


class Migration(migrations.Migration):
    dependencies = [("coverage", "0002_ledger_rules"), ("extraction", "0002_append_only")]

    operations = [
        migrations.CreateModel(
            name="WorkerConversation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveIntegerField()),
                ("worker_version", models.CharField(max_length=80)),
                ("entries", models.JSONField()),
                ("usage", models.JSONField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to="extraction.batch",
                    ),
                ),
            ],
            options={"ordering": ("batch", "attempt")},
        ),
        migrations.AddConstraint(
            model_name="workerconversation",
            constraint=models.UniqueConstraint(fields=("batch", "attempt"), name="conversation_once_per_attempt"),
        ),
        guard("extraction_workerconversation"),
        migrations.AddField(model_name="run", name="retries", field=models.PositiveIntegerField(default=0)),
        migrations.AddField(model_name="run", name="retry_at", field=models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("retry_at__isnull", False)), fields=["retry_at"], name="run_to_retry"
            ),
        ),
    ]

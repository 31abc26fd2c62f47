import coverage.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("coverage", "0002_ledger_rules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.UUIDField(default=coverage.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        help_text="Where it is used, so that it can be found.",
                        max_length=200,
                        verbose_name="label",
                    ),
                ),
                ("prefix", models.CharField(editable=False, max_length=20, unique=True)),
                ("secret_hash", models.CharField(editable=False, max_length=64)),
                ("staff", models.BooleanField(default=False, help_text="Sees and changes the chats of every learner.")),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "learner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to="coverage.learner",
                    ),
                ),
            ],
            options={
                "verbose_name": "API token",
                "ordering": ("-created_at", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("learner__isnull", True), ("staff", True)),
                            models.Q(("learner__isnull", False), ("staff", False)),
                            _connector="OR",
                        ),
                        name="api_token_for_staff_or_one_learner",
                        violation_error_message="Choose a learner or staff, not both.",
                    )
                ],
            },
        ),
    ]

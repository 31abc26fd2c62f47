"""A staff token may what an account may: of those there are, the account that made it; one made on the server may everything."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FILL = """
UPDATE osii_apitoken SET account_id = created_by_id, unlimited = created_by_id IS NULL WHERE staff
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("osii", "0014_queued_by_the_databases_clock"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="account",
            field=models.ForeignKey(
                blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL,
                related_name="api_tokens", to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apitoken", name="unlimited", field=models.BooleanField(default=False, editable=False)
        ),
        migrations.AlterField(
            model_name="apitoken",
            name="staff",
            field=models.BooleanField(
                default=False, help_text="Opens the rows of every learner, as far as the account may that makes it, now and later."
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]  # fmt: skip

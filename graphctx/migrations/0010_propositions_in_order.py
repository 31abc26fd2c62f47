"""Propositions of a learner are as old as they were written, not as their transactions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0009_vectors_in_order")]

    operations = [
        migrations.AlterField(
            "proposition",
            "created_at",
            models.DateTimeField(
                db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
            ),
        ),
    ]

"""The ledger is not truncated, a chat keeps its learner, and a cover line names the batch that read it."""

from django.db import migrations, models

from coverage.guards import DROP_FURTHER_GUARDS, FURTHER_GUARDS, guard_truncate, keep


class Migration(migrations.Migration):
    dependencies = [("coverage", "0003_diff_by_window")]

    operations = [
        migrations.RunSQL(FURTHER_GUARDS, DROP_FURTHER_GUARDS),
        guard_truncate("coverage_coverageentry"),
        keep("coverage_chat", "learner_id"),
        migrations.AddConstraint(
            model_name="coverageentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", "cover"), _negated=True) | models.Q(("batch__isnull", False)),
                name="cover_names_its_batch",
            ),
        ),
    ]

"""What is asked for while a run stops is kept on it; a run that waits was not told to stop."""

from django.db import migrations, models

END = """
UPDATE extraction_run SET status = 'aborted', finished_at = now()
WHERE status = 'queued' AND abort_requested_at IS NOT NULL;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):
    dependencies = [("extraction", "0012_candidate_marks")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="following",
            field=models.JSONField(blank=True, default=dict, editable=False),
        ),
        migrations.RunSQL(END, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("status", "queued"), _negated=True)
                | models.Q(("abort_requested_at__isnull", True)),
                name="waiting_run_is_not_aborted",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("following", {})) | models.Q(("abort_requested_at__isnull", False)),
                name="run_follows_an_aborted_one",
            ),
        ),
    ]

"""Whose candidates wait for staff, what a decision was about, and what it takes back."""

import django.db.models.deletion
from django.db import migrations, models

from coverage.guards import refuse

FOREIGN_TARGET = """
SELECT 1 FROM fresh f
JOIN extraction_candidate c ON c.id = f.candidate_id
JOIN extraction_batch b ON b.id = c.batch_id
JOIN coverage_chat t ON t.id = b.chat_id
JOIN graphctx_proposition p ON p.id = f.target_id
WHERE t.learner_id <> p.learner_id
"""
FOREIGN_UNDO = """
SELECT 1 FROM fresh f JOIN extraction_resolution r ON r.id = f.undoes_id WHERE r.candidate_id <> f.candidate_id
"""
# Made anew: a target that is erased leaves the resolutions that name it.
NEW_GUARD = """
DROP TRIGGER extraction_resolution_guard ON extraction_resolution;
CREATE TRIGGER extraction_resolution_guard BEFORE UPDATE OR DELETE ON extraction_resolution
FOR EACH ROW EXECUTE FUNCTION osii_guard_row('target_id');
"""
OLD_GUARD = """
DROP TRIGGER extraction_resolution_guard ON extraction_resolution;
CREATE TRIGGER extraction_resolution_guard BEFORE UPDATE OR DELETE ON extraction_resolution
FOR EACH ROW EXECUTE FUNCTION osii_guard_row();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("coverage", "0004_firmer_guards"),
        ("extraction", "0008_rows_agree"),
        ("graphctx", "0006_links"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReviewSetting",
            fields=[
                (
                    "learner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="review_setting",
                        serialize=False,
                        to="coverage.learner",
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("auto", "merged by the auditor"), ("manual", "wait for staff")], max_length=6
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="resolution",
            name="merged_candidate_names_proposition",
        ),
        migrations.RemoveConstraint(
            model_name="resolution",
            name="resolution_outcome_known",
        ),
        migrations.AddField(
            model_name="resolution",
            name="target",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="graphctx.proposition",
            ),
        ),
        migrations.AddField(
            model_name="resolution",
            name="undoes",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="undone_by",
                to="extraction.resolution",
            ),
        ),
        migrations.AlterField(
            model_name="resolution",
            name="created_at",
            field=models.DateTimeField(
                db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()), editable=False
            ),
        ),
        migrations.AlterField(
            model_name="resolution",
            name="outcome",
            field=models.CharField(
                choices=[
                    ("new", "New"),
                    ("same", "Same"),
                    ("supersedes", "Supersedes"),
                    ("contradicts", "Contradicts"),
                    ("discard", "Discard"),
                    ("pending", "Pending"),
                    ("undone", "Undone"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddIndex(
            model_name="resolution",
            index=models.Index(
                condition=models.Q(("outcome__in", ("pending", "undone"))), fields=["candidate"], name="resolution_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="resolution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("outcome__in", ("new", "same", "supersedes", "contradicts", "discard", "pending", "undone"))
                ),
                name="resolution_outcome_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="resolution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("outcome__in", ("discard", "pending", "undone")), ("proposition__isnull", False), _connector="OR"
                ),
                name="merged_candidate_names_proposition",
            ),
        ),
        migrations.AddConstraint(
            model_name="resolution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("outcome", "undone"), ("undoes__isnull", False)),
                    models.Q(models.Q(("outcome", "undone"), _negated=True), ("undoes__isnull", True)),
                    _connector="OR",
                ),
                name="undo_names_what_it_undoes",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewsetting",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode__in", ("auto", "manual"))), name="review_mode_known"
            ),
        ),
        migrations.RunSQL(NEW_GUARD, OLD_GUARD),
        refuse(
            "extraction_resolution",
            "target",
            FOREIGN_TARGET,
            "a resolution is about propositions of the learner whose chat it comes from",
        ),
        refuse("extraction_resolution", "undo", FOREIGN_UNDO, "a resolution takes back one of the same candidate"),
    ]

"""Moves of a primary pointer outlive the versions that they name and say what they take back; removals are recorded."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import coverage.ids
from coverage.guards import guard, guard_truncate, keep, refuse

FOREIGN_VERSION = """
SELECT 1 FROM fresh f
WHERE NOT EXISTS (SELECT 1 FROM extraction_extractionversion v WHERE v.id = f.after_id AND v.document_id = f.document_id)
OR f.before_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM extraction_extractionversion v WHERE v.id = f.before_id AND v.document_id = f.document_id
)
"""
FOREIGN_MOVE = (
    "SELECT 1 FROM fresh f JOIN extraction_promotion p ON p.id = f.takes_back_id WHERE p.document_id <> f.document_id"
)
CLOCK = models.Func(function="clock_timestamp", output_field=models.DateTimeField())


class Migration(migrations.Migration):
    dependencies = [("extraction", "0013_following_runs"), ("coverage", "0004_firmer_guards")]

    operations = [
        migrations.AlterField(
            model_name="promotion",
            name="before",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="extraction.extractionversion",
            ),
        ),
        migrations.AlterField(
            model_name="promotion",
            name="after",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="extraction.extractionversion",
            ),
        ),
        migrations.AddField(
            model_name="promotion",
            name="takes_back",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="taken_back_by",
                to="extraction.promotion",
            ),
        ),
        migrations.AlterField(
            model_name="promotion", name="created_at", field=models.DateTimeField(db_default=CLOCK, editable=False)
        ),
        migrations.AlterField(
            model_name="documentsource", name="seen_at", field=models.DateTimeField(db_default=CLOCK, editable=False)
        ),
        migrations.CreateModel(
            name="Removal",
            fields=[
                (
                    "id",
                    models.UUIDField(default=coverage.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "what",
                    models.CharField(choices=[("document", "the document"), ("versions", "versions")], max_length=10),
                ),
                ("file_id", models.CharField(max_length=80)),
                ("filename", models.CharField(max_length=500)),
                ("versions", models.JSONField(blank=True, default=list)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("actor", models.CharField(max_length=200)),
                ("reason", models.TextField(blank=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("-created_at", "id"),
                "indexes": [models.Index(fields=["file_id", "-created_at"], name="removal_by_document")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("what__in", ("document", "versions"))), name="removal_known"
                    ),
                    models.CheckConstraint(condition=models.Q(("actor", ""), _negated=True), name="removal_says_who"),
                ],
            },
        ),
        guard("extraction_removal"),
        guard_truncate("extraction_removal"),
        refuse(
            "extraction_promotion",
            "own_versions",
            FOREIGN_VERSION,
            "a promotion moves between versions of its document",
        ),
        refuse("extraction_promotion", "own_move", FOREIGN_MOVE, "a promotion takes back a move of its own document"),
        # The bytes are the document: other bytes are another one.
        keep("extraction_document", "file_id"),
        keep("extraction_document", "size_bytes"),
        keep("extraction_documentsource", "document_id"),
        keep("extraction_documentsource", "path"),
    ]

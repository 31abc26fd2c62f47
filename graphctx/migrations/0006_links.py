"""Links between propositions, and evidence that an undo takes back."""

import coverage.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from coverage.guards import guard, guard_truncate, refuse

FOREIGN_LINK = """
SELECT 1 FROM fresh f
JOIN graphctx_proposition s ON s.id = f.source_id JOIN graphctx_proposition t ON t.id = f.target_id
WHERE s.learner_id <> f.learner_id OR t.learner_id <> f.learner_id
"""
# Made anew: evidence may also be withdrawn.
NEW_GUARD = """
DROP TRIGGER graphctx_instance_guard ON graphctx_instance;
CREATE TRIGGER graphctx_instance_guard BEFORE UPDATE OR DELETE ON graphctx_instance
FOR EACH ROW EXECUTE FUNCTION osii_guard_row('live', 'withdrawn_at');
"""
OLD_GUARD = """
DROP TRIGGER graphctx_instance_guard ON graphctx_instance;
CREATE TRIGGER graphctx_instance_guard BEFORE UPDATE OR DELETE ON graphctx_instance
FOR EACH ROW EXECUTE FUNCTION osii_guard_row('live');
"""


class Migration(migrations.Migration):
    dependencies = [
        ("coverage", "0004_firmer_guards"),
        ("graphctx", "0005_steer_delivery"),
    ]

    operations = [
        migrations.CreateModel(
            name="Link",
            fields=[
                (
                    "id",
                    models.UUIDField(default=coverage.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[("supersedes", "Supersedes"), ("contradicts", "Contradicts"), ("follows", "Follows")],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("batch", models.UUIDField(blank=True, null=True)),
                ("resolution", models.UUIDField(blank=True, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("created_at", "id"),
            },
        ),
        migrations.RemoveConstraint(
            model_name="instance",
            name="instance_once_per_evidence",
        ),
        migrations.AddField(
            model_name="instance",
            name="withdrawn_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.UniqueConstraint(
                condition=models.Q(("withdrawn_at__isnull", True)),
                fields=(
                    "proposition",
                    "chat",
                    "message_id",
                    "document_id",
                    "extraction_id",
                    "fingerprint",
                    "part",
                    "char_start",
                    "char_end",
                ),
                name="instance_once_per_evidence",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.CheckConstraint(
                condition=models.Q(("withdrawn_at__isnull", True), ("live", False), _connector="OR"),
                name="withdrawn_instance_is_not_live",
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="learner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="links", to="coverage.learner"
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="links_out", to="graphctx.proposition"
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="target",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="links_in", to="graphctx.proposition"
            ),
        ),
        migrations.AddIndex(
            model_name="link",
            index=models.Index(
                condition=models.Q(("resolution__isnull", False)), fields=["resolution"], name="link_by_resolution"
            ),
        ),
        migrations.AddConstraint(
            model_name="link",
            constraint=models.UniqueConstraint(
                condition=models.Q(("withdrawn_at__isnull", True)),
                fields=("source", "target", "type"),
                name="one_live_link",
            ),
        ),
        migrations.AddConstraint(
            model_name="link",
            constraint=models.CheckConstraint(
                condition=models.Q(("source", models.F("target")), _negated=True), name="link_joins_two"
            ),
        ),
        migrations.AddConstraint(
            model_name="link",
            constraint=models.CheckConstraint(
                condition=models.Q(("type__in", ("supersedes", "contradicts", "follows"))), name="link_type_known"
            ),
        ),
        migrations.RunSQL(NEW_GUARD, OLD_GUARD),
        guard("graphctx_link", "withdrawn_at"),
        guard_truncate("graphctx_link"),
        refuse("graphctx_link", "same_learner", FOREIGN_LINK, "a link joins two propositions of one learner, its own"),
    ]

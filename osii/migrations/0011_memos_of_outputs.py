"""What was made of each extraction version, in one row of it, kept by triggers of the outputs."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from coverage.guards import guard, guard_truncate

# From the outputs themselves: what memos must say.
VIEW = """
CREATE VIEW osii_makingsofversions AS
SELECT output.source_extraction_id AS extraction_id, array_agg(making.id ORDER BY making.id) AS makings
FROM osii_output output JOIN osii_making making
ON making.kind = output.kind AND making.method = output.method AND making.method_version = output.method_version
    AND making.options_hash = output.options_hash AND making.prompt_version = output.prompt_version
    AND making.space IS NOT DISTINCT FROM output.space_id
WHERE output.status = 'succeeded' GROUP BY output.source_extraction_id;
"""

FUNCTIONS = """
CREATE FUNCTION osii_make_memos(versions text[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO osii_makingset (makings)
    SELECT DISTINCT found.makings FROM osii_makingsofversions found WHERE found.extraction_id = ANY (versions)
        AND NOT EXISTS (SELECT FROM osii_makingset known WHERE known.makings = found.makings)
    ON CONFLICT DO NOTHING;
    INSERT INTO osii_made (extraction_id, making_set_id)
    SELECT found.extraction_id, known.id FROM osii_makingsofversions found JOIN osii_makingset known USING (makings)
    WHERE found.extraction_id = ANY (versions)
    ON CONFLICT (extraction_id) DO UPDATE SET making_set_id = EXCLUDED.making_set_id;
    DELETE FROM osii_made memo WHERE memo.extraction_id = ANY (versions) AND NOT EXISTS (
        SELECT FROM osii_output output WHERE output.source_extraction_id = memo.extraction_id AND output.status = 'succeeded');
END $$;

-- Generic plans: planning anew for each list of versions would take three times as long as all that is done here.
CREATE FUNCTION osii_outputs_changed() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    versions text[];
BEGIN
    SELECT array_agg(DISTINCT source_extraction_id) INTO versions FROM changed WHERE status = 'succeeded';
    IF versions IS NULL THEN
        RETURN NULL;
    END IF;
    -- Whoever else makes something of one of these versions has committed, or waits here: nobody overlooks the other.
    PERFORM FROM extraction_extractionversion WHERE id = ANY (versions) ORDER BY id FOR NO KEY UPDATE;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO osii_making (kind, method, method_version, options_hash, prompt_version, space)
        SELECT DISTINCT fresh.kind, fresh.method, fresh.method_version, fresh.options_hash, fresh.prompt_version, fresh.space_id
        FROM changed fresh WHERE fresh.status = 'succeeded' AND NOT EXISTS (
            SELECT FROM osii_making known
            WHERE known.kind = fresh.kind AND known.method = fresh.method AND known.method_version = fresh.method_version
                AND known.options_hash = fresh.options_hash AND known.prompt_version = fresh.prompt_version
                AND known.space IS NOT DISTINCT FROM fresh.space_id)
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM osii_make_memos(versions);
    RETURN NULL;
END $$;

CREATE TRIGGER osii_output_made_insert AFTER INSERT ON osii_output REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION osii_outputs_changed();
CREATE TRIGGER osii_output_made_delete AFTER DELETE ON osii_output REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION osii_outputs_changed();
"""

DROP_FUNCTIONS = "DROP FUNCTION osii_outputs_changed() CASCADE; DROP FUNCTION osii_make_memos(text[]);"

# Of the outputs that are there by now.
FILL = """
INSERT INTO osii_making (kind, method, method_version, options_hash, prompt_version, space)
SELECT DISTINCT kind, method, method_version, options_hash, prompt_version, space_id FROM osii_output WHERE status = 'succeeded';
INSERT INTO osii_makingset (makings) SELECT DISTINCT makings FROM osii_makingsofversions;
INSERT INTO osii_made (extraction_id, making_set_id)
SELECT found.extraction_id, known.id FROM osii_makingsofversions found JOIN osii_makingset known USING (makings);
"""


class Migration(migrations.Migration):
    dependencies = [("extraction", "0021_names_found"), ("osii", "0010_care")]

    operations = [
        migrations.CreateModel(
            name="MakingSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "makings",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None, unique=True
                    ),
                ),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="Making",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=12)),
                ("method", models.CharField(max_length=80)),
                ("method_version", models.CharField(max_length=40)),
                ("options_hash", models.CharField(max_length=32)),
                ("prompt_version", models.CharField(blank=True, max_length=120)),
                ("space", models.UUIDField(blank=True, null=True)),
            ],
            options={
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "method", "method_version", "options_hash", "prompt_version", "space"),
                        name="making_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Made",
            fields=[
                (
                    "extraction",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="extraction.extractionversion",
                    ),
                ),
                (
                    "making_set",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="osii.makingset",
                    ),
                ),
            ],
            options={"verbose_name_plural": "made", "ordering": ("extraction",)},
        ),
        guard("osii_making"),
        guard_truncate("osii_making"),
        guard("osii_makingset"),
        guard_truncate("osii_makingset"),
        migrations.RunSQL(VIEW, "DROP VIEW osii_makingsofversions;"),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
    ]

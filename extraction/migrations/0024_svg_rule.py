"""Drawings go to the extractor that reads their labels."""

from django.db import migrations

ROWS = (("image/svg+xml", "svg", True),)
ORDER = 135  # among the rows of 0015, before those of images


def add_rows(apps, schema_editor):
    rule = apps.get_model("extraction", "ExtractorRule")
    for media_type, extractor, enabled in ROWS:
        rule.objects.using(schema_editor.connection.alias).get_or_create(
            media_type=media_type,
            name_pattern="*",
            extractor=extractor,
            options={},
            defaults={"order": ORDER, "enabled": enabled},
        )


class Migration(migrations.Migration):
    dependencies = [
        ("extraction", "0023_losses_in_a_row"),
    ]

    operations = [
        migrations.RunPython(add_rows, migrations.RunPython.noop),
    ]

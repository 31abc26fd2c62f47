"""Which extractor reads which files: the table and the rows it begins with."""

from django.db import migrations, models


OFFICE = "application/vnd.openxmlformats-officedocument."

# (media type, extractor, enabled). A rule counts once its extractor is installed.
ROWS = (
    ("text/plain", "text", True),
    ("text/markdown", "text", True),
    ("text/x-rst", "text", True),
    ("text/x-org", "text", True),
    ("text/x-log", "text", True),
    ("text/csv", "text", True),
    ("text/tab-separated-values", "text", True),
    ("text/html", "html", True),
    ("application/xhtml+xml", "html", True),
    ("application/pdf", "pdf-tables", False),  # a hundred times slower than the text layer alone
    ("application/pdf", "pdf", True),
    ("application/pdf", "tesseract", True),
    ("application/pdf", "rapidocr", True),
    ("image/*", "tesseract", True),
    ("image/*", "rapidocr", True),
    (f"{OFFICE}wordprocessingml.document", "docx", True),
    (f"{OFFICE}presentationml.presentation", "pptx", True),
    (f"{OFFICE}spreadsheetml.sheet", "xlsx", True),
    ("message/rfc822", "eml", True),
    ("application/epub+zip", "epub", True),
)


def add_rows(apps, schema_editor):
    rule = apps.get_model("extraction", "ExtractorRule")
    rule.objects.using(schema_editor.connection.alias).bulk_create(
        rule(order=10 * number, media_type=media_type, extractor=extractor, enabled=enabled)
        for number, (media_type, extractor, enabled) in enumerate(ROWS, start=1)
    )


class Migration(migrations.Migration):
    dependencies = [
        ("extraction", "0014_removals"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExtractorRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "order",
                    models.PositiveIntegerField(
                        help_text="lower comes first; the later rows that fit are tried when it fails"
                    ),
                ),
                (
                    "media_type",
                    models.CharField(help_text="the type, or a pattern such as image/*; small letters", max_length=200),
                ),
                (
                    "name_pattern",
                    models.CharField(
                        default="*",
                        help_text="a pattern for the file's name, such as *.log; small letters",
                        max_length=200,
                    ),
                ),
                ("extractor", models.CharField(max_length=80)),
                (
                    "options",
                    models.JSONField(
                        blank=True, default=dict, help_text="what differs from the extractor's own settings"
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ("order", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("media_type", ""), _negated=True), models.Q(("name_pattern", ""), _negated=True)
                        ),
                        name="rule_has_patterns",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("extractor", ""), _negated=True), name="rule_names_extractor"
                    ),
                    models.UniqueConstraint(
                        fields=("media_type", "name_pattern", "extractor", "options"), name="rule_once"
                    ),
                ],
            },
        ),
        migrations.RunPython(add_rows, migrations.RunPython.noop),
    ]

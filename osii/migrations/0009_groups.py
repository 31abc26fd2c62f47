"""The groups viewer, reviewer, librarian and administrator."""

from django.apps import apps as installed
from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from osii import groups


def create(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    groups.create(apps, installed)


class Migration(migrations.Migration):
    dependencies = [
        ("osii", "0008_output_index"),
        ("coverage", "0005_chat_summaries"),
        ("extraction", "0020_failed_versions"),
        ("graphctx", "0011_evidence_in_documents"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]

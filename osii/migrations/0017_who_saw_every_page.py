"""Pages ask for permissions from now on: staff accounts that are in none of the four groups saw every page, and go on as viewers."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from osii import groups


def keep(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    viewer = apps.get_model("auth", "Group").objects.filter(name=groups.VIEWER).first()
    if viewer is None:  # its owner took the group away, and knows who may what
        return
    staff = apps.get_model("auth", "User").objects.filter(is_staff=True, is_superuser=False)
    viewer.user_set.add(*staff.exclude(groups__name__in=groups.ORDER))


class Migration(migrations.Migration):
    dependencies = [
        ("osii", "0016_staff_tokens_act_for_somebody"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(keep, migrations.RunPython.noop)]

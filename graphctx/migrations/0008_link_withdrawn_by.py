"""What took a link back."""

from django.db import migrations, models

NEW_GUARD = """
DROP TRIGGER graphctx_link_guard ON graphctx_link;
CREATE TRIGGER graphctx_link_guard BEFORE UPDATE OR DELETE ON graphctx_link
FOR EACH ROW EXECUTE FUNCTION osii_guard_row('withdrawn_at', 'withdrawn_by');
"""
OLD_GUARD = """
DROP TRIGGER graphctx_link_guard ON graphctx_link;
CREATE TRIGGER graphctx_link_guard BEFORE UPDATE OR DELETE ON graphctx_link
FOR EACH ROW EXECUTE FUNCTION osii_guard_row('withdrawn_at');
"""


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0007_listed_propositions")]

    operations = [
        migrations.AddField("link", "withdrawn_by", models.UUIDField(null=True, blank=True)),
        migrations.RunSQL(NEW_GUARD, OLD_GUARD),
    ]

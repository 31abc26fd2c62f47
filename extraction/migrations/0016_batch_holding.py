"""Lists ask which messages running and parked batches hold: few rows among very many batches."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("extraction", "0015_extractor_rules")]

    operations = [
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(
                fields=("status",), condition=models.Q(status__in=("running", "parked")), name="batch_holding"
            ),
        ),
    ]

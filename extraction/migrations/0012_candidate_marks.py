"""What a reader of a candidate should know of it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("extraction", "0011_review_permission")]

    operations = [
        migrations.AddField(
            model_name="candidate",
            name="marks",
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
    ]

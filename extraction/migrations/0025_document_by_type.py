"""A plan asks which media types the library holds: an index tells it without a look at every document."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("extraction", "0024_svg_rule")]

    operations = [
        migrations.AddIndex(model_name="document", index=models.Index(fields=["mime"], name="document_by_type")),
    ]

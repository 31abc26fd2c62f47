from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("extraction", "0022_under_way"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="fruitless",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]

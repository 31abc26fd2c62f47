"""Who may decide what becomes of candidates."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("extraction", "0010_models_and_prompts")]

    operations = [
        migrations.AlterModelOptions(
            name="candidate",
            options={
                "ordering": ("batch", "attempt", "order"),
                "permissions": [("review_candidate", "Can decide what becomes of candidates")],
            },
        ),
    ]

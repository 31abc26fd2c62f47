"""What was added to a learner's vectors since they were read last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0008_link_withdrawn_by")]

    operations = [
        migrations.RemoveIndex("propositionvector", "vector_by_space_and_learner"),
        migrations.AddIndex(
            "propositionvector",
            models.Index(fields=("space", "learner", "id"), name="vector_by_space_and_learner"),
        ),
    ]

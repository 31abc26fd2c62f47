"""Evidence has a source and stays with its learner; a vector is its proposition's learner's and of its space's shape."""

from django.db import migrations, models

from coverage.guards import guard_truncate, keep, refuse

FOREIGN_EVIDENCE = """
SELECT 1 FROM fresh f JOIN graphctx_proposition p ON p.id = f.proposition_id JOIN coverage_chat c ON c.id = f.chat_id
WHERE c.learner_id <> p.learner_id
"""
FOREIGN_VECTOR = """
SELECT 1 FROM fresh f JOIN graphctx_proposition p ON p.id = f.proposition_id WHERE p.learner_id <> f.learner_id
"""
MISSHAPEN_VECTOR = """
SELECT 1 FROM fresh f JOIN graphctx_embeddingspace s ON s.id = f.space_id WHERE vector_dims(f.embedding) <> s.dimension
"""


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0003_known_values"), ("coverage", "0004_firmer_guards")]

    operations = [
        guard_truncate("graphctx_instance"),
        keep("graphctx_proposition", "learner_id"),
        keep("graphctx_embeddingspace", "dimension"),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.CheckConstraint(
                condition=models.Q(("chat__isnull", False), models.Q(("message_id", ""), _negated=True))
                | models.Q(
                    models.Q(("document_id", ""), _negated=True), models.Q(("extraction_id", ""), _negated=True)
                ),
                name="instance_has_source",
            ),
        ),
        refuse(
            "graphctx_instance",
            "same_learner",
            FOREIGN_EVIDENCE,
            "evidence lies in a chat of the learner whose proposition it supports",
        ),
        refuse(
            "graphctx_propositionvector",
            "same_learner",
            FOREIGN_VECTOR,
            "a vector belongs to the learner of its proposition",
            updates=True,
        ),
        refuse(
            "graphctx_propositionvector",
            "dimension",
            MISSHAPEN_VECTOR,
            "a vector has the dimension of its space",
            updates=True,
        ),
    ]

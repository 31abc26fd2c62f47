"""A space says what its vectors were cut from, and how they are normalised; stamps are made anew over all fields."""

import hashlib
import json

from django.db import migrations, models
from django.db.models import F, Q

FIELDS = (
    "name", "provider", "model", "revision", "runtime", "dimension", "query_format", "document_format", "max_tokens",
)  # fmt: skip
CUT = {"embeddinggemma": 768}


def _stamp(content: dict) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def restamp(apps, _editor) -> None:
    for space in apps.get_model("graphctx", "EmbeddingSpace").objects.all():
        known = {name: getattr(space, name) for name in FIELDS}
        space.truncated_from = CUT.get(space.name, 0)
        space.stamp = _stamp(known | {"truncated_from": space.truncated_from, "normalisation": "unit"})
        space.save()


def stamp_as_before(apps, _editor) -> None:
    for space in apps.get_model("graphctx", "EmbeddingSpace").objects.all():
        space.stamp = _stamp({name: getattr(space, name) for name in FIELDS})
        space.save()


class Migration(migrations.Migration):
    dependencies = [("graphctx", "0012_what_changed")]

    operations = [
        migrations.AddField("embeddingspace", "truncated_from", models.PositiveIntegerField(default=0)),
        migrations.AddField("embeddingspace", "normalisation", models.CharField(default="unit", max_length=20)),
        migrations.RunPython(restamp, stamp_as_before),
        migrations.AddConstraint(
            "embeddingspace",
            models.CheckConstraint(
                condition=Q(truncated_from=0) | Q(truncated_from__gte=F("dimension")), name="embedding_space_cuts_down"
            ),
        ),
    ]

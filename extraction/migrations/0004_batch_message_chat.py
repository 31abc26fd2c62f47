"""Message ids are unique within a chat only: a batch's messages are looked up by chat. Add, fill, alter."""

import django.db.models.deletion
from django.db import migrations, models

FILL = """
ALTER TABLE extraction_batchmessage DISABLE TRIGGER extraction_batchmessage_guard;
UPDATE extraction_batchmessage m SET chat_id = b.chat_id FROM extraction_batch b WHERE b.id = m.batch_id;
ALTER TABLE extraction_batchmessage ENABLE TRIGGER extraction_batchmessage_guard;
"""


def chat(**more: bool) -> models.ForeignKey:
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to="coverage.chat",
        **more,
    )


class Migration(migrations.Migration):
    dependencies = [("coverage", "0003_diff_by_window"), ("extraction", "0003_llm_worker")]

    operations = [
        migrations.AddField("batchmessage", "chat", chat(null=True)),
        # The deferred foreign key checks of the fill must be done before the table can be altered.
        migrations.RunSQL([FILL, "SET CONSTRAINTS ALL IMMEDIATE"], migrations.RunSQL.noop),
        migrations.AlterField("batchmessage", "chat", chat()),
        migrations.RemoveIndex("batchmessage", "batch_message_by_message"),
        migrations.AddIndex(
            "batchmessage",
            models.Index(fields=("chat", "message_id", "fingerprint"), name="batch_message_in_chat"),
        ),
    ]

"""Indexes for the orders of the documents list."""

import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("coverage", "0005_chat_summaries"),
        ("extraction", "0018_model_use_without_batch"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["-added_at", "file_id"], name="document_by_time"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                django.db.models.functions.text.Lower("filename"), models.F("file_id"), name="document_by_name"
            ),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["-size_bytes", "file_id"], name="document_by_size"),
        ),
    ]

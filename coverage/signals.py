"""What a lower app tells the higher ones without importing them."""

from django.dispatch import Signal

transcript_changed = Signal()
"""Sent inside the writing transaction with ``chat_id`` and the ``message_ids`` added, changed, shelved or deleted."""

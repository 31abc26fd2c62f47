"""Learners, chats, messages and the ledger of what has been read of them."""

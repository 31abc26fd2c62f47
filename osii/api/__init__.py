"""The HTTP API under ``/api/``: chats and what is known, for clients of one learner or of staff."""

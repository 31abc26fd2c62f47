"""Imports of chats that people upload: the files, the background run, and what heals it."""

"""How a language model drives the four tools: prompt, schemas, endpoint, conversation, limits.

Nothing here imports pydantic-ai until a model is really talked to; ``conversation``, ``toolset`` and ``retrying`` do, and are
imported by the worker when it runs.
"""

"""State of extraction: runs and batches over chats, documents and their versions."""

from .chats import Batch, BatchMessage, Candidate, ReferenceEnvironment, Resolution, Run, WorkerConversation
from .documents import Document, DocumentSource, ExtractionVersion, Promotion

__all__ = [
    "Batch",
    "BatchMessage",
    "Candidate",
    "Document",
    "DocumentSource",
    "ExtractionVersion",
    "Promotion",
    "ReferenceEnvironment",
    "Resolution",
    "Run",
    "WorkerConversation",
]

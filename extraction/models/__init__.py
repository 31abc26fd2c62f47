"""State of extraction: runs and batches over chats, documents and their versions."""

from .candidates import Candidate, Resolution
from .chats import Batch, BatchMessage, ReferenceEnvironment, Run, WorkerConversation
from .documents import Document, DocumentSource, ExtractionVersion, Promotion, Removal
from .language import LanguageModel, ModelUse
from .review import ReviewSetting
from .routing import ExtractorRule

__all__ = [
    "Batch",
    "BatchMessage",
    "Candidate",
    "Document",
    "DocumentSource",
    "ExtractionVersion",
    "ExtractorRule",
    "LanguageModel",
    "ModelUse",
    "Promotion",
    "ReferenceEnvironment",
    "Removal",
    "Resolution",
    "ReviewSetting",
    "Run",
    "WorkerConversation",
]

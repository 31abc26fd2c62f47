"""The auditors by name, and the one in force."""

from importlib import import_module

from django.conf import settings

from .model import Auditor

AUDITORS = {
    "nearness": "extraction.auditing.nearness:NearnessAuditor",
    "llm": "extraction.auditing.llm:LlmAuditor",
}


def get_auditor(name: str | None = None) -> Auditor:
    """The auditor of this name (default: OSII_AUDITOR). Raises ValueError naming the known ones."""
    name = name or settings.OSII_AUDITOR
    if name not in AUDITORS:
        raise ValueError(f"there is no auditor {name!r}; known: {', '.join(sorted(AUDITORS))}")
    module, _, attribute = AUDITORS[name].partition(":")
    return getattr(import_module(module), attribute)()

"""What may be done to documents: add a file, extract its text, make a version primary, heal what a crash left.

Lock order: the document's lock in the store first, then database rows. Extractors run outside both.
"""

from .intake import AddOutcome, add_file
from .promotion import foresee, promote, rollback
from .reconcile import reconcile_all, reconcile_document
from .removal import remove_document, remove_versions
from .versions import MAKE_PRIMARY, POLICIES, POLICY_LABELS, SAVE_VARIANT, UPGRADE_LABEL, Policy, extract

__all__ = [
    "MAKE_PRIMARY",
    "POLICIES",
    "POLICY_LABELS",
    "SAVE_VARIANT",
    "UPGRADE_LABEL",
    "AddOutcome",
    "Policy",
    "add_file",
    "extract",
    "foresee",
    "promote",
    "reconcile_all",
    "reconcile_document",
    "remove_document",
    "remove_versions",
    "rollback",
]

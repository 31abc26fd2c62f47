"""What was cut off in the middle of changing a document's files is healed by itself: by its mark, so that nobody has to look
through the whole store for it.
"""

import logging
from collections import Counter

from .errors import StoreError
from .reconcile import heal
from .store import GRACE_SECONDS as LEFTOVER_SECONDS
from .store import Store, library_store

logger = logging.getLogger(__name__)

AT_ONCE = 200
"""Marks that are looked at in one round, so that queues do not wait for many."""
GRACE_SECONDS = 5.0
"""Whoever made a younger mark is taken to be at work."""


def heal_marked(*, grace: float = GRACE_SECONDS, leftover_grace: float = LEFTOVER_SECONDS) -> Counter[str]:
    """Heal the documents that whoever changed them left marked, and remove work that no living process owns; returns
    counts of what was done. A document that somebody changes just now, or whose files cannot be written, waits."""
    store = library_store()
    done: Counter[str] = Counter()
    for file_id, what in store.marks(grace)[:AT_ONCE]:
        done["documents healed"] += _heal(store, file_id, what)
    for path in store.leftovers(leftover_grace):
        store.remove_leftover(path)
        done["leftovers removed"] += 1
    return +done


def _heal(store: Store, file_id: str, what: str) -> bool:
    try:
        with store.lock(file_id, seconds=0):
            if not store.is_marked(file_id, what):
                return False  # whoever it was has come to an end meanwhile
            for difference in heal(store, file_id, deep=False):
                logger.info("%s (after work on it was cut off)", difference)
            store.unmark(file_id, what)
    except StoreError as error:
        if error.reason != "store_busy":
            logger.warning("The files of %s cannot be healed now: %s", file_id, error)
        return False
    except OSError as error:
        logger.warning("The files of %s cannot be healed now: %s", file_id, error)
        return False
    return True

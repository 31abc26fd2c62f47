"""The embedding model, loaded before anybody waits for it: in the background, so that a process is ready at once."""

import logging
import threading
import time

WEB_AFTER_SECONDS = 3.0
"""The web server answers its first requests alone: importing the model's libraries would hold them up."""


def in_background(after: float = 0.0) -> threading.Thread:
    """Load the configured embedder in a thread, ``after`` so many seconds. A text that comes first waits for the model, and
    does not load it twice.
    """
    thread = threading.Thread(target=_warm, args=(after,), name="warm", daemon=True)
    thread.start()
    return thread


def in_web_server() -> threading.Thread | None:
    """The same in a web process, for a model that runs in it: a server elsewhere is not asked before somebody searches."""
    from graphctx.embedders.local_model import LocalModel
    from graphctx.embedding import get_embedder

    try:
        local = isinstance(get_embedder(), LocalModel)
    except Exception:  # noqa: BLE001 - files that cannot be read, say: the first search says it, and no page but that one fails
        return None
    return in_background(WEB_AFTER_SECONDS) if local else None


def _warm(after: float) -> None:
    from graphctx.embedding import EmbeddingError, get_embedder

    time.sleep(after)
    try:
        get_embedder().warm()
    except EmbeddingError as error:
        # Each text that needs the model says so itself.
        logging.getLogger(__name__).warning("Nothing can be embedded until the model can be used: %s", error)

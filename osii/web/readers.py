"""What a chat can be read with: the worker in force, and the others with each model that they may be given."""

from django.conf import settings

from extraction.llm.choice import model_names
from extraction.workers import check_model, worker_names


def readers() -> list[tuple[str, str]]:
    """Values and labels for a choice, the default (an empty value) first. At most one query."""
    models = model_names()
    found = [("", f"{settings.EXTRACTION_WORKER} (default)")]
    for worker in worker_names():
        if _takes_model(worker):
            found += [(f"{worker}:{name}", f"{worker}, {name}") for name in models]
        elif worker != settings.EXTRACTION_WORKER:
            found.append((worker, worker))
    return found


def _takes_model(worker: str) -> bool:
    try:
        check_model(worker, "any")
    except ValueError:
        return False
    return True


def chosen(value: str) -> tuple[str | None, str]:
    """(worker, model) of a value; no worker is the one in force."""
    worker, _, model = value.partition(":")
    return worker or None, model

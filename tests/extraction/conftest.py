import pytest

from extraction import workers
from tests.extraction.scripted import WORKERS


@pytest.fixture(autouse=True)
def _scripted_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = workers._REGISTRY | {worker.name: f"{worker.__module__}:{worker.__name__}" for worker in WORKERS}
    monkeypatch.setattr(workers, "_REGISTRY", known)

"""The llm worker against a real HTTP endpoint that answers by a script, with pauses that a test can afford."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from extraction.llm import retrying
from tests.extraction.scripted_endpoint import ScriptedEndpoint, serving


@pytest.fixture
def serve(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ScriptedEndpoint]]:
    """Starts an endpoint with this script, and points the settings at it."""
    settings.EXTRACTION_CHUNK_TOKENS = 1000
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retrying, "ATTEMPTS", 3)
    with serving(settings) as start:
        yield start

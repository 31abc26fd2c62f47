"""One conversation of the llm worker over a few messages, with its staging in memory."""

from typing import Any

import pytest

from extraction.exploring.tools import ExploreTools
from extraction.workers import get_worker
from extraction.workers.llm import LlmWorker
from tests.extraction.exploring.test_tools import MemoryStaging, entry, make

TEXT = "Green tea is best brewed at 80 °C, because boiling water makes it bitter."
PROVIDERS = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def overview(*entries: dict[str, Any]) -> dict[str, Any]:
    lines = [
        {key: one[source] for key, source in {"evidence_id": "id", "position": "position", "speaker": "speaker",
         "said_at": "said_at", "kind": "kind", "text": "text", "context": "context"}.items()}
        for one in entries
    ]  # fmt: skip
    chat = {"id": "c", "title": "Tea", "topic": "", "documents": []}
    reach = {"from": entries[0]["position"], "to": entries[-1]["position"]}
    return {"chat": chat, "range": reach, "overview": lines, "index": [], "index_total": 0}


def run(*entries: dict[str, Any]) -> tuple[LlmWorker, ExploreTools, MemoryStaging]:
    entries = entries or (entry("m1.0", TEXT),)
    tools, staging = make(*entries)
    worker = get_worker("llm")
    worker.run(overview(*entries), tools, lambda: None)
    return worker, tools, staging


def claims(staging: MemoryStaging) -> list[str]:
    return [record.claim for _, record in staging.records.values()]

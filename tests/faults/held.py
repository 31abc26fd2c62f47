"""A worker that can be held at a batch."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from extraction.tools import ExploreTools
from extraction.workers.rules import RulesWorker


class HeldWorker(RulesWorker):
    """The rules worker, which stops half way through the batch that begins where the file ``hold`` says."""

    name = "held"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        place = Path(os.environ["FAULT_DIR"])
        hold = place / "hold"
        if hold.exists() and int(hold.read_text()) == overview["range"]["from"]:
            first = next(line for line in overview["overview"] if not line["context"])
            tools.stage_candidate("fact", "Staged by an attempt that dies.", "never merged", [first["evidence_id"]])
            (place / "held").touch()
            while hold.exists():
                checkpoint()
                time.sleep(0.02)
        super().run(overview, tools, checkpoint)

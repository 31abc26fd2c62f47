"""Places in a batch's life where a worker process can be held, killed, frozen or aborted.

The file ``hold`` in FAULT_DIR names a stage and the position at which the batch begins. Who reaches it touches
``held`` and waits until ``hold`` is gone.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from extraction.exploring.tools import ExploreTools
from extraction.merging import merge
from extraction.models import Batch, Run
from extraction.running import runs
from extraction.workers.rules import RulesWorker
from graphctx import steers

BEFORE_CLAIM = "before-claim"
EXPLORING = "exploring"
STAGED = "staged"
MERGING = "merging"
COMMITTED = "committed"
SELECTING = "selecting"
"""Where a steer is prepared; not a stage of a batch."""
STAGES = (BEFORE_CLAIM, EXPLORING, STAGED, MERGING, COMMITTED)


def wanted(stage: str, position: int | None = None) -> bool:
    """Whether the file ``hold`` names this stage and, where one is given, this position."""
    file = Path(os.environ["FAULT_DIR"]) / "hold"
    if not file.exists():
        return False
    name, _, start = file.read_text().partition(" ")
    return name == stage and (position is None or position == int(start))


def hold(stage: str, position: int | None = None, checkpoint: Callable[[], None] = lambda: None) -> None:
    """Wait here while this stage is wanted."""
    while wanted(stage, position):
        (Path(os.environ["FAULT_DIR"]) / "held").touch()
        checkpoint()
        time.sleep(0.02)


class HeldWorker(RulesWorker):
    """The rules worker, which can be held before and after it has staged something."""

    name = "held"

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        first = next(line for line in overview["overview"] if not line["context"])
        start = overview["range"]["from"]
        hold(EXPLORING, start, checkpoint)
        if wanted(STAGED, start):
            tools.stage_candidate("fact", "Staged by an attempt that dies.", "never merged", [first["evidence_id"]])
        hold(STAGED, start, checkpoint)
        super().run(overview, tools, checkpoint)


def install() -> None:
    """Put the other stages into the product's own functions, in this process only."""
    claim, append, checkpoint = runs.claim, merge.append_entries, runs.checkpoint
    select = steers.select

    def held_claim(run_id: UUID) -> Run | None:
        hold(BEFORE_CLAIM)
        return claim(run_id)

    def held_append(chat: Any, messages: Any, **more: Any) -> int:
        written = append(chat, messages, **more)
        hold(MERGING, min(message.position for message in messages))
        return written

    def held_checkpoint(batch: Batch, *arguments: Any) -> Any:
        outcomes = checkpoint(batch, *arguments)
        hold(COMMITTED, batch.first_position)
        return outcomes

    def held_select(*arguments: Any) -> Any:
        selection = select(*arguments)
        hold(SELECTING)
        return selection

    runs.claim, merge.append_entries, runs.checkpoint = held_claim, held_append, held_checkpoint
    steers.select = held_select

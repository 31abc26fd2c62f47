"""Places in the life of a processing run's item where a worker process can be held. ``position`` is the item's.

``outputs-made`` is after a step's work is stored and before its row says so.
"""

from typing import Any

from osii.library import jobs, steps
from osii.library.items import Holding
from osii.models import ProcessingItem

from .held import hold

CLAIMED, BEGUN, MADE, STEP_DONE, ENDED = "claimed", "begun", "outputs-made", "step-done", "ended"
STAGES = (CLAIMED, BEGUN, MADE, STEP_DONE, ENDED)


def install() -> None:
    """Put the stages into the product's own functions, in this process only."""
    claim, begin, do, finish, settle = jobs.claim, Holding.begin, steps.do, Holding.finish, jobs.settle
    last: dict[Any, int] = {}

    def held_claim(item_id: int) -> ProcessingItem | None:
        item = claim(item_id)
        if item is not None:
            last[item.run_id] = item.position
            hold(CLAIMED, item.position)
        return item

    def held_begin(holding: Holding, step: str) -> Any:
        row = begin(holding, step)
        hold(BEGUN, holding.item.position)
        return row

    def held_do(item: ProcessingItem, *arguments: Any) -> Any:
        outcome = do(item, *arguments)
        hold(MADE, item.position)
        return outcome

    def held_finish(holding: Holding, *arguments: Any, **values: Any) -> None:
        finish(holding, *arguments, **values)
        hold(STEP_DONE, holding.item.position)

    def held_settle(run_id: Any) -> bool:
        hold(ENDED, last.get(run_id))
        return settle(run_id)

    jobs.claim, Holding.begin, steps.do, Holding.finish, jobs.settle = (
        held_claim, held_begin, held_do, held_finish, held_settle,
    )  # fmt: skip

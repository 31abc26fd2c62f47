"""The extract worker that lets a language model drive the four tools."""

from collections.abc import Callable
from typing import Any

from extraction.llm.endpoint import Endpoint
from extraction.llm.limits import Limits
from extraction.llm.prompt import VERSION, first_message
from extraction.tools import ExploreTools

from . import WorkerReport

VERSION_CHARACTERS = 80
"""What a batch's ``worker_version`` holds."""


class LlmWorker:
    """Reads a batch with the model that ``OSII_LLM_*`` names.

    ``version`` names the worker, the prompt and the model. Raises WorkerUnavailable when no model is set.
    """

    name = "llm"

    def __init__(self) -> None:
        self._endpoint = Endpoint.from_settings()
        self.version = f"llm-1/{VERSION}/{self._endpoint.model}"[:VERSION_CHARACTERS]
        self.report = WorkerReport()

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        """Raises BatchFailed at a limit, BatchTooLarge, WorkerUnavailable, or what ``checkpoint`` raises."""
        from extraction.llm.conversation import Conversation  # loads the agent library, which takes a second

        conversation = Conversation(self._endpoint, tools, Limits.from_settings())
        try:
            conversation.hold(first_message(overview), checkpoint)
        finally:
            self.report = conversation.report()

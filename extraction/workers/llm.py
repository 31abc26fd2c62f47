"""The extract worker that lets a language model drive the four tools."""

from collections.abc import Callable
from typing import Any

from extraction.exploring.tools import ExploreTools
from extraction.llm import prompt
from extraction.llm.choice import choose
from extraction.llm.prompt import first_message

from . import Allowance, WorkerReport

VERSION_CHARACTERS = 80
"""What a batch's ``worker_version`` holds."""


class LlmWorker:
    """Reads a batch with the model of that name, or the default one.

    ``version`` names the worker, the prompt and the model. Raises WorkerUnavailable when the model is not set up.
    """

    name = "llm"
    takes_model = True

    def __init__(self, model: str = "") -> None:
        self._choice = choose(model)
        self._endpoint = self._choice.endpoint()
        self._allowance: Allowance | None = None
        self.version = f"llm-1/{prompt.VERSION}/{self._endpoint.model}"[:VERSION_CHARACTERS]
        self.report = WorkerReport(model=self._choice.snapshot())

    @classmethod
    def prompt(cls) -> tuple[str, str]:
        """The version of the instructions, and the hash of their text."""
        return prompt.VERSION, prompt.content_hash()

    def allow(self, allowance: Allowance | None) -> None:
        """What the next ``run`` may cost; None is no bound."""
        self._allowance = allowance

    def run(self, overview: dict[str, Any], tools: ExploreTools, checkpoint: Callable[[], None]) -> None:
        """Raises BatchFailed at a limit, BatchTooLarge, WorkerUnavailable, or what ``checkpoint`` raises."""
        from extraction.llm.conversation import Conversation  # loads the agent library, which takes a second

        limits = self._choice.batch_limits()
        limits.allowance = self._allowance
        conversation = Conversation(self._endpoint, tools, limits, self._choice.prices)
        try:
            conversation.hold(first_message(overview), checkpoint)
        finally:
            model = self.report.model
            self.report = conversation.report()
            self.report.model = model
            self.report.cost = self._choice.prices.cost(self.report.usage)

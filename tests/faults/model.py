"""A language model on 127.0.0.1 that reads what it is given, or is sick."""

from tests.extraction.llm_runs import reads_all
from tests.extraction.scripted_endpoint import Answer, Drops, Hangs, Raw, Received, ScriptedEndpoint, Status


class Model:
    """``state`` is empty while it is well; else how it is sick."""

    def __init__(self) -> None:
        self.state = ""
        self._endpoint = ScriptedEndpoint(self._answer)

    @property
    def settings(self) -> dict[str, str]:
        """What an installation needs to use it."""
        return {
            "OSII_LLM_BASE_URL": self._endpoint.url,
            "OSII_LLM_MODEL": "scripted",
            "OSII_LLM_API_KEY": "sk-for-tests-only",
            "OSII_LLM_TIMEOUT_SECONDS": "3",
            "OSII_LLM_MAX_REQUESTS": "6",
            "OSII_LLM_BATCH_SECONDS": "20",
        }

    def close(self) -> None:
        self._endpoint.close()

    def _answer(self, received: Received) -> Answer:
        self._endpoint.received.clear()
        sick = {
            "stalls": Hangs(),
            "429": Status(429, headers={"Retry-After": "1"}),
            "500": Status(500),
            "garbage": Raw(b'{"choices": [{"message": {"content": "\xff'),
            "drops": Drops(),
        }
        return sick[self.state] if self.state else reads_all(received)

"""What one batch may cost: requests, tool calls, tokens, time. Reaching a limit without finish fails the batch."""

import time
from dataclasses import dataclass, field

from django.conf import settings

from extraction.workers import BatchFailed


@dataclass(slots=True)
class Limits:
    """The limits of one batch, counted from now on."""

    requests: int
    tool_calls: int
    tokens: int
    seconds: float
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def from_settings(cls) -> "Limits":
        return cls(
            settings.OSII_LLM_MAX_REQUESTS,
            settings.OSII_LLM_MAX_TOOL_CALLS,
            settings.OSII_LLM_MAX_TOKENS,
            settings.OSII_LLM_BATCH_SECONDS,
        )

    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    def check_request(self, requests: int, tokens: int) -> None:
        """Before a request, given how many were sent and the tokens used so far. Raises BatchFailed."""
        if requests >= self.requests:
            self._stop(f"{self.requests} requests (OSII_LLM_MAX_REQUESTS)")
        if tokens >= self.tokens:
            self._stop(f"{self.tokens} tokens (OSII_LLM_MAX_TOKENS; {tokens} used)")

    def check_tool_call(self, calls: int) -> None:
        """Before a tool call, given how many were made. Raises BatchFailed."""
        if calls >= self.tool_calls:
            self._stop(f"{self.tool_calls} tool calls (OSII_LLM_MAX_TOOL_CALLS)")

    def check_time(self) -> None:
        """Raises BatchFailed when the time is up."""
        if self.seconds_left() <= 0:
            self._stop(f"{self.seconds:g} seconds (OSII_LLM_BATCH_SECONDS)")

    def _stop(self, limit: str) -> None:
        raise BatchFailed(f"the model did not finish within {limit}")

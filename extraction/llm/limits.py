"""What one batch may cost: requests, tool calls, tokens, time, money. Reaching a limit without finish fails the batch."""

import time
from dataclasses import dataclass, field
from decimal import Decimal

from django.conf import settings

from extraction.models.language import ENVIRONMENT
from extraction.workers import Allowance, BatchFailed


@dataclass(slots=True)
class Limits:
    """The limits of one batch, counted from now on. ``label`` is the name of the model that sets them; ``allowance`` is what
    the caps on money leave, None without one.
    """

    requests: int
    tool_calls: int
    tokens: int
    seconds: float
    label: str = ENVIRONMENT
    allowance: Allowance | None = None
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
            self._stop(f"{self.requests} requests ({self._called('max_requests')})")
        if tokens >= self.tokens:
            self._stop(f"{self.tokens} tokens ({self._called('max_tokens')}; {tokens} used)")

    def check_tool_call(self, calls: int) -> None:
        """Before a tool call, given how many were made. Raises BatchFailed."""
        if calls >= self.tool_calls:
            self._stop(f"{self.tool_calls} tool calls ({self._called('max_tool_calls')})")

    def check_time(self) -> None:
        """Raises BatchFailed when the time is up."""
        if self.seconds_left() <= 0:
            self._stop(f"{self.seconds:g} seconds ({self._called('batch_seconds')})")

    def check_money(self, cost: Decimal | None) -> None:
        """Before a request, given what the batch cost so far. Raises BatchFailed when a cap is reached."""
        if self.allowance is not None and cost is not None and cost >= self.allowance.amount:
            self._stop(
                f"what {self.allowance.cap} leaves: this batch cost {cost:.4f}, {self.allowance.amount:.4f} was left"
            )

    def _called(self, limit: str) -> str:
        return f"OSII_LLM_{limit.upper()}" if self.label == ENVIRONMENT else f"{limit} of the model {self.label!r}"

    def _stop(self, limit: str) -> None:
        raise BatchFailed(f"the model did not finish within {limit}")

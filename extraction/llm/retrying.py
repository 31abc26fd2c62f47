"""Sending a request again after a failure that may pass: pauses that grow, with jitter, and an end."""

import asyncio
import random
from collections.abc import Callable

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelAPIError, RetryModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext

from . import failures

ATTEMPTS = 5
TIMEOUT_ATTEMPTS = 2
"""A request that ran into its time limit has already waited long."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
LONGEST_ASKED_PAUSE = 120.0
"""An endpoint that asks for more is left alone, and the run tries again later."""


class Retrying(AbstractCapability[None]):
    """Counts what is sent, and repeats a request that failed for a passing reason.

    ``seconds_left`` says how much time the batch still has; no pause goes beyond it. ``failing`` is the failure that is
    being waited out, or None.
    """

    def __init__(self, seconds_left: Callable[[], float]) -> None:
        self._seconds_left = seconds_left
        self.requests = 0
        self.retries = 0
        self.attempts = 0
        self.failing: Exception | None = None

    async def before_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.attempts = 0
        return request_context

    async def prepare_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.requests += 1
        self.attempts += 1
        return request_context

    async def after_model_request(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        self.failing = None
        return response

    async def on_model_request_error(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        pause = self._pause(error)
        if pause is None:
            raise error
        self.failing = error
        self.retries += 1
        await asyncio.sleep(pause)
        raise RetryModelRequest

    def _pause(self, error: Exception) -> float | None:
        """Seconds to wait before the next attempt; None when there is none."""
        most = TIMEOUT_ATTEMPTS if failures.is_timeout(error) else ATTEMPTS
        if not failures.is_transient(error) or self.attempts >= most:
            return None
        pause = min(FIRST_PAUSE * 2 ** (self.attempts - 1), LONGEST_PAUSE) * random.uniform(0.5, 1.0)
        asked = error.retry_after if isinstance(error, ModelAPIError) else None
        if asked is not None:
            if asked > LONGEST_ASKED_PAUSE:
                return None
            pause = asked + random.uniform(0.0, FIRST_PAUSE)
        return pause if pause < self._seconds_left() else None

"""One batch's conversation with a model: pydantic-ai's agent loop in a thread, the tools in the thread of the worker.

The agent loop lives in an event loop of its own; the database and the lease belong to the caller's thread. So each tool call
is handed over and answered there, and between calls, also while a request hangs, the caller looks whether it should stop.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RunUsage, UsageLimits

from extraction.exploring.tools import ExploreTools, ToolRefused
from extraction.workers import BatchFailed, WorkerReport, WorkerUnavailable

from . import failures, prompt
from .arguments import call_tool
from .endpoint import Endpoint
from .limits import Limits
from .prices import Prices
from .probe import probe
from .retrying import Retrying
from .toolset import UNLIMITED, SessionExplore
from .transcript import transcript

LOOK_SECONDS = 1.0
"""How often the caller looks whether it should stop while nothing happens."""
FINISH = "finish_extraction"
PATIENCE = 3
"""So many answers in a row without a tool call, or cut off, end the batch."""


@dataclass(slots=True)
class _Call:
    name: str
    raw: Any
    answer: "asyncio.Future[dict[str, Any] | ToolRefused]"


class Conversation:
    """Lets the model explore one environment. Call ``hold`` once; ``report()`` tells what it cost, however it ended."""

    def __init__(self, endpoint: Endpoint, tools: ExploreTools, limits: Limits, prices: Prices | None = None) -> None:
        self._endpoint = endpoint
        self._tools = tools
        self._limits = limits
        self._prices = prices or Prices()
        self._finished = False
        self._stopped = False
        self._inbox: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._outcome: BaseException | None = None
        self._retrying = Retrying(limits.seconds_left)
        self._usage = RunUsage()
        self._messages: list[ModelMessage] = []
        self._unsent: list[ModelMessage] = []
        self._calls = 0
        self._wordy = 0
        self._cut_off = 0

    # --- in the caller's thread ----------------------------------------------------------------------------------

    def hold(self, first_message: str, checkpoint: Callable[[], None]) -> None:
        """Talk until ``finish_extraction`` is accepted. Raises BatchFailed, BatchTooLarge, WorkerUnavailable, or what
        ``checkpoint`` raises; the thread is over when this returns.
        """
        thread = threading.Thread(target=self._think, args=(first_message,), name="model-conversation", daemon=True)
        thread.start()
        try:
            self._serve(checkpoint)
        finally:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._cancel)
            thread.join()
        if self._outcome is not None and not self._finished:
            raise self._outcome from None

    def _serve(self, checkpoint: Callable[[], None]) -> None:
        """Answer tool calls until the thread is done."""
        while True:
            try:
                call = self._inbox.get(timeout=max(0.01, min(LOOK_SECONDS, self._limits.seconds_left())))
            except queue.Empty:
                checkpoint()
                self._check_time()
                continue
            if call is None:
                return
            checkpoint()
            self._loop.call_soon_threadsafe(_deliver, call.answer, self._answer(call))

    def _answer(self, call: _Call) -> dict[str, Any] | ToolRefused:
        if not self._finished:  # what comes after finish is refused by the tools, and costs nothing
            self._check_time()
            self._limits.check_tool_call(self._calls)
        self._calls += 1
        try:
            answer = call_tool(self._tools, call.name, call.raw)
        except ToolRefused as refused:
            return refused
        self._finished = self._finished or call.name == FINISH
        return answer

    def _check_time(self) -> None:
        failing = self._retrying.failing
        if failing is not None and self._limits.seconds_left() <= 0:
            what = failures.describe(failing, self._endpoint)
            raise failures.unavailable(what, self._retrying.attempts)
        self._limits.check_time()

    def report(self) -> WorkerReport:
        """What was spent and said. ``usage`` counts every request sent, repeated ones included."""
        report = WorkerReport(conversation=transcript([*self._messages, *self._unsent]))
        report.usage.update(self._spent())
        return report

    def _spent(self) -> dict[str, int]:
        return {
            "requests": self._retrying.requests,
            "retries": self._retrying.retries,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            "cache_read_tokens": self._usage.cache_read_tokens,
            "cache_write_tokens": self._usage.cache_write_tokens,
        }

    # --- in the thread of the event loop -------------------------------------------------------------------------

    def _think(self, first_message: str) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._talk(first_message))
            except asyncio.CancelledError:
                self._outcome = None  # the caller stopped it and knows why
            except BaseException as error:  # noqa: BLE001  handed to the caller, whatever it is
                self._outcome = error
            finally:
                self._inbox.put(None)

    def _cancel(self) -> None:
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def _talk(self, first_message: str) -> None:
        if self._stopped:
            return
        self._task = asyncio.current_task()
        async with self._endpoint.open() as model:
            with capture_run_messages() as self._messages:
                try:
                    await self._explore(model, first_message)
                except (BatchFailed, WorkerUnavailable):
                    raise
                except Exception as error:  # noqa: BLE001  each kind of failure of the library or the endpoint
                    raise await self._judged(error, model) from None

    async def _explore(self, model: Model, first_message: str) -> None:
        agent = Agent(
            model,
            instructions=prompt.instructions(),
            toolsets=[SessionExplore(self._ask)],
            capabilities=[self._retrying],
            retries={"tools": UNLIMITED, "output": UNLIMITED},
        )
        agent.output_validator(_nudge)
        async with agent.iter(first_message, usage=self._usage, usage_limits=UsageLimits(request_limit=None)) as run:
            async for node in run:
                if Agent.is_call_tools_node(node):
                    self._look_at(node.model_response)
                elif Agent.is_model_request_node(node):
                    self._count_unknown(node.request.parts)
                    if self._finished:
                        self._unsent = [node.request]
                        return  # whatever else the model said or wants changes nothing
                    self._limits.check_request(self._retrying.requests, self._usage.total_tokens)
                    self._limits.check_money(self._prices.cost(self._spent()))

    async def _ask(self, name: str, raw: Any) -> dict[str, Any] | ToolRefused:
        answer: asyncio.Future[dict[str, Any] | ToolRefused] = asyncio.get_running_loop().create_future()
        self._inbox.put(_Call(name, raw, answer))
        return await answer

    def _look_at(self, response: ModelResponse) -> None:
        self._wordy = 0 if response.tool_calls else self._wordy + 1
        self._cut_off = self._cut_off + 1 if response.finish_reason == "length" else 0
        if self._cut_off >= PATIENCE:
            raise BatchFailed(f"{self._cut_off} answers of the model in a row were cut off at its token limit")
        if self._wordy < PATIENCE:
            return
        if not self._calls:
            raise WorkerUnavailable(
                f"the model {self._endpoint.model!r} {failures.NO_TOOLS} ({self._wordy} answers without a call)"
            )
        raise BatchFailed(f"the model stopped without finish_extraction: {self._wordy} answers without a tool call")

    def _count_unknown(self, parts: Any) -> None:
        """Calls of tools that do not exist are refused by the library, and counted here."""
        self._tools.refusals += sum(
            1 for part in parts if isinstance(part, ToolReturnPart) and part.outcome == "retried"
        )

    async def _judged(self, error: Exception, model: Model) -> Exception:
        known = failures.verdict(error, self._endpoint, self._retrying.attempts)
        if known is not None:
            return known
        what = failures.describe(error, self._endpoint)
        try:
            self._retrying.requests += 1
            self._usage.incr((await probe(model)).usage)
        except Exception as away:  # noqa: BLE001  the endpoint cannot even answer this
            return failures.verdict(away, self._endpoint) or failures.unavailable(what, self._retrying.attempts)
        return BatchFailed(f"the model endpoint works, but not with this batch: {what}")


def _deliver(future: "asyncio.Future[Any]", answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _nudge(text: str) -> str:
    raise ModelRetry(prompt.NUDGE)

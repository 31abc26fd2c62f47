"""The smallest conversations that show whether an endpoint answers, and whether its model makes native tool calls."""

import asyncio

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters

from extraction.workers import WorkerUnavailable

from . import failures
from .endpoint import Endpoint
from .toolset import definitions

QUESTION = (
    "This is a test of the connection. There is nothing to read and nothing to keep. Call finish_extraction with "
    'staged_count 0 and the reason "connection test".'
)


async def probe(model: Model) -> ModelResponse:
    """Ask once for a tool call. Raises what the request raises."""
    return await _ask(model, [ModelRequest.user_text_prompt(QUESTION)])


def check(endpoint: Endpoint) -> str:
    """One tool call there and back: what the model called. Raises WorkerUnavailable with what is wrong.

    It sends two short requests, and waits for each as long as the worker would.
    """
    return asyncio.run(_check(endpoint))


async def _check(endpoint: Endpoint) -> str:
    async with endpoint.open() as model:
        try:
            answer = await probe(model)
            if not answer.tool_calls:
                raise WorkerUnavailable(f"the model {endpoint.model!r} {failures.NO_TOOLS} (it answered with text)")
            results = [ToolReturnPart(call.tool_name, {"ok": True}, call.tool_call_id) for call in answer.tool_calls]
            await _ask(model, [ModelRequest.user_text_prompt(QUESTION), answer, ModelRequest(parts=results)])
        except WorkerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  each kind of failure of the library or the endpoint
            verdict = failures.verdict(error, endpoint)
            if isinstance(verdict, WorkerUnavailable):
                raise verdict from None
            raise WorkerUnavailable(failures.describe(error, endpoint)) from None
    return ", ".join(call.tool_name for call in answer.tool_calls)


async def _ask(model: Model, messages: list[ModelMessage]) -> ModelResponse:
    offered = ModelRequestParameters(function_tools=definitions(), allow_text_output=True)
    return await model_request(model, messages, model_request_parameters=offered)

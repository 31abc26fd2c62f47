"""One structured call of a model: a single tool, which must be called. Repeated like every request of the product."""

import asyncio
from collections import Counter
from typing import Any

from pydantic_ai import Agent, StructuredDict, ToolOutput
from pydantic_ai.usage import RunUsage, UsageLimits

from extraction.llm import failures
from extraction.llm.endpoint import Endpoint
from extraction.llm.limits import Limits
from extraction.llm.retrying import Retrying
from extraction.workers import BatchFailed, WorkerUnavailable

CORRECTIONS = 2
"""How often a model may be told that its answer does not have the shape."""


async def call(
    endpoint: Endpoint,
    limits: Limits,
    instructions: str,
    text: str,
    tool: str,
    schema: dict[str, Any],
    spent: Counter[str],
) -> tuple[Any, str]:
    """The arguments of the call, or None and what went wrong; never raises for what the endpoint does. ``spent`` is
    counted up by what was used, whatever the end.
    """
    retrying, usage = Retrying(limits.seconds_left), RunUsage()
    try:
        async with asyncio.timeout(limits.seconds), endpoint.open() as model:
            agent = Agent(
                model,
                instructions=instructions,
                output_type=ToolOutput(StructuredDict(schema, name=tool), name=tool, strict=False),
                capabilities=[retrying],
                retries={"output": CORRECTIONS},
            )
            made = await agent.run(text, usage=usage, usage_limits=UsageLimits(request_limit=None))
            return made.output, ""
    except (BatchFailed, WorkerUnavailable) as error:
        return None, str(error)
    except TimeoutError:
        return None, f"no answer within {limits.seconds:g} seconds"
    except Exception as error:  # noqa: BLE001  each kind of failure of the library or the endpoint
        known = failures.verdict(error, endpoint, retrying.attempts)
        return None, str(known) if known is not None else failures.describe(error, endpoint)
    finally:
        spent.update(
            requests=retrying.requests,
            retries=retrying.retries,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )

"""The four tools for pydantic-ai: it sees their schemas, and the worker's own thread answers the calls."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from extraction.exploring.features import SESSION_EXPLORE
from extraction.exploring.tools import ToolRefused

from .arguments import offered_tools

UNLIMITED = 10**6
"""How often a model may be corrected is bounded by the batch's limits, not per tool."""

Ask = Callable[[str, Any], Awaitable[dict[str, Any] | ToolRefused]]


class _Unread:
    """Takes a model's arguments as they came: they are checked with the call, where a refusal is counted."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002
        return {"raw": input if isinstance(input, str) else bytes(input).decode(errors="replace")}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002
        return {"raw": input}


def definitions() -> list[ToolDefinition]:
    """What goes over the wire. One call at a time, in the order in which the model wrote them."""
    return [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.schema,
            strict=False,
            sequential=True,
        )
        for tool in offered_tools()
    ]


class SessionExplore(AbstractToolset[None]):
    """The tools of ``builtin:session-explore``, each call passed on to ``ask``."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @property
    def id(self) -> str:
        return SESSION_EXPLORE

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            tool.name: ToolsetTool(toolset=self, tool_def=tool, max_retries=UNLIMITED, args_validator=_Unread())
            for tool in definitions()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> dict[str, Any]:
        answer = await self._ask(name, tool_args["raw"])
        if isinstance(answer, ToolRefused):
            raise ToolFailed(answer.message)
        return answer

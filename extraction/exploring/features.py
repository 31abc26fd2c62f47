"""Features: named contributions of tools, enabled per agent. Nothing else decides what an agent sees."""

from dataclasses import dataclass

from .tools import EXPLORE_TOOL_NAMES

SESSION_EXPLORE = "builtin:session-explore"
QUIZ = "builtin:quiz"

EXTRACT_WORKER = "extract-worker"
AUDITOR = "auditor"
TUTOR = "tutor"
MCP = "mcp"


@dataclass(frozen=True, slots=True)
class Feature:
    """A named set of tools."""

    name: str
    tools: tuple[str, ...]


FEATURES = {
    SESSION_EXPLORE: Feature(SESSION_EXPLORE, EXPLORE_TOOL_NAMES),
    QUIZ: Feature(QUIZ, ("quiz",)),
}

ENABLED: dict[str, frozenset[str]] = {
    EXTRACT_WORKER: frozenset({SESSION_EXPLORE}),
    AUDITOR: frozenset(),
    TUTOR: frozenset({QUIZ}),
    MCP: frozenset(),
}


def enabled_tools(agent: str) -> tuple[str, ...]:
    """The tool names that an agent sees, from the features enabled for it. Raises KeyError for an unknown agent."""
    return tuple(tool for name in sorted(ENABLED[agent]) for tool in FEATURES[name].tools)

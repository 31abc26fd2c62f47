"""Which agent sees which tools: read from the registry, so that a new agent is looked at by being there."""

import pytest

from extraction.exploring import features
from extraction.exploring.features import (
    AUDITOR,
    ENABLED,
    EXTRACT_WORKER,
    FEATURES,
    MCP,
    SESSION_EXPLORE,
    TUTOR,
    enabled_tools,
)
from extraction.exploring.tools import EXPLORE_TOOL_NAMES
from extraction.llm.arguments import offered_tools

OTHERS = sorted(set(ENABLED) - {EXTRACT_WORKER})


def test_every_agent_of_the_product_is_in_the_registry() -> None:
    named = {value for name, value in vars(features).items() if name.isupper() and isinstance(value, str)}
    assert named - set(FEATURES) == set(ENABLED)
    assert {AUDITOR, TUTOR, MCP} <= set(OTHERS)


def test_the_extract_worker_has_one_feature_with_the_four_tools() -> None:
    assert ENABLED[EXTRACT_WORKER] == {SESSION_EXPLORE}
    assert enabled_tools(EXTRACT_WORKER) == EXPLORE_TOOL_NAMES
    assert [tool.name for tool in offered_tools()] == list(EXPLORE_TOOL_NAMES)


@pytest.mark.parametrize("agent", OTHERS)
def test_no_other_agent_is_offered_any_of_them(agent: str) -> None:
    assert SESSION_EXPLORE not in ENABLED[agent]
    assert not set(enabled_tools(agent)) & set(EXPLORE_TOOL_NAMES)


def test_no_route_of_the_api_is_one_of_them() -> None:
    from osii.api.routes import api

    said = str(api.get_openapi_schema())
    assert not [name for name in EXPLORE_TOOL_NAMES if name in said]

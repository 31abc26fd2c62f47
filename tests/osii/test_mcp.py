"""The MCP server: one learner's graph, read-only, through the real client of the protocol."""

import asyncio
import sys
import tomllib
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError
from mcp import Client, StdioServerParameters

from coverage.models import Learner
from graphctx.models import Proposition
from osii import mcp_server, tokens
from tests.graphctx.conftest import SOLAR, add_propositions
from tests.osii.library.search import chunked

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS = {"context_for_topic", "search_propositions", "evidence_of_proposition", "search_documents"}


@pytest.fixture
def learner() -> Learner:
    learner = Learner.objects.create(name="Aiko")
    add_propositions(learner, SOLAR)
    add_propositions(Learner.objects.create(name="Ben"), ["Ben's secret is a blue boat."])
    return learner


@pytest.fixture
def token(learner: Learner) -> str:
    return tokens.issue(learner=learner)[1]


def call(server: Any, tool: str, **arguments: Any) -> Any:
    """The result of one call over the protocol."""

    async def ask() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


def answer(token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    result = call(mcp_server.build(token), tool, **arguments)
    assert not result.is_error, result.content
    return result.structured_content


def refusal(token: str, tool: str, **arguments: Any) -> str:
    result = call(mcp_server.build(token), tool, **arguments)
    assert result.is_error, result
    return result.content[0].text


def test_it_offers_reading_tools_only(token: str) -> None:
    async def ask() -> Any:
        async with Client(mcp_server.build(token)) as client:
            return (await client.list_tools()).tools, client.server_info

    offered, server = asyncio.run(ask())
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    assert (server.name, server.version) == ("osii", project["version"])
    assert {tool.name for tool in offered} == TOOLS
    assert all(tool.annotations.read_only_hint for tool in offered)


def test_the_context_is_that_of_a_chat(token: str) -> None:
    context = answer(token, "context_for_topic", topic="What does the moon's gravity cause?", budget=512)
    assert context["count"] == len(context["items"]) > 0
    assert context["block"].startswith("<osii-context")


def test_passages_of_the_learners_own_documents_are_found(token: str) -> None:
    chunked.document("ben.md", "Tides are caused by the moon.", learner="Ben")
    assert answer(token, "search_documents", query="tides", mode="lexical")["results"] == []
    chunked.document("mine.md", "The moon causes tides.", learner="Aiko")
    found = answer(token, "search_documents", query="tides", limit=5)
    assert [one["filename"] for one in found["results"]] == ["mine.md"]
    assert found["results"][0]["highlights"] == [[16, 21]]
    assert "say what to look for" in refusal(token, "search_documents", query="  ")


@pytest.mark.parametrize("by", ["meaning", "text"])
def test_propositions_are_found_and_lead_to_their_evidence(token: str, by: str) -> None:
    found = answer(token, "search_propositions", query="spring tides", by=by, limit=5)["items"]
    assert "Spring tides" in found[0]["text"]
    evidence = answer(token, "evidence_of_proposition", proposition_id=found[0]["proposition_id"])
    assert [instance["quote"] for instance in evidence["instances"]] == ["q"]


def test_another_learners_graph_does_not_exist(token: str) -> None:
    assert answer(token, "search_propositions", query="blue boat", by="text")["items"] == []
    assert all("blue" not in row["text"] for row in answer(token, "search_propositions", query="boat")["items"])
    other = Proposition.objects.get(learner__name="Ben")
    assert "there is no proposition" in refusal(token, "evidence_of_proposition", proposition_id=str(other.pk))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("context_for_topic", {"topic": "tides", "budget": 100}, "in steps of 128"),
        ("context_for_topic", {"topic": "  "}, "the topic is empty"),
        ("evidence_of_proposition", {"proposition_id": "7"}, "is no proposition id"),
        ("search_propositions", {"query": "x", "limit": 51}, "50"),
    ],
)
def test_a_wrong_argument_is_told(token: str, tool: str, arguments: dict[str, Any], said: str) -> None:
    assert said in refusal(token, tool, **arguments)


def test_a_revoked_token_ends_at_once(token: str) -> None:
    server = mcp_server.build(token)
    assert not call(server, "search_propositions", query="tides").is_error
    tokens.revoke(tokens.authenticate(token))
    assert "revoked" in call(server, "search_propositions", query="tides").content[0].text


def test_a_staff_token_or_none_is_refused(learner: Learner) -> None:
    with pytest.raises(mcp_server.TokenRefused, match="staff token"):
        mcp_server.learner_of(tokens.issue()[1])
    with pytest.raises(mcp_server.TokenRefused, match="set OSII_TOKEN"):
        mcp_server.learner_of("")
    with pytest.raises(mcp_server.TokenRefused, match="not known"):
        mcp_server.learner_of("osii_x")


def test_the_database_refuses_writes_of_a_tool(token: str) -> None:
    with (
        pytest.raises(DatabaseError, match="read-only transaction"),
        mcp_server._reading(lambda: mcp_server.learner_of(token)) as learner,
    ):
        Learner.objects.filter(pk=learner.pk).update(name="Other")
    assert Learner.objects.get(pk=learner.pk).name == "Aiko"


def test_a_client_starts_it_as_a_process(token: str, child_environment: dict[str, str]) -> None:
    """Nothing but the protocol is on standard output, and it ends with its client."""
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(settings.BASE_DIR / "manage.py"), "mcp"],
        env=child_environment | {"OSII_TOKEN": token},
    )
    result = call(server, "search_propositions", query="Spring", by="text")
    assert [row["text"] for row in result.structured_content["items"]] == [SOLAR[2]]

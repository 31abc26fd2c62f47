"""The recipes of docs/connect-a-client.md: the very blocks of the page, run against a live server and a scripted model.

The recipe for the AI SDK runs whole where ``AI_SDK_NODE_MODULES`` names a ``node_modules`` with its packages; its calls to
OSII run wherever there is node.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project

from coverage.models import Chat
from coverage.services import get_or_create_learner
from graphctx.models import Steer
from graphctx.steers import prepare, steer_id
from osii import tokens
from tests.extraction.scripted_endpoint import KEY, Says, ScriptedEndpoint, serving
from tests.graphctx.conftest import SOLAR, add_propositions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90), pytest.mark.django_db(transaction=True)]

PAGE = (project.BASE_DIR / "docs/connect-a-client.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"<!-- recipe: (\S+) -->\n```\w+\n(.*?)```\n", PAGE, re.DOTALL))
LINE = "reliable prior knowledge"

NODE = shutil.which("node")
MODULES = os.environ.get("AI_SDK_NODE_MODULES", "")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine: the TypeScript recipe is left out")
needs_sdk = pytest.mark.skipif(
    NODE is None or not (Path(MODULES) / "ai").is_dir(),
    reason="AI_SDK_NODE_MODULES names no node_modules with ai: the AI SDK route is left out",
)

# Plays the part of a client: each line of the input is a turn, each line of the output the answer.
READ_LINES = """
import { createInterface } from 'node:readline';
const chat = await begin();
const lines = createInterface({ input: process.stdin }); // not before the loop: it drops what nobody reads
for await (const text of lines) {
  const said = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
  console.log(await turn(said));
}
"""
WITH_FETCH = f"""
import {{ acknowledge, begin, finish, PROMPT, store, takeSteer }} from './osii.js';
const messages = [{{ role: 'system', content: PROMPT }}];
const turn = async (said) => {{
  await store(chat, [said]);
  messages.push({{ role: 'user', content: said.parts[0].text }});
  const id = crypto.randomUUID();
  const steer = await takeSteer(chat, id);
  if (steer) messages.push({{ role: 'user', content: steer.text }});
  const made = await fetch(`${{process.env.OPENAI_BASE_URL}}/chat/completions`, {{
    method: 'POST',
    headers: {{ 'content-type': 'application/json' }},
    body: JSON.stringify({{ model: process.env.MODEL, messages }}),
  }});
  const text = (await made.json()).choices[0].message.content;
  if (steer) await acknowledge(chat, steer.id);
  messages.push({{ role: 'assistant', content: text }});
  await store(chat, [{{ id, role: 'assistant', parts: [{{ type: 'text', text }}] }}]);
  await finish(chat);
  return text;
}};
{READ_LINES}"""
WITH_SDK = f"""
import {{ begin, transcript }} from './osii.js';
import {{ answer }} from './route.js';
const turn = async (said) => {{
  await (await answer(chat, said)).text();
  return (await transcript(chat)).at(-1).parts.find((part) => part.type === 'text').text;
}};
{READ_LINES}"""


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Callable[..., ScriptedEndpoint]]:
    with serving(settings) as start:
        yield start


@pytest.fixture
def converse(live_server: Any, rq_connection: object, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Runs a program for three turns; the steer gets ready after the first, while the program waits for its input."""
    started: list[subprocess.Popen] = []
    learner = get_or_create_learner("Ada")
    add_propositions(learner, SOLAR)

    def run(command: list[str], served: ScriptedEndpoint) -> None:
        environment = os.environ | {
            "OSII_URL": live_server.url,
            "OSII_TOKEN": tokens.issue(learner=learner)[1],
            "MODEL": "test-model",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": served.url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": served.url,
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes))
        say = lambda words: _answer(started[-1], words)  # noqa: E731
        assert say("What causes the tides?") == "One."
        chat = Chat.objects.get()
        steer = prepare(steer_id(chat.pk))
        assert steer.status == Steer.Status.READY
        assert say("And why are there two?") == "Two."
        assert say("Go on.") == "Three."
        check(chat, Steer.objects.get(), served)

    yield run
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def _answer(process: subprocess.Popen, words: str) -> str:
    process.stdin.write(f"{words}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def check(chat: Chat, steer: Steer, served: ScriptedEndpoint) -> None:
    """The model was given the block once and keeps it; the chat is stored, finished, and shows where it was given."""
    assert [LINE in request.text for request in served.received] == [True] * 3
    given = [sum(steer.text in text for text in said(request.body)) for request in served.received]
    assert given == [0, 1, 1]
    second, third = (said(request.body) for request in served.received[1:])
    assert third[: len(second)] == second  # the block stays in its place
    stored = list(chat.messages.order_by("position"))
    assert [message.role for message in stored] == ["user", "assistant"] * 3
    assert steer.status == Steer.Status.DELIVERED
    assert (steer.offered_after, steer.offered_turn) == (stored[2].message_id, stored[3].message_id)
    assert chat.finished_at is not None
    assert not [part for message in stored for part in message.parts if part["type"].startswith("data-")]


def said(body: dict[str, Any]) -> list[str]:
    """The texts of a request's messages in order, the system prompt apart."""
    contents = [message["content"] for message in body["messages"] if message["role"] != "system"]
    return [
        text
        for content in contents
        for text in ([content] if isinstance(content, str) else [part["text"] for part in content])
    ]


def script(endpoint: Callable[..., ScriptedEndpoint], provider: str = "openai") -> ScriptedEndpoint:
    return endpoint(Says("One."), Says("Two."), Says("Three."), provider=provider)


def test_the_page_has_its_recipes_and_each_has_the_line_about_the_block() -> None:
    assert set(RECIPES) == {"chat_openai.py", "chat_anthropic.py", "osii.ts", "route.ts"}
    for name in set(RECIPES) - {"route.ts"}:  # which takes the prompt from osii.ts
        assert LINE in " ".join(re.sub(r'"\n\s*"', "", RECIPES[name]).split()), name


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_python(
    endpoint: Callable[..., ScriptedEndpoint], converse: Callable[..., None], tmp_path: Path, provider: str
) -> None:
    program = tmp_path / f"chat_{provider}.py"
    program.write_text(RECIPES[program.name])
    converse([sys.executable, program.name], script(endpoint, provider))


def node_program(directory: Path, driver: str) -> list[str]:
    """The blocks as they are: they are valid without their types, so that every node runs them."""
    for name in ("osii", "route"):
        (directory / f"{name}.js").write_text(RECIPES[f"{name}.ts"])
    (directory / "package.json").write_text('{"type": "module"}')
    (directory / "client.js").write_text(driver)
    return [str(NODE), "client.js"]


@needs_node
def test_typescript_with_fetch_alone(
    endpoint: Callable[..., ScriptedEndpoint], converse: Callable[..., None], tmp_path: Path
) -> None:
    converse(node_program(tmp_path, WITH_FETCH), script(endpoint))


@needs_sdk
def test_typescript_with_the_ai_sdk(
    endpoint: Callable[..., ScriptedEndpoint], converse: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES, target_is_directory=True)
    converse(node_program(tmp_path, WITH_SDK), script(endpoint))

"""A model endpoint for tests: a real HTTP server that answers as scripted and keeps what it received."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from extraction.llm.probe import QUESTION

Json = dict[str, Any]
KEY = "sk-test-never-to-be-seen"


@dataclass(frozen=True)
class Received:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def tools(self) -> list[Json]:
        """Name, description and schema of each tool offered, whatever the provider's shape."""
        tools = [tool.get("function", tool) for tool in self.body.get("tools", [])]
        return [{**tool, "schema": tool.get("parameters") or tool.get("input_schema")} for tool in tools]

    @property
    def results(self) -> list[str]:
        """The tool results in the conversation so far, in order."""
        found = []
        for message in self.body["messages"]:
            if message["role"] == "tool":
                found.append(_plain(message["content"]))
            elif isinstance(message["content"], list):
                found += [_plain(part["content"]) for part in message["content"] if part["type"] == "tool_result"]
        return found

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@dataclass(frozen=True)
class Says:
    """An answer of the model: text, tool calls, or both. Arguments that are a string go over the wire as they are."""

    text: str = ""
    calls: tuple[tuple[str, Json | str], ...] = ()
    usage: tuple[int, int] = (100, 10)
    stop: str = ""


@dataclass(frozen=True)
class Status:
    """An HTTP error."""

    code: int
    body: Json | str = field(default_factory=lambda: {"error": {"message": "something went wrong"}})
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A 200 with this body; ``claimed`` is the length that the header promises."""

    body: bytes
    claimed: int | None = None
    type: str = "application/json"


class Hangs:
    """No answer until the test is over."""


class Drops:
    """The connection is closed without an answer."""


Answer = Says | Status | Raw | Hangs | Drops
Scripted = Answer | Callable[[Received], Answer]


def calls(*made: tuple[str, Json | str], text: str = "", **more: Any) -> Says:
    return Says(text, made, **more)


def stage(claim: str, evidence: str = "m1.0", **more: Any) -> tuple[str, Json]:
    fields = {"kind": "fact", "claim": claim, "why_useful": "the test wants it", "evidence_ids": [evidence], **more}
    return "stage_candidate", fields


def finish(count: int = 0, reason: str = "nothing worth keeping", **more: Any) -> tuple[str, Json]:
    return "finish_extraction", {"staged_count": count, "reason": reason, **more}


class ScriptedEndpoint:
    """Answers requests with ``script``, one after the other; the last one answers all further ones.

    ``probe`` answers the connection test, which is kept apart in ``probes``.
    """

    def __init__(self, *script: Scripted, provider: str = "openai", probe: Scripted | None = None) -> None:
        self.script = list(script)
        self.provider = provider
        self.probe = probe or calls(finish(0, "connection test"))
        self.received: list[Received] = []
        self.probes: list[Received] = []
        self.over = threading.Event()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}" + ("/v1" if self.provider == "openai" else "")

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, received: Received) -> Answer:
        with self._lock:
            if QUESTION[:40] in received.text:
                self.probes.append(received)
                chosen = self.probe
            else:
                self.received.append(received)
                chosen = self.script[min(len(self.received), len(self.script)) - 1] if self.script else Drops()
        return chosen if isinstance(chosen, Says | Status | Raw | Hangs | Drops) else chosen(received)

    def render(self, says: Says, model: str) -> Json:
        return self._anthropic(says, model) if self.provider == "anthropic" else self._openai(says, model)

    def render_stream(self, says: Says, model: str) -> bytes:
        """The same answer as server-sent events, its text in two pieces."""
        whole = self.render(says, model)
        events = _anthropic_events(whole) if self.provider == "anthropic" else _openai_events(whole)
        return "".join(events).encode()

    def _openai(self, says: Says, model: str) -> Json:
        tool_calls = [
            {
                "id": f"call_{next(self._ids)}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for name, given in says.calls
        ]
        message = {"role": "assistant", "content": says.text or None}
        if tool_calls:
            message["tool_calls"] = tool_calls
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": says.stop or ("tool_calls" if tool_calls else "stop")}
            ],
            "usage": {
                "prompt_tokens": says.usage[0],
                "completion_tokens": says.usage[1],
                "total_tokens": sum(says.usage),
            },
        }

    def _anthropic(self, says: Says, model: str) -> Json:
        content: list[Json] = [{"type": "text", "text": says.text}] if says.text else []
        content += [
            {"type": "tool_use", "id": f"toolu_{next(self._ids)}", "name": name, "input": given}
            for name, given in says.calls
        ]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": says.stop or ("tool_use" if says.calls else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": says.usage[0], "output_tokens": says.usage[1]},
        }


def _halves(text: str) -> list[str]:
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


def _openai_events(whole: Json) -> Iterator[str]:
    (choice,) = whole["choices"]
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[Json] = [{"content": piece} for piece in _halves(choice["message"]["content"] or "")]
    calls = choice["message"].get("tool_calls", [])
    deltas += [{"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls)]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in [{"role": "assistant"}, *deltas]]
    chunks.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    for chunk in chunks:
        yield f"data: {json.dumps(head | {'choices': [chunk]})}\n\n"
    yield f"data: {json.dumps(head | {'choices': [], 'usage': whole['usage']})}\n\n"
    yield "data: [DONE]\n\n"


def _anthropic_events(whole: Json) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in _halves(block["text"])]
        else:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": whole["usage"]["output_tokens"]})
    yield event("message_stop")


def _handler(endpoint: ScriptedEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = endpoint.answer(Received(self.path, headers, body))
            if isinstance(answer, Says) and body.get("stream"):
                self._send(200, endpoint.render_stream(answer, body["model"]), kind="text/event-stream")
            elif isinstance(answer, Says):
                self._send(200, json.dumps(endpoint.render(answer, body["model"])).encode())
            elif isinstance(answer, Status):
                text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                self._send(answer.code, text.encode(), headers=answer.headers)
            elif isinstance(answer, Raw):
                self._send(200, answer.body, claimed=answer.claimed, kind=answer.type)
            else:
                if isinstance(answer, Hangs):
                    endpoint.over.wait(20)
                self.close_connection = True

        def _send(
            self,
            status: int,
            body: bytes,
            *,
            headers: dict[str, str] | None = None,
            claimed: int | None = None,
            kind: str = "application/json",
        ) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(claimed or len(body)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client went away, as some tests want
                pass
            if claimed:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(settings: Any) -> Iterator[Callable[..., ScriptedEndpoint]]:
    """Starts scripted endpoints and points ``OSII_LLM_*`` at the latest; all are closed with the block."""
    started: list[ScriptedEndpoint] = []

    def start(*script: Scripted, **more: Any) -> ScriptedEndpoint:
        started.append(ScriptedEndpoint(*script, **more))
        settings.OSII_LLM_PROVIDER = started[-1].provider
        settings.OSII_LLM_BASE_URL = started[-1].url
        settings.OSII_LLM_MODEL = "test-model"
        settings.OSII_LLM_API_KEY = KEY
        return started[-1]

    try:
        yield start
    finally:
        for endpoint in started:
            endpoint.close()

"""A server that speaks the embeddings API from a script, for the tests: real sockets, no model."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from graphctx.embedders.hashing import HashingEmbedder

Script = Callable[[dict[str, Any], int], Any]
"""The request's body and its number, from 0 → the answer's JSON, or (status, JSON), or (status, JSON, headers)."""


def listed(rows: np.ndarray) -> dict[str, Any]:
    """The answer with these vectors, backwards: the index says which is whose."""
    data = [{"object": "embedding", "index": at, "embedding": row.tolist()} for at, row in enumerate(rows)]
    return {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def words(body: dict[str, Any], _number: int = 0) -> dict[str, Any]:
    """Vectors of 256 dimensions by the hashing embedder, twice as long as they should be."""
    return listed(2 * HashingEmbedder()._encode(body["input"]))


class EmbeddingsServer:
    """What it was asked is in ``asked`` and ``headers``."""

    def __init__(self) -> None:
        self.script: Script = words
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> tuple:
        with self.lock:
            number = len(self.asked)
            self.asked.append(body)
            self.headers.append(headers)
        answer = self.script(body, number)
        return answer if isinstance(answer, tuple) else (200, answer)


@contextmanager
def serving() -> Iterator[EmbeddingsServer]:
    scripted = EmbeddingsServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, *more = scripted.answer(
                body, {name.lower(): value for name, value in self.headers.items()} | {"path": self.path}
            )
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scripted.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()

"""Any server that speaks OpenAI's embeddings API: texts go out in batches, and no text can fail the others of its batch.

The key comes from the environment and goes into a header; it is in no row, no message and no log line.
"""

import base64
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from .base import Embedder, EmbedderSpec, EmbeddingError

logger = logging.getLogger(__name__)

DEFAULT_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
CHARACTERS_PER_TOKEN = 4
"""A first cut of what is surely too long; a server that still finds a text too long is given half of it."""

CHARACTERS_PER_REQUEST = 200_000
HALVINGS = 12
REFUSED = (400, 413, 422)
"""What servers answer when a text is not to their liking, or the whole request."""

HINTS = {
    401: "check OSII_EMBEDDINGS_API_KEY",
    403: "check OSII_EMBEDDINGS_API_KEY and what it may be used for",
    404: "check OSII_EMBEDDINGS_BASE_URL (it ends before /embeddings) and OSII_EMBEDDINGS_MODEL",
}


class _Refused(EmbeddingError):
    """The server will not have these texts."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how it is asked: seconds per request, further attempts, texts per request."""

    url: str = field(repr=False)
    key: str = field(repr=False, default="")
    seconds: float = 30.0
    retries: int = 4
    batch: int = 64

    @property
    def shown(self) -> str:
        """The address, fit for messages: without user name and password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class EndpointEmbedder(Embedder):
    """Vectors of a server, cut to ``spec.dimension`` where the spec says so, and re-normalised."""

    can_change = True

    def __init__(self, spec: EmbedderSpec, connection: Connection) -> None:
        self.spec = spec
        self.connection = connection
        self._lock = threading.Lock()
        self._client: Any = None
        self._accepts = False

    def _encode(self, texts: list[str]) -> np.ndarray:
        rows = [self._rows(batch) for batch in self._batches(texts)]
        return np.concatenate(rows)

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        """As many texts per request as may be, and not too much in all."""
        most = self.spec.max_tokens * CHARACTERS_PER_TOKEN
        batch: list[str] = []
        size = 0
        for text in (text[:most] for text in texts):
            if batch and (len(batch) == self.connection.batch or size + len(text) > CHARACTERS_PER_REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += len(text)
        yield batch

    def _rows(self, texts: list[str]) -> np.ndarray:
        """A row for each text; of not-a-numbers for one that the server will not have, however short it is made."""
        if not any(text.strip() for text in texts):
            return self._none(len(texts))
        try:
            return self._ask(texts)
        except _Refused as error:
            self._check_that_anything_is_accepted(error)
            if len(texts) == 1:
                return self._shortened(texts[0], error)
        middle = len(texts) // 2
        return np.concatenate([self._rows(texts[:middle]), self._rows(texts[middle:])])

    def _shortened(self, text: str, error: _Refused) -> np.ndarray:
        shorter = text
        for _halving in range(HALVINGS):
            shorter = shorter[: len(shorter) // 2]
            if not shorter.strip():
                break
            try:
                return self._ask([shorter])
            except _Refused as again:
                error = again
        logger.warning("No vector for a text of %s characters: %s", len(text), error)
        return self._none(1)

    def _none(self, count: int) -> np.ndarray:
        return np.full((count, self.spec.dimension), np.nan, dtype=np.float32)

    def _check_that_anything_is_accepted(self, error: _Refused) -> None:
        """Whether it is the texts: a server that refuses any text is set up wrongly, and says how."""
        if self._accepts:
            return
        try:
            self._ask(["ok"])
        except _Refused:
            raise EmbeddingError(str(error)) from None

    def _ask(self, texts: list[str]) -> np.ndarray:
        import openai

        body = {"model": self.spec.model, "input": texts, "encoding_format": "float"}
        try:
            answer = self._connected().post("/embeddings", cast_to=object, body=body)
        except openai.APITimeoutError:
            raise self._error(f"gave no answer within {self.connection.seconds:g} s") from None
        except openai.APIConnectionError as error:
            raise self._error(f"cannot be reached ({error.__cause__ or error})") from None
        except openai.APIStatusError as error:
            said = self._error(f"answered {error.status_code}: {_message(error)}", HINTS.get(error.status_code, ""))
            raise _Refused(str(said)) if error.status_code in REFUSED else said from None
        except (openai.APIError, ValueError) as error:
            raise self._error(f"gave no usable answer ({error})") from None
        rows = self._checked(answer, len(texts))
        self._accepts = True
        return rows

    def _checked(self, answer: Any, count: int) -> np.ndarray:
        wanted = self.spec.truncated_from or self.spec.dimension
        try:
            listed = answer["data"]
            ordered = sorted(listed, key=lambda one: one["index"]) if all("index" in one for one in listed) else listed
            rows = [_numbers(one["embedding"]) for one in ordered]
        except (TypeError, KeyError, ValueError) as error:
            raise self._error(f"gave no usable answer ({type(error).__name__}: {error})") from None
        if len(rows) != count:
            raise self._error(f"gave {len(rows)} vectors for {count} texts")
        for row in rows:
            if row.shape != (wanted,):
                raise self._error(
                    f"gives vectors of {row.size} dimensions, not {wanted}: it serves another model",
                    "or set OSII_EMBEDDINGS_DIMENSION, and OSII_EMBEDDINGS_TRUNCATE_FROM where vectors are to be cut",
                )
        return np.stack(rows)[:, : self.spec.dimension]

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    base_url=self.connection.url,
                    api_key=self.connection.key or "none",
                    timeout=openai.Timeout(
                        self.connection.seconds, connect=min(CONNECT_SECONDS, self.connection.seconds)
                    ),
                    max_retries=self.connection.retries,
                    # A redirection is not followed: the key would go along.
                    http_client=openai.DefaultHttpxClient(follow_redirects=False),
                )
            return self._client

    def _error(self, what: str, hint: str = "") -> EmbeddingError:
        if self.connection.key:
            what = what.replace(self.connection.key, "***")
        return EmbeddingError(
            f"the embeddings endpoint {self.connection.shown} ({self.spec.model}) {what}"
            + (f"; {hint}" if hint else "")
        )


def _numbers(embedding: Any) -> np.ndarray:
    """A vector as listed numbers, of which a null is not a number, or as base64 of float32, which some servers prefer."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):  # too large for float32 is infinite, and so not usable
        return np.array([np.nan if number is None else number for number in embedding], dtype=np.float32)


def _message(error: Any) -> str:
    body: Any = error.body
    said = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, dict) else body
    return " ".join(str(said or error.message).split())[:300]


def missing(model: str, dimension: int, url: str, key: str) -> Sequence[str]:
    """Names of the variables that are needed and not set."""
    needed = {"OSII_EMBEDDINGS_MODEL": model, "OSII_EMBEDDINGS_DIMENSION": dimension}
    if not url:
        needed["OSII_EMBEDDINGS_API_KEY (or, for your own server, OSII_EMBEDDINGS_BASE_URL)"] = key
    return [name for name, value in needed.items() if not value]


def endpoint() -> EndpointEmbedder:
    """The server of OSII_EMBEDDINGS_*. Raises EmbeddingError naming what is not set; asks the server nothing yet."""
    from django.conf import settings

    url, key = settings.OSII_EMBEDDINGS_BASE_URL, settings.OSII_EMBEDDINGS_API_KEY
    model, dimension = settings.OSII_EMBEDDINGS_MODEL, settings.OSII_EMBEDDINGS_DIMENSION
    own = settings.OSII_EMBEDDINGS_TRUNCATE_FROM
    if names := missing(model, dimension, url, key):
        raise EmbeddingError(f"the embedder 'endpoint' needs {' and '.join(names)}")
    if own and own < dimension:
        raise EmbeddingError(
            f"OSII_EMBEDDINGS_DIMENSION is {dimension}, more than the {own} of OSII_EMBEDDINGS_TRUNCATE_FROM"
        )
    spec = EmbedderSpec(
        name="endpoint",
        provider="openai-compatible",
        model=model,
        revision=settings.OSII_EMBEDDINGS_REVISION,
        runtime="endpoint",
        dimension=dimension,
        truncated_from=own if own > dimension else 0,
        query_format=settings.OSII_EMBEDDINGS_QUERY_FORMAT,
        document_format=settings.OSII_EMBEDDINGS_DOCUMENT_FORMAT,
        max_tokens=settings.OSII_EMBEDDINGS_MAX_TOKENS,
    )
    connection = Connection(
        url=url or DEFAULT_URL,
        key=key,
        seconds=settings.OSII_EMBEDDINGS_TIMEOUT_SECONDS,
        retries=settings.OSII_EMBEDDINGS_RETRIES,
        batch=settings.OSII_EMBEDDINGS_BATCH,
    )
    return EndpointEmbedder(spec, connection)

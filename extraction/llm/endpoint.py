"""A model endpoint, and the client that talks to it.

The key leaves this module in one header and nowhere else: not in a log line, not in an error, not in a repr.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings

from extraction.models.language import ENVIRONMENT
from extraction.workers import WorkerUnavailable

from .addresses import refusal, refusal_of

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

OPENAI = "openai"
ANTHROPIC = "anthropic"
DEFAULT_URLS = {OPENAI: "https://api.openai.com/v1", ANTHROPIC: "https://api.anthropic.com"}

ANSWER_BYTES = 8 * 2**20
"""A longer answer is not read to its end."""
ANTHROPIC_ANSWER_TOKENS = 8192
"""This API wants a bound on each answer; it holds a dozen claims."""
CONNECT_SECONDS = 10


class AnswerTooLong(Exception):
    """The endpoint sent more than ANSWER_BYTES."""

    def __init__(self) -> None:
        super().__init__(f"the answer has more than {ANSWER_BYTES // 2**20} MiB")


class Redirected(Exception):
    """The endpoint names another address; it is not followed, because the key would go along."""


class AddressRefused(Exception):
    """The name led to an address that must not be asked, at the moment of the connection: nothing was sent."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how to ask it. ``seconds`` is the time limit of one request; ``name`` is what it is called here,
    and ``key_variable`` the variable that its key comes from.
    """

    provider: str
    url: str
    model: str
    seconds: float
    key: str = field(repr=False)
    name: str = ENVIRONMENT
    key_variable: str = "OSII_LLM_API_KEY"

    @classmethod
    def from_settings(cls) -> "Endpoint":
        """That of ``OSII_LLM_*``. Raises WorkerUnavailable that names what is not set."""
        if not settings.OSII_LLM_MODEL:
            raise WorkerUnavailable(
                "the llm worker needs a model: set OSII_LLM_MODEL, and OSII_LLM_BASE_URL for your own server or "
                "OSII_LLM_API_KEY for a hosted one (OSII_LLM_PROVIDER is openai or anthropic)"
            )
        if not settings.OSII_LLM_BASE_URL and not settings.OSII_LLM_API_KEY:
            raise WorkerUnavailable(
                f"the llm worker needs OSII_LLM_API_KEY for {DEFAULT_URLS[settings.OSII_LLM_PROVIDER]}, or "
                "OSII_LLM_BASE_URL of your own server"
            )
        return cls(
            provider=settings.OSII_LLM_PROVIDER,
            url=settings.OSII_LLM_BASE_URL or DEFAULT_URLS[settings.OSII_LLM_PROVIDER],
            model=settings.OSII_LLM_MODEL,
            seconds=settings.OSII_LLM_TIMEOUT_SECONDS,
            key=settings.OSII_LLM_API_KEY,
        )

    @property
    def place(self) -> str:
        """Host and port, fit for messages: a user name or password in the address is left out."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def called(self, what: str) -> str:
        """What a person changes: "model", "key", "address" or "time" of this endpoint, by its name there."""
        if self.name == ENVIRONMENT:
            names = {"model": "MODEL", "key": "API_KEY", "address": "BASE_URL", "time": "TIMEOUT_SECONDS"}
            return f"OSII_LLM_{names[what]}"
        named = {"model": "the model id", "key": "the key", "address": "the address", "time": "timeout_seconds"}
        found = f" (variable {self.key_variable})" if what == "key" and self.key_variable else ""
        return f"{named[what]} of the model {self.name!r}{found}"

    def scrub(self, text: str) -> str:
        """``text`` without the key, wherever a server may have echoed it."""
        return text.replace(self.key, "***") if self.key else text

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Model"]:
        """A client for as long as the block runs, in this event loop. It repeats nothing by itself.

        Raises WorkerUnavailable for an address that must not be asked.
        """
        import httpx2

        refused = await sync_to_async(refusal, thread_sensitive=False)(urlsplit(self.url).hostname or "")
        if refused:
            raise WorkerUnavailable(f"{self.called('address')} is refused: {refused}")
        async with httpx2.AsyncClient(
            timeout=httpx2.Timeout(self.seconds, connect=min(self.seconds, CONNECT_SECONDS)),
            follow_redirects=False,
            event_hooks={"request": [_watch], "response": [_bound]},
        ) as client:
            yield self._anthropic(client) if self.provider == ANTHROPIC else self._openai(client)

    def _openai(self, client: "httpx2.AsyncClient") -> "Model":
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        # A key is always passed: without one the library would take OPENAI_API_KEY and send it to whatever url names.
        sdk = AsyncOpenAI(api_key=self.key or "none", base_url=self.url, http_client=client, max_retries=0)
        if self.url == DEFAULT_URLS[OPENAI]:
            return OpenAIChatModel(self.model, provider=OpenAIProvider(openai_client=sdk), settings=self._settings())
        own = OpenAICompatibleProvider("osii-endpoint", openai_client=sdk)
        return OpenAIChatModel(self.model, provider=own, settings=self._settings(temperature=0.0))

    def _anthropic(self, client: "httpx2.AsyncClient") -> "Model":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        url = self.url.rstrip("/").removesuffix("/v1")
        sdk = AsyncAnthropic(api_key=self.key or "none", base_url=url, http_client=client, max_retries=0)
        given = self._settings(max_tokens=ANTHROPIC_ANSWER_TOKENS, cache=True)
        return AnthropicModel(self.model, provider=AnthropicProvider(anthropic_client=sdk), settings=given)

    def _settings(self, **more: Any) -> Any:
        # `timeout` bounds each wait for bytes, `request_timeout` the whole request.
        return {"timeout": self.seconds, "request_timeout": self.seconds, **more}


async def _watch(request: "httpx2.Request") -> None:
    """Look at where each connection really leads: between the check of a name and its use the name may be changed."""
    request.extensions = {**request.extensions, "trace": _connected}


async def _connected(event: str, info: dict[str, Any]) -> None:
    # Before the handshake and the headers, so that neither key nor chat is sent.
    if not event.endswith("connect_tcp.complete"):
        return
    stream = info["return_value"]
    peer = stream.get_extra_info("server_addr")
    if peer and (refused := refusal_of(peer[0])):
        await stream.aclose()
        raise AddressRefused(refused)


async def _bound(response: "httpx2.Response") -> None:
    if response.has_redirect_location:
        raise Redirected(response.headers["location"])
    response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    """The response's stream, which breaks off with AnswerTooLong beyond ANSWER_BYTES."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > ANSWER_BYTES:
                    raise AnswerTooLong
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()

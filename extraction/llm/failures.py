"""What a failed request means: for the batch, for the endpoint, and whether to try again."""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_ai import exceptions as ai

from extraction.workers import BatchFailed, BatchTooLarge, WorkerUnavailable

from .endpoint import AddressRefused, AnswerTooLong, Endpoint, Redirected

# Servers word it in many ways, and not all with the status that it should have.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|exceed_context|prompt is too long|input is too long"
    r"|too many (?:input |prompt )?tokens|reduce the length|max_model_len|maximum (?:prompt|input) (?:length|tokens)",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:the )?(?:use of )?(?:native )?(?:tools?|function)\b|(?:tools?|tool calling|function calling) "
    r"(?:is|are) not supported|tool[ _-]choice.{0,60}(?:requires|--enable)|requires? --jinja|no endpoints found that support tool",
    re.IGNORECASE | re.DOTALL,
)
_DETAIL_CHARACTERS = 300
_LOOKED_AT_CHARACTERS = 600
_AGAIN_STATUSES = {408, 409, 425, 429}

NO_TOOLS = (
    "does not make native tool calls, which the llm worker needs; choose a model (and server settings) with tool calling, "
    "see docs/connect-a-model.md"
)


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if _has_cause(error, AddressRefused | AnswerTooLong | Redirected) or is_too_long(error) or lacks_tools(error):
        return False
    if isinstance(error, ai.ModelHTTPError):
        return error.status_code >= 500 or error.status_code in _AGAIN_STATUSES
    # No answer, half an answer, or an answer that is not one.
    return isinstance(error, ai.ModelAPIError | ai.UnexpectedModelBehavior) and not isinstance(
        error,
        ai.ModelRequestRejectedError | ai.ModelQuotaExceededError | ai.ContentFilterError | ai.OutputTokenLimitExceeded,
    )


def is_timeout(error: Exception) -> bool:
    return isinstance(error, ai.ModelTimeoutError | ai.ModelRequestTimeout)


def is_too_long(error: Exception) -> bool:
    if isinstance(error, ai.ModelContextWindowExceededError):
        return True
    if not isinstance(error, ai.ModelHTTPError) or error.status_code == 429:
        return False
    return error.status_code == 413 or bool(_TOO_LONG.search(_said(error)))


def lacks_tools(error: Exception) -> bool:
    return isinstance(error, ai.ModelHTTPError) and bool(_NO_TOOLS.search(_said(error)))


def verdict(error: Exception, endpoint: Endpoint, attempts: int = 1) -> Exception | None:
    """What this failure means for the batch by itself; None when only a look at the endpoint can tell.

    Then either the endpoint is away, or it works and cannot digest this batch.
    """
    what = describe(error, endpoint)
    return _of_the_batch(error, what) or _of_the_endpoint(error, what, endpoint, attempts)


def _of_the_batch(error: Exception, what: str) -> BatchFailed | None:
    if is_too_long(error):
        return BatchTooLarge(f"too long for the model: {what}")
    if _has_cause(error, AnswerTooLong):
        return BatchFailed(f"the model gave no usable answer: {AnswerTooLong()}")
    if isinstance(error, ai.OutputTokenLimitExceeded):
        return BatchFailed("the model's answer was cut off at its token limit, in the middle of a tool call")
    if isinstance(error, ai.ContentFilterError):
        return BatchFailed(f"the model endpoint filtered the answer: {what}")
    return None


def _of_the_endpoint(error: Exception, what: str, endpoint: Endpoint, attempts: int) -> WorkerUnavailable | None:
    if lacks_tools(error):
        return WorkerUnavailable(f"the model {endpoint.model!r} {NO_TOOLS} ({what})")
    if isinstance(error, ai.ModelAuthenticationError):
        return WorkerUnavailable(f"the model endpoint refused {endpoint.called('key')}: {what}")
    if isinstance(error, ai.ModelNotFoundError):
        return WorkerUnavailable(
            f"the model endpoint does not know {endpoint.called('model')} {endpoint.model!r}, or "
            f"{endpoint.called('address')} is not its address (most servers want it to end in /v1): {what}"
        )
    if _has_cause(error, AddressRefused):
        return WorkerUnavailable(f"{endpoint.called('address')} is refused: {list(_causes(error))[-1]}")
    if _has_cause(error, Redirected):
        return WorkerUnavailable(
            f"{endpoint.place} answers that it has moved; set {endpoint.called('address')} to the new address: {what}"
        )
    if isinstance(error, ai.ModelQuotaExceededError):
        return WorkerUnavailable(f"the quota of the model endpoint is used up: {what}", temporary=True)
    if isinstance(error, ai.ModelRateLimitError):
        return unavailable(what, attempts, error.retry_after)
    return None


def unavailable(what: str, attempts: int, retry_after: float | None = None) -> WorkerUnavailable:
    tried = f" (tried {attempts} times)" if attempts > 1 else ""
    return WorkerUnavailable(f"model endpoint unavailable: {what}{tried}", temporary=True, retry_after=retry_after)


def describe(error: Exception, endpoint: Endpoint) -> str:
    """One line: status or kind of failure, where, and the beginning of what the server said. Never the key."""
    if isinstance(error, ai.ModelHTTPError):
        text = f"HTTP {error.status_code} from {endpoint.place}"
        said = " ".join(_said(error).split())[:_DETAIL_CHARACTERS]
        return endpoint.scrub(f"{text}: {said}" if said else text)
    if is_timeout(error):
        return f"no answer from {endpoint.place} within {endpoint.seconds:g} seconds ({endpoint.called('time')})"
    if isinstance(error, ai.ModelConnectionError):
        deepest = str(list(_causes(error))[-1]).strip() or "connection lost"
        what = "redirects" if _has_cause(error, Redirected) else "cannot be reached"
        return endpoint.scrub(f"{endpoint.place} {what} ({deepest[:_DETAIL_CHARACTERS]})")
    first = str(error).strip().partition("\n")[0]
    return endpoint.scrub(f"an unusable answer from {endpoint.place}: {first[:_DETAIL_CHARACTERS]}")


def _said(error: ai.ModelHTTPError) -> str:
    """The message in an error body, whatever its shape; not what a server repeats of the request."""
    body = error.body
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and body.get(key):
            body = body[key]
    if isinstance(body, list):
        body = "; ".join(str(one.get("msg", "")) for one in body if isinstance(one, dict))
    elif isinstance(body, dict):
        body = json.dumps(
            {key: value for key, value in body.items() if key != "input"}, ensure_ascii=False, default=str
        )
    codes = [error.provider_error_code, error.provider_error_type]
    return " ".join([*(str(code) for code in codes if code), str(body or "")])[:_LOOKED_AT_CHARACTERS]


def _has_cause(error: BaseException, kind: Any) -> bool:
    return any(isinstance(one, kind) for one in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__

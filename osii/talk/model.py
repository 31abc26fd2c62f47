"""The tutor that is a language model: the transcript as its messages, one request, its text as it comes, one quiz at most.

The request runs in an event loop of its own in a thread; pieces of its text are handed over as they come. A turn that is
given up (a closed page) ends the request.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from coverage.view import MalformedParts, check_storable
from extraction.exploring.features import TUTOR, enabled_tools
from extraction.llm import failures
from extraction.llm.choice import ModelChoice, choose
from extraction.llm.endpoint import Endpoint
from extraction.workers import WorkerUnavailable
from graphctx.models import Steer

from . import history, prompts, quizzes
from .events import Said, TurnFailed
from .state import Talk
from .writing import Reply

if TYPE_CHECKING:
    from .events import Playing

BEAT_SECONDS = 5.0
"""So often a turn that says nothing shows that it lives, which is also when a closed page is noticed."""
MOST_OPTIONS = 8
QUIZ_CHARACTERS = 2000

QUIZ = ToolDefinition(
    name=quizzes.TOOL,
    description="Ask the learner one question and wait for the answer.",
    parameters_json_schema={
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question, complete by itself."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": MOST_OPTIONS,
                "description": "Answers to choose from, exactly one of them right. Left out: the learner writes.",
            },
            "answer": {
                "type": "string",
                "description": "The right answer, word for word as in the options if there are any.",
            },
            "explanation": {"type": "string", "description": "One sentence that is shown after the answer."},
        },
        "required": ["question", "answer"],
        "additionalProperties": False,
    },
    strict=False,
)
TOOLS = {quizzes.TOOL: QUIZ}


def offered_tools() -> list[ToolDefinition]:
    """What prober and teacher may call: the tools of their features and nothing else."""
    return [TOOLS[name] for name in enabled_tools(TUTOR)]


def reply(talk: Talk, steer: Steer | None) -> "Playing":
    """The model's answer to this turn. Raises TurnFailed that says what is wrong and where."""
    speaker = talk.speaker(riding=steer is not None)
    try:
        choice = choose(talk.model)
        endpoint = choice.endpoint()
    except WorkerUnavailable as missing:
        raise TurnFailed(str(missing)) from None
    request = history.messages(talk, steer, prompts.instructions(speaker))
    response = yield from _ask(endpoint, request, choice.limits["timeout_seconds"])
    return Reply(_parts(talk, response), _metadata(speaker, choice, response))


def _ask(endpoint: Endpoint, request: list[Any], seconds: float) -> Generator[Said, None, ModelResponse]:
    """Yields the text as it comes; returns the whole response."""
    inbox: queue.SimpleQueue[Said | ModelResponse | BaseException] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(_stream(endpoint, request, seconds, inbox))
    thread = threading.Thread(target=_run, args=(loop, task, inbox), name="tutor", daemon=True)
    thread.start()
    try:
        while True:
            try:
                got = inbox.get(timeout=BEAT_SECONDS)
            except queue.Empty:
                yield Said("")
                continue
            if isinstance(got, Said):
                yield got
            elif isinstance(got, ModelResponse):
                return got
            else:
                raise _failed(got, endpoint) from None
    finally:
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(task.cancel)
        thread.join()


def _run(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[ModelResponse]", inbox: queue.SimpleQueue[Any]) -> None:
    try:
        inbox.put(loop.run_until_complete(task))
    except BaseException as error:  # noqa: BLE001  handed to the turn, whatever it is
        inbox.put(error)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _stream(
    endpoint: Endpoint, request: list[Any], seconds: float, inbox: queue.SimpleQueue[Any]
) -> ModelResponse:
    offered = ModelRequestParameters(function_tools=offered_tools(), allow_text_output=True)
    async with (
        asyncio.timeout(seconds),
        endpoint.open() as model,
        model_request_stream(model, request, model_request_parameters=offered) as stream,
    ):
        async for event in stream:
            text = _text_of(event)
            if text:
                inbox.put(Said(text))
        return stream.get()


def _text_of(event: Any) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _failed(error: BaseException, endpoint: Endpoint) -> TurnFailed:
    if isinstance(error, TimeoutError):
        return TurnFailed(
            f"no whole answer from {endpoint.place} within {endpoint.seconds:g} seconds ({endpoint.called('time')})"
        )
    if not isinstance(error, Exception):
        return TurnFailed("the turn was broken off")
    if isinstance(error, WorkerUnavailable):
        return TurnFailed(str(error))
    return TurnFailed(str(failures.verdict(error, endpoint) or failures.describe(error, endpoint)))


def _parts(talk: Talk, response: ModelResponse) -> list[dict[str, Any]]:
    """The answer as UIMessage parts; of several quizzes the first, as one is asked at a time."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()
    parts: list[dict[str, Any]] = [{"type": "text", "text": text, "state": "done"}] if text else []
    called = next((call for call in response.tool_calls if call.tool_name == quizzes.TOOL), None)
    if called is not None:
        parts.append(_quiz(f"{talk.owed}-q", called))
    if not parts:
        raise TurnFailed("the model answered with nothing that can be shown")
    try:
        check_storable(parts, "the answer")
    except MalformedParts as flaw:
        raise TurnFailed(f"the model's answer cannot be stored: {flaw}") from None
    return parts


def _quiz(call_id: str, called: Any) -> dict[str, Any]:
    try:
        given = called.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise TurnFailed("the model's question is not valid JSON") from None
    question, answer = (str(given.get(name) or "").strip()[:QUIZ_CHARACTERS] for name in ("question", "answer"))
    if not question or not answer:
        raise TurnFailed("the model asked a question without its text or without the right answer")
    listed = given.get("options") if isinstance(given.get("options"), list) else []
    options = list(dict.fromkeys(str(option).strip()[:QUIZ_CHARACTERS] for option in listed if str(option).strip()))
    if options and not any(quizzes.same(option, answer) for option in options):
        options.append(answer)
    explanation = str(given.get("explanation") or "").strip()[:QUIZ_CHARACTERS]
    return quizzes.asked(call_id, question, answer, options[-MOST_OPTIONS:] if len(options) > 1 else (), explanation)


def _metadata(speaker: str, choice: ModelChoice, response: ModelResponse) -> dict[str, Any]:
    used = {"input_tokens": response.usage.input_tokens, "output_tokens": response.usage.output_tokens}
    return {"tutor": speaker, "model": choice.model, "prompt": prompts.VERSIONS[speaker], "usage": used}

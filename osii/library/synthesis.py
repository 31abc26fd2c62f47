"""A synthesis by a language model: of the whole text, part by part where it is long, then of the notes on the parts."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from coverage.ids import new_id
from extraction import spending
from extraction.documents.cutting import cut
from extraction.exploring.environment import MASKS, scrubbed
from extraction.llm.choice import ModelChoice, choose
from extraction.redaction import redact
from extraction.workers import BatchFailed, WorkerReport, WorkerUnavailable

from .base import Made, Method, Option, OutputFailed, Source
from .models import OutputKind

VERSION = "synthesis_v1"
"""Names the file in ``prompts``. Changed words are a new file with a new name."""
AGENT = "synthesizer"
TOOL = "write_synthesis"
FENCE = "document-data"
PART_CHARACTERS = 24_000
NOTES_WORDS = 200
LONGEST = 20_000
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string", "description": "The synthesis, plain text."}},
}


@cache
def instructions() -> str:
    return (Path(__file__).resolve().parent / "prompts" / f"{VERSION}.md").read_text(encoding="utf-8").strip()


class ByModel(Method):
    kind = OutputKind.SYNTHESIS
    name = "llm"
    version = "1"
    label = "Synthesis by a language model"
    options = {
        "model": Option("", "Name of the model; empty is the default one."),
        "words": Option(150, "About so many words at most.", least=30, most=1500),
    }

    def ready(self, options: Mapping[str, Any]) -> str:
        try:
            return choose(options["model"]).missing()
        except WorkerUnavailable as error:
            return str(error)

    def prompt_version(self, options: Mapping[str, Any]) -> str:
        text = hashlib.blake2b(instructions().encode(), digest_size=4).hexdigest()
        return f"{VERSION}/{text}/{choose(options['model']).model}"[:120]

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        choice = choose(options["model"])
        parts = scrubbed(piece for _, piece in cut(source.text, PART_CHARACTERS, step=source.checkpoint))
        if not parts:
            raise OutputFailed("no_text", "the text has nothing but white space")
        writer = _Writer(choice, source)
        try:
            text = writer.whole(parts, options["words"])
        finally:
            spending.record(AGENT, writer.report, run=writer.run)
        counts = {"parts": len(parts), "words": len(text.split()), "requests": writer.report.usage["requests"]}
        return Made(text=text + "\n", content={"model": writer.report.model}, counts=counts)


class _Writer:
    """The calls of one synthesis, and what they used."""

    def __init__(self, choice: ModelChoice, source: Source) -> None:
        self._choice = choice
        self._source = source
        self.run = new_id()
        self._limits = choice.batch_limits()
        self._limits.allowance = spending.allowance(self.run)
        self.report = WorkerReport(model=choice.snapshot())

    def whole(self, parts: Sequence[str], words: int) -> str:
        """Of one part at once; of more, from notes on each, which are parts again until there is one."""
        most = self._choice.limits["max_requests"]
        if len(parts) * 2 > most:
            raise OutputFailed(
                "too_long", f"{len(parts)} parts need about {len(parts) * 2} requests, and the model may be sent {most}"
            )
        while len(parts) > 1:
            notes = [
                self._ask(f"part {number} of {len(parts)} of the document", part, NOTES_WORDS)
                for number, part in enumerate(parts, 1)
            ]
            parts = [piece for _, piece in cut("\n\n".join(notes), PART_CHARACTERS)]
            if len(parts) == 1:
                return self._ask("notes on all parts of the document", parts[0], words)
        return self._ask("the whole document", parts[0], words)

    def _ask(self, what: str, text: str, words: int) -> str:
        from extraction.auditing.llm_call import call  # loads the agent library, which takes a second

        self._source.checkpoint()
        if reason := spending.day_is_spent():
            raise OutputFailed("daily_cap", reason)
        used = self.report.usage
        try:
            self._limits.check_time()
            self._limits.check_request(used["requests"], used["input_tokens"] + used["output_tokens"])
            self._limits.check_money(self.report.cost)
        except BatchFailed as error:
            raise OutputFailed("limit_reached", str(error)) from error
        message = _message(self._source.document.filename, what, text, words)
        given, trouble = asyncio.run(
            call(self._choice.endpoint(), self._limits, instructions(), message, TOOL, SCHEMA, used)
        )
        self.report.cost = self._choice.prices.cost(self.report.usage)
        if trouble:
            raise OutputFailed("model_failed", trouble)
        return _checked(given)


def _message(filename: str, what: str, text: str, words: int) -> str:
    """The text as one JSON string, so that nothing in it can end the fence, whose name carries a mark of the content."""
    body = json.dumps({"file name": scrubbed([filename])[0], "text": text}, ensure_ascii=False).replace("</", "<\\/")
    mark = hashlib.blake2b(body.encode(), digest_size=6).hexdigest()
    return (
        f"You get {what}. Write at most {words} words.\n\n<{FENCE}-{mark}>\n{body}\n</{FENCE}-{mark}>\n\n"
        f"Call {TOOL} now."
    )


def _checked(given: Any) -> str:
    text = given.get("text") if isinstance(given, dict) else None
    text = "".join(letter for letter in text if letter.isprintable() or letter == "\n") if isinstance(text, str) else ""
    text = redact(text.encode("utf-8", "replace").decode().translate({ord(mask): None for mask in MASKS})).strip()
    if not text:
        raise OutputFailed("empty_answer", "the model wrote nothing")
    if len(text) > LONGEST:
        raise OutputFailed(
            "answer_too_long", f"the model wrote {len(text):,} characters; {LONGEST:,} are the most kept"
        )
    return text

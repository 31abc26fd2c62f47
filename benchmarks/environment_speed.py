"""Building a batch's reference environment, beside writing the messages out as they are."""

import hashlib
import random

from coverage.models import Chat, Message
from coverage.services import IncomingMessage, get_or_create_learner, put_messages
from coverage.view import canonical_json, transcript_view
from extraction.exploring import environment

from .import_speed import WORDS
from .measure import Case, compare
from .result import Result

SIZES = {20: 25, 200: 9}  # messages: rounds
WORDS_EACH = 60


def run() -> list[Result]:
    return compare("environment", SIZES, _case)


def chat_of(count: int) -> Chat:
    """A chat of so many messages of some 80 tokens, every fifth with a tool's call and its result."""
    words = random.Random(count)
    chat = Chat.objects.create(learner=get_or_create_learner("Benchmark environment"), title=f"{count} messages")
    put_messages(chat.pk, [_message(number, words) for number in range(count)])
    return chat


def messages_of(chat: Chat) -> list[Message]:
    return list(Message.objects.filter(chat=chat).order_by("position"))


def _message(number: int, words: random.Random) -> IncomingMessage:
    text = " ".join(words.choices(WORDS, k=WORDS_EACH))
    parts: list[dict] = [{"type": "text", "text": f"{text} in case {number}."}]
    if number % 5 == 1:
        parts.append(
            {"type": "tool-look_up", "toolCallId": f"c{number}", "state": "output-available",
             "input": {"page": number}, "output": {"text": " ".join(words.choices(WORDS, k=WORDS_EACH))}}
        )  # fmt: skip
    return IncomingMessage(f"m{number}", ("user", "assistant")[number % 2], parts)


def _case(count: int) -> Case:
    chat = chat_of(count)
    messages = messages_of(chat)

    def build() -> None:
        content = environment.build(chat, messages_of(chat))
        if len(content["evidence"]) < count:
            raise RuntimeError("messages are missing: the environment benchmark is void")
        environment.content_hash(content)

    def written() -> str:
        """The same messages with nothing covered, summarised or told apart."""
        views = [transcript_view(message.role, message.parts) for message in messages_of(chat)]
        return hashlib.blake2b(canonical_json(views).encode(), digest_size=16).hexdigest()

    return Case(
        ours=build,
        limit=("reading the rows once", lambda: messages_of(chat)),
        rivals={"the messages as they are, as JSON with its hash": written},
        name=f"an environment of {count} messages, {sum(message.tokens for message in messages):,} tokens",
    )

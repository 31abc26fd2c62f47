"""The offline tutor: cloze quizzes made from what the learner knows or says, graded by comparing answers.

It states nothing itself. So whatever is read from its chats is the learner's own, and the levels come from the answers.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from coverage.models import Message
from coverage.words import counted
from extraction.claims.language import detect_language
from extraction.claims.segment import sentences
from extraction.claims.words import content_words
from graphctx.models import Kind, Level, Proposition, Steer
from graphctx.selection import with_latest_level

from . import quizzes
from .state import SCRIPTED, Talk, text_of
from .writing import Reply

VERSION = "scripted_v1"
NEWEST = 500
"""So many of the learner's propositions are looked at, beside those of the steer."""
ASKABLE = (Kind.FACT, Kind.LESSON, Kind.DECISION, Kind.CONSTRAINT)
BLANK = "____"
DISTRACTORS = 2
LEAST_WORDS, MOST_WORDS = 4, 40
LEAST_LETTERS = 4

# What is held least firmly is asked first.
ORDER = (Level.SHAKY, Level.RESISTED, Level.NOT_YET_ENGAGED, None, Level.ACCEPTED, Level.SOLID)

ASK_FOR_MORE = "Tell me in a sentence or two something that you know about it. I will ask you about it."
_WORD = re.compile(r"[^\W_]+(?:[.,'’\-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Cloze:
    """A sentence with one word left out."""

    sentence: str
    question: str
    answer: str


def reply(talk: Talk, steer: Steer | None) -> Reply:
    """The next message: what became of the last answer, the steer if it rides this turn, and the next question."""
    said = [line for line in (_feedback(talk), _acknowledged(steer)) if line]
    cloze, options = _next(talk, steer)
    said.append("Fill in the missing word." if cloze else ASK_FOR_MORE)
    parts: list[dict[str, Any]] = [{"type": "text", "text": " ".join(said), "state": "done"}]
    if cloze:
        parts.append(quizzes.asked(f"{talk.owed}-q", cloze.question, cloze.answer, options))
    speaker = talk.speaker(riding=steer is not None)
    return Reply(parts, {"tutor": speaker, "model": SCRIPTED, "prompt": VERSION})


def _feedback(talk: Talk) -> str:
    answers = quizzes.done(talk.last.parts) if talk.last else []
    if not answers:
        return ""
    return "Right!" if answers[-1]["output"]["correct"] else "Not quite: look at the right answer above."


def _acknowledged(steer: Steer | None) -> str:
    """What the learner sees of the steer's arrival: how much of it there is, by level; its lines are in the card."""
    if steer is None:
        return ""
    levels = [line["level"] for line in steer.items]
    counts = [
        f"{levels.count(level)} {level.label if level else 'without a level'}" for level in ORDER if level in levels
    ]
    what = counted(steer.count, "thing")
    return f"I have just been told what you know about this: {what} ({', '.join(counts)}). So let us go on from there."


def _next(talk: Talk, steer: Steer | None) -> tuple[Cloze | None, list[str]]:
    """The next question and its options, which may be none: then the answer is written."""
    language = detect_language(talk.topic_text)
    topic = content_words(talk.topic_text, language)
    made = [cloze for sentence in _material(talk, steer, topic, language) if (cloze := make_cloze(sentence, topic))]
    asked = [_filled(part["input"]) for part in talk.quizzes]
    right = {_filled(part["input"]) for part in talk.quizzes if part["output"]["correct"]}
    fresh = [cloze for cloze in made if cloze.sentence not in asked]
    missed = [cloze for cloze in made if cloze.sentence in asked[:-1] and cloze.sentence not in {*right, asked[-1]}]
    chosen = next(iter([*fresh, *missed]), None)
    return (chosen, _options(chosen, made)) if chosen else (None, [])


def _filled(quiz: dict[str, Any]) -> str:
    return str(quiz["question"]).replace(BLANK, str(quiz["correctAnswer"]))


def _material(talk: Talk, steer: Steer | None, topic: frozenset[str], language: str) -> Iterator[str]:
    """Sentences to ask about: the learner's propositions about the topic, then what the learner said in this chat."""
    seen: set[str] = set()
    for sentence in [*_known(talk, steer, topic, language), *_told(talk, language)]:
        if sentence not in seen:
            seen.add(sentence)
            yield sentence


def _known(talk: Talk, steer: Steer | None, topic: frozenset[str], language: str) -> list[str]:
    given = steer or (talk.steer if talk.steer and talk.steer.status == Steer.Status.DELIVERED else None)
    offered = [UUID(line["proposition_id"]) for line in given.items] if given else []
    rows = with_latest_level(Proposition.objects.retrievable().filter(learner=talk.chat.learner_id, kind__in=ASKABLE))
    newest = rows.order_by("-created_at", "id").values_list("pk", "text", "latest_level")[:NEWEST]
    found = {pk: (text, level) for pk, text, level in newest}
    missing = [pk for pk in offered if pk not in found]
    found |= {
        pk: (text, level) for pk, text, level in rows.filter(pk__in=missing).values_list("pk", "text", "latest_level")
    }
    about = [pk for pk in found if pk in set(offered) or content_words(found[pk][0], language) & topic]
    about.sort(key=lambda pk: ORDER.index(found[pk][1]))  # stable: the newest of a level first
    return [found[pk][0] for pk in about]


def _told(talk: Talk, language: str) -> Iterator[str]:
    for message in talk.messages:
        if message.role == Message.Role.USER and (talk.topic is None or message.pk != talk.topic.pk):
            for sentence in sentences(text_of(message), language):
                if not sentence.text.rstrip().endswith("?"):
                    yield sentence.text.strip()


def make_cloze(sentence: str, topic: Iterable[str] = ()) -> Cloze | None:
    """The sentence without the last of its words that carries meaning and is not the topic's; None where there is none."""
    words = list(_WORD.finditer(sentence))
    if not LEAST_WORDS <= len(words) <= MOST_WORDS or "_" in sentence:
        return None
    language = detect_language(sentence)
    about = set(topic)
    for word in reversed(words[1:]):
        meant = content_words(word[0], language)
        if not meant or meant & about or (len(word[0]) < LEAST_LETTERS and not word[0][0].isdigit()):
            continue
        question = f"{sentence[: word.start()]}{BLANK}{sentence[word.end() :]}"
        return Cloze(sentence, question, word[0])
    return None


def _options(chosen: Cloze, made: Sequence[Cloze]) -> list[str]:
    """The answer among words left out elsewhere, by the alphabet; none where there are too few."""
    others = [cloze.answer for cloze in made if cloze is not chosen and not quizzes.same(cloze.answer, chosen.answer)]
    others = list({quizzes.normal(word): word for word in others if word not in chosen.sentence}.values())
    if len(others) < DISTRACTORS:
        return []
    return sorted([chosen.answer, *others[:DISTRACTORS]], key=str.casefold)

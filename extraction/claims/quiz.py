"""An answered quiz as one fact: the question and its right answer in declarative form, solid or shaky by the outcome."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from extraction.bounds import CLAIM_CHARACTERS
from extraction.claims.cues import cues_for
from extraction.claims.filters import why_not
from extraction.claims.language import detect_language
from extraction.claims.model import MAX_QUOTE, SHAKY, SOLID, Draft, Evidence, Part, Turn
from extraction.claims.safety import looks_secret, said_in_good_faith
from extraction.claims.segment import plain, sentences
from extraction.claims.taught import capitalised, ended, stripped
from extraction.claims.verbs_en import BASES, third_person
from extraction.claims.words import content_words

# Where quiz tools keep things; the first filled field of each list counts.
_QUESTION = ("question", "prompt", "stem", "text", "title")
_OPTIONS = ("options", "choices", "answers", "alternatives")
_KEY = (
    "correctAnswer",
    "correct_answer",
    "solution",
    "expected",
    "rightAnswer",
    "correctOption",
    "correct_option",
    "correctIndex",
    "correct_index",
    "answerKey",
)
_GIVEN = ("answer", "selected", "selectedAnswer", "choice", "given", "response", "learnerAnswer", "userAnswer", "value")
_EXPLANATION = ("explanation", "feedback", "rationale", "why", "comment")
_OPTION_TEXT = ("text", "label", "value", "content", "answer", "title")


@dataclass(frozen=True)
class Quiz:
    """An answered quiz, whatever the tool called its fields. `answer` is the right one, None when nobody says it."""

    question: str
    answer: str | None
    explanation: str
    correct: bool


def _first(names: Iterable[str], *places: Mapping) -> object | None:
    """The first of the named fields that is filled, place by place."""
    for place in places:
        for name in names:
            value = place.get(name)
            if value is not None and value not in ("", []):
                return value
    return None


def _option_text(option: object) -> str:
    """What an option says, be it a text or an object."""
    if isinstance(option, Mapping):
        option = _first(_OPTION_TEXT, option)
    return plain(str(option)) if isinstance(option, (str, int, float)) else ""


def _as_answer(value: object, options: list) -> str | None:
    """An answer as its text: given as a text, an index, a letter or an option's id."""
    if isinstance(value, list):
        parts = [text for text in (_as_answer(item, options) for item in value) if text]
        return ", ".join(parts) or None
    if isinstance(value, Mapping):
        return _option_text(value) or None
    if isinstance(value, bool) or value is None:
        return None if value is None else str(value).lower()
    if isinstance(value, int):
        return _option_text(options[value]) if 0 <= value < len(options) else str(value)
    text = plain(str(value))
    for option in options:
        if (
            isinstance(option, Mapping)
            and text
            and text in {str(option.get(name)) for name in ("id", "key", "letter", "value")}
        ):
            return _option_text(option) or text
    if re.fullmatch(r"[A-Ha-h]", text) and ord(text.upper()) - 65 < len(options):
        return _option_text(options[ord(text.upper()) - 65])
    return text or None


def read_quiz(tool: Mapping) -> Quiz | None:
    """The quiz in a tool part, or None when it is none, is unanswered or asks nothing."""
    asked, got = tool.get("input"), tool.get("output")
    if not isinstance(got, Mapping) or not isinstance(got.get("correct"), bool):
        return None
    asked = asked if isinstance(asked, Mapping) else {}
    question = _first(_QUESTION, asked, got)
    if not isinstance(question, str) or not question.strip():
        return None
    options = _first(_OPTIONS, asked, got)
    options = options if isinstance(options, list) else []
    marked = [option for option in options if isinstance(option, Mapping) and option.get("correct") is True]
    key = _first(_KEY, got, asked)
    if key is None:
        key = marked[0] if marked else _first(("answer",), asked)
    if key is None and got["correct"]:
        key = _first(_GIVEN, got)
    explanation = _first(_EXPLANATION, got, asked)
    return Quiz(
        question=plain(question),
        answer=_as_answer(key, options),
        explanation=explanation if isinstance(explanation, str) else "",
        correct=got["correct"],
    )


_ARTICLES = ("a ", "an ", "the ")
_WHAT_IS = re.compile(r"(?:What|Who) (?P<verb>is|are|was|were) (?P<rest>[^?]+)\?$")
_WHICH_SUBJECT = re.compile(
    r"(?:Which|What) (?P<noun>[a-z][\w -]*?) (?P<verb>(?:is|are|was|were|can|has|have|[a-z]+s|[a-z]+ed))(?P<rest> [^?]+)?\?$"
)
_WHAT_DOES = re.compile(
    r"(?:What|Who)(?P<adverb> (?:directly|mainly|usually))? (?P<verb>[a-z]+s|[a-z]+ed)(?P<rest> [^?]+)\?$"
)
_DO_QUESTION = re.compile(r"\b(?:do|does|did)\b")
_PLACE = re.compile(r"(?:Where|In which [^?]*?|When) (?P<aux>do|does) (?P<rest>[^?]+)\?$")
_BLANK = re.compile(r"_{2,}|\.{4,}|…{2,}|\[ *\]|\[blank\]", re.IGNORECASE)
_SENTENCE_ANSWER = re.compile(r"\b(?:is|are|was|were|has|have|they|it|because)\b", re.IGNORECASE)


def _lower_first(text: str) -> str:
    """First letter in lower case when the first word is an ordinary word (`The`, `In`), not a name."""
    first = text.split(" ", 1)[0]
    if first.lower() in {
        "the",
        "a",
        "an",
        "in",
        "on",
        "at",
        "by",
        "to",
        "from",
        "only",
        "when",
        "during",
        "inside",
        "day",
    }:
        return text[:1].lower() + text[1:]
    return text


def _place_statement(match: re.Match[str], answer: str) -> str | None:
    """`Where does X run?` + `In the stroma` → `X runs in the stroma.`; None when the verb cannot be told."""
    words = match["rest"].split()
    verbs = [i for i, word in enumerate(words) if i > 0 and word in BASES]
    if verbs and verbs[-1] != len(words) - 1 and len(verbs) > 1:
        verbs = []
    if "take place" in match["rest"]:
        verbs = [words.index("take")]
    if not verbs or not re.match(
        r"(?:in|on|at|from|inside|during|only|when|under|near|day|after|before)\b", answer, re.IGNORECASE
    ):
        return None
    at = verbs[-1]
    if match["aux"] == "does":
        words[at] = third_person(words[at])
    if words[-1] in {"from", "in", "at", "to"}:
        words.pop()
    return f"{capitalised(' '.join(words))} {_lower_first(answer)}"


def _filled(question: str, answer: str) -> str | None:
    """A question with one blank and the answer in its place: that needs no grammar. None for any other question."""
    return _BLANK.sub(lambda _: answer.rstrip("."), question) if len(_BLANK.findall(question)) == 1 else None


def declarative(question: str, answer: str) -> str | None:
    """An English question and its answer as one statement, for the few forms where that is safe."""
    answer = answer.rstrip(".")
    if (whole := _filled(question, answer)) is not None:
        return whole
    if match := _PLACE.match(question):
        return _place_statement(match, answer)
    if _SENTENCE_ANSWER.search(answer) or len(answer.split()) > 10:
        return None
    if match := _WHAT_IS.match(question):
        rest = match["rest"]
        if not rest.lower().startswith(("the ", "this ")) or re.search(r"\b(?:this|it|you|called)\b", rest):
            return None
        return f"{capitalised(rest)} {match['verb']} {_lower_first(answer)}"
    if (match := _WHAT_DOES.match(question)) and match["verb"] not in {"is", "was", "does", "has"}:
        return f"{capitalised(answer)}{match['adverb'] or ''} {match['verb']}{match['rest']}"
    if (match := _WHICH_SUBJECT.match(question)) and not _DO_QUESTION.search(question):
        return f"The {match['noun']} that {match['verb']}{match['rest'] or ''} is {_lower_first(answer)}"
    return None


def _from_explanation(quiz: Quiz, language: str, answer_words: frozenset[str]) -> tuple[str, str] | None:
    """(claim, quote) of the explanation's best statement: the one that shares most with question and answer."""
    cues = cues_for(language)
    wanted = content_words(quiz.question, language) | answer_words
    best: tuple[int, str, str] | None = None
    stated: list[tuple[str, str]] = []
    for sentence in said_in_good_faith(sentences(quiz.explanation, language)):
        claim = stripped(sentence.text, cues)
        if why_not(claim, cues, language, least=2) is not None:
            continue
        stated.append((ended(claim, language), sentence.quote))
        words = content_words(claim, language)
        score = len(words & wanted) + 3 * len(words & answer_words)
        if words & wanted and (best is None or score > best[0]):
            best = (score, ended(claim, language), sentence.quote)
    if best is None:
        # Question and explanation may be in two languages: the only statement there is then the one that is meant.
        return stated[0] if len(stated) == 1 else None
    return best[1:]


def _stored(text: str, *wanted: str) -> str:
    """The first of the wanted texts as the evidence holds it (perhaps escaped as in JSON), or an empty string."""
    for one in wanted:
        for form in (one, json.dumps(one, ensure_ascii=False)[1:-1], json.dumps(one)[1:-1]):
            if form and len(form) <= MAX_QUOTE and form in text:
                return form
    return ""


def _evidence(part: Part, wanted: tuple[str, ...], level: str) -> Evidence | None:
    """Where the quiz says it: in its result when the statement stands there, else in the question of its call."""
    quote = _stored(part.text, wanted[0])
    if quote:
        return Evidence(part.evidence_id, quote, level=level)
    if part.call_id is not None:
        quote = _stored(part.call_text, *wanted)
        if quote:
            return Evidence(part.call_id, quote, also=(part.evidence_id,), level=level)
    quote = _stored(part.text, *wanted)
    return Evidence(part.evidence_id, quote, level=level) if quote else None


def _claim_of(quiz: Quiz, language: str, answer_words: frozenset[str]) -> tuple[str, tuple[str, ...]] | None:
    """(claim, texts to quote, the best first), or None when the quiz says nothing that can be kept."""
    explained = _from_explanation(quiz, language, answer_words) if quiz.explanation else None
    if explained is not None:
        return explained[0], (explained[1], quiz.question)
    if quiz.answer is None:
        return None
    stated = declarative(quiz.question, quiz.answer) if language == "en" else _filled(quiz.question, quiz.answer)
    if stated is None:
        stated = f"“{quiz.question}” – {quiz.answer.rstrip('.')}"
    return ended(stated, language), (quiz.question, quiz.answer)


def draft_from(turn: Turn, part: Part, fallback: str) -> tuple[Draft, frozenset[str]] | None:
    """The fact in an answered quiz with the content words of its right answer, or None."""
    quiz = read_quiz(part.quiz) if part.quiz is not None else None
    if quiz is None:
        return None
    language = detect_language(f"{quiz.question} {quiz.explanation}", fallback)
    answer_words = content_words(quiz.answer or "", language)
    made = _claim_of(quiz, language, answer_words)
    if made is None or len(made[0]) > CLAIM_CHARACTERS or looks_secret(made[0]):
        return None
    claim, wanted = made
    level = SOLID if quiz.correct else SHAKY
    evidence = _evidence(part, wanted, level)
    if evidence is None:
        return None
    draft = Draft(
        kind="fact",
        claim=claim,
        evidence=[evidence],
        position=turn.position,
        order=0,
        speaker=turn.speaker,
        language=language,
        understanding=level,
        origin="quiz",
        said_at=turn.said_at,
        words=content_words(claim, language),
    )
    return draft, answer_words

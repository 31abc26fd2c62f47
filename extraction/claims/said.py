"""What the learner stated: facts about themselves and their project, preferences, decisions, constraints, and so on."""

import re
from dataclasses import dataclass

from extraction.bounds import CLAIM_CHARACTERS, STALENESS_CHARACTERS
from extraction.claims.cues import cues_for, matches, starts
from extraction.claims.cues_terse import without_mutter
from extraction.claims.dates import with_dates
from extraction.claims.filters import bad_shape, bad_talk, too_thin, why_not
from extraction.claims.language import detect_language
from extraction.claims.levels import CONFIRMED, CORRECTED
from extraction.claims.model import (
    MAX_QUOTE,
    SHAKY,
    SOLID,
    Draft,
    Evidence,
    Part,
    Sentence,
    Turn,
)
from extraction.claims.rewrite import about_learner
from extraction.claims.safety import said_in_good_faith
from extraction.claims.segment import plain, sentences
from extraction.claims.taught import capitalised, ended, stripped
from extraction.claims.terse import bare_choice, lasting_wish, spelled_out
from extraction.claims.verbs_en import BASES, has_finite_verb, states_something
from extraction.claims.words import content_words, tokens

_KNOWS = re.compile(r"(?:i|we)(?:['’]ve| have)? (?:already |also )?(?:know|knew|learned|learnt)\b", re.IGNORECASE)
_QUESTION_MARK = re.compile(r"[?？؟]")
# A choice, wish or limit of a thing that is only pointed at cannot stand alone.
_POINTS_AT_OBJECT = re.compile(
    r"\b(?:with|use|take|choose|pick|prefer|like|drop|skip|keep|buy|want|need|hate|adopt|do|did|look|find|check|ask|clarify) "
    r"(?:that|it|this|these|those|them|both|option \w|the (?:first|second|third|last|latter|former|other|same)(?: one)?|number \w+|[A-D]|your \w+)"
    r"(?=[.,;!]|$| (?:one|option|then|because|since|too|up|myself|ourselves|and|instead|for now|better|version|as well)\b)",
    re.IGNORECASE,
)
_POINTS_AT_SUBJECT = re.compile(
    r"\b(?:assume|assuming|think|guess|suppose|expect|believe)(?: that)? (?:it|this|they|these|those|that (?:is|was|will|would|gives|works|holds|means))\b",
    re.IGNORECASE,
)
# "I have a test on 20 March and I want to understand …": the second half is about the moment.
_PASSING_TAIL = re.compile(
    r",? (?:and|but|so) (?:i|we)(?:['’]d| would)? (?:really |also )?(?:want|need|like|wonder|hope|wanted|don['’]t know|do not know)(?: to)? "
    r"(?:understand|know|learn|ask|see|hear|memori[sz]e|get|be able|talk|find out|if|whether|how|what|why|help|some|your) ?.*$",
    re.IGNORECASE,
)
_SMALL_I = re.compile(r"\bi\b(?=['’ ])")
_NO_APOSTROPHE = re.compile(
    r"\b(?:i(?=m\b|ve\b)|(?:do|ca|wo|does|did|is|are|was|have|has|should|would|could)n(?=t\b)|(?:what|that|let)(?=s\b))",
    re.I,
)
_ASIDE = re.compile(
    r"(?:, (?:i|we) (?:learn(?:ed|t)|knew|read|heard|had|think|guess|believe|suppose)(?: (?:that|it|this|so|about it))?(?: [\w ]{2,40})?| though)(?=[.!]?$)",
    re.IGNORECASE,
)
_SPEAKS_OF_SELF = re.compile(r"\b(?:I|[Mm]y|me)\b(?! [A-Z])")
_PASSING_VERBS = frozenset(
    "need want see know think mean look try start stop go talk say get let take try discuss agree learn expect wait ask do".split()
)
# How things stand just now, and what went wrong once.
_PASSING_STATE = re.compile(
    r"\b(?:right now|at the moment|again[.!]*$|keeps? (?!track|bees)\w+ing|came out|turned out|went (?:wrong|from)|still (?:slow|broken|not working|failing|wrong)"
    r"|just (?:now|tried|did|saw)|last night|tonight|(?:won['’]t|doesn['’]t|didn['’]t) (?:turn|start|work|move|open|close)\b|never (?:ends|works|stops|comes|gets)\b|(?:is|are) (?:broken|stuck|failing|down|killing)\b)",
    re.IGNORECASE,
)
_FROM = re.compile(r"I['’]?(?: a)?m from [A-Z]")
_AND = re.compile(r"(?:and|also|und|et|y)\b", re.IGNORECASE)
_THEN = re.compile(r"then,? (?!it\b)", re.IGNORECASE)
# "No more than three at once" is a limit without a verb.
_BARE_LIMIT = re.compile(
    r"(?:no|not|never|at most|max|maximum|only|up to|from now on|next (?:year|season|time|term)|this (?:year|time))\b",
    re.IGNORECASE,
)
# "Open point: whether …" needs its label to be a sentence.
_DEPENDENT = re.compile(r"(?:whether|if|who|how|when|where|which|what|why|that)\b", re.IGNORECASE)
# Somebody who says "this project" means their own.
_OWN_PLACE = re.compile(
    r"\bthis (project|team|company|house|flat|family|kitchen|garden|course|class|repo|app|year|season|term)\b", re.I
)
_JOINABLE = frozenset({"decision", "constraint", "working_assumption", "lesson", "fact"})


def _we_do(text: str) -> bool:
    """`We share a trailer …`: a known verb after "we" that tells how things are."""
    words = tokens(text)[:3]
    return words[:1] == ["we"] and any(word in BASES and word not in _PASSING_VERBS for word in words[1:])


def _with_apostrophe(match: re.Match[str]) -> str:
    """`dont` → `don't`, `im` → `i'm`, `whats` → `what's`: the first half, with what belongs between the halves."""
    half = match.group()
    return f"{half}'"


@dataclass(frozen=True)
class Found:
    """What one statement amounts to; `claim` is worded, `quote` and `start` are its place in the text."""

    kind: str
    claim: str
    level: str | None
    quote: str
    start: int
    staleness: str | None = None


class Statements:
    """Reads one text of the learner sentence by sentence. `verdict`: how the assistant's next answer took it."""

    def __init__(self, turn: Turn, part: Part, language: str, verdict: str | None, *, project: bool) -> None:
        self.turn, self.part, self.language = turn, part, language
        self.cues = cues_for(language)
        self.sentences = said_in_good_faith(sentences(part.text, language))
        asks = any(_QUESTION_MARK.search(sentence.text) for sentence in self.sentences)
        # "Yes" after a question answers the question, not what was stated beside it.
        self.verdict = None if asks and verdict == CONFIRMED else verdict
        self.project = project
        self.own_project = any(matches(self.cues.owned, sentence.text) for sentence in self.sentences)
        self.in_doubt = any(
            matches(self.cues.resist, sentence.text) or matches(self.cues.unsure, sentence.text)
            for sentence in self.sentences
        )

    def read(self) -> list[Found]:
        """Every lasting statement, in order."""
        found: list[Found] = []
        at = 0
        while at < len(self.sentences):
            made, used = self._at(at)
            if made is None and found:
                made = self._one_more_lesson(at, found[-1])
            if made is not None and len(made.claim) <= CLAIM_CHARACTERS:
                if found and found[-1].quote in made.quote:
                    found.pop()
                found.append(made)
            at += used
        return found

    def _one_more_lesson(self, at: int, last: Found) -> Found | None:
        """ "Lesson: … And …": what goes on with "and" right behind a lesson is another one."""
        before, sentence = self._neighbour(at - 1), self.sentences[at]
        if last.kind != "lesson" or before is None or before.start != last.start or before.block != sentence.block:
            return None
        text = self._bare(sentence)
        if not _AND.match(sentence.text) or bad_shape(text, self.cues, self.language, own=True):
            return None
        if bad_talk(text, self.cues) or too_thin(text, self.language, bullet=True):
            return None
        return Found("lesson", self._worded(text, "lesson"), None, sentence.quote, sentence.start)

    def _bare(self, sentence: Sentence) -> str:
        """The sentence without its leads; a learner's "then" only leads over."""
        text = stripped(sentence.text, self.cues)
        if self.language != "en":
            return capitalised(without_mutter(text))
        match = _THEN.match(text)
        if match is not None:
            text = stripped(text[match.end() :], self.cues)
        text = _ASIDE.sub("", spelled_out(_NO_APOSTROPHE.sub(_with_apostrophe, text)))
        return stripped(capitalised(_SMALL_I.sub("I", text)), self.cues)

    def _neighbour(self, at: int) -> Sentence | None:
        return self.sentences[at] if 0 <= at < len(self.sentences) else None

    def _at(self, at: int) -> tuple[Found | None, int]:
        """What starts at a sentence, and how many sentences it takes."""
        sentence = self.sentences[at]
        text = self._bare(sentence)
        before, after = self._neighbour(at - 1), self._neighbour(at + 1)
        if starts(self.cues.alternatives_start, text) and before is not None:
            joined = self._joined(before, sentence, "decision")
            return (Found("decision", joined[0], None, joined[1], before.start) if joined else None), 1
        judged = self._judged(text) or self._tail(text)
        quote, start = sentence.quote, sentence.start
        if judged is None and (chosen := self._short_choice(sentence, text, after)) is not None:
            return chosen, 2
        if judged is None and self.language == "en" and (choice := bare_choice(text)) is not None:
            judged = "decision", self._worded(f"The learner's choice: {choice}", "decision"), None
        if judged is None:
            pointing = self._with_what_it_points_at(before, sentence, text)
            if pointing is None:
                return None, 1
            judged, quote, start = pointing
        kind, claim, level = judged
        if after is not None and after.block == sentence.block:
            following = self._bare(after)
            belongs = (kind == "decision" and starts(self.cues.reason_start, following)) or (
                kind == "open_question" and starts(self.cues.action_start, following)
            )
            if belongs and (longer := self._extended(start, after)) is not None:
                return Found(kind, f"{claim} {self._worded(following, 'fact')}", level, longer, start), 2
            if kind == "working_assumption" and starts(self.cues.condition_start, following):
                return Found(kind, claim, level, quote, start, staleness=following[:STALENESS_CHARACTERS]), 2
        return Found(kind, claim, level, quote, start), 1

    # --- one sentence

    def _judged(self, text: str) -> tuple[str, str, str | None] | None:
        """(kind, claim, level) of a statement that stands alone, or None when nothing in it lasts."""
        cues, language = self.cues, self.language
        labelled = self._labelled(text)
        if labelled is not None:
            return labelled
        if bad_shape(text.rstrip("?？"), cues, language, own=True) or starts(cues.anaphora_start, text):
            return None
        if (
            self._kind(text) == "open_question"
            and not starts(cues.request_start, text)
            and not _POINTS_AT_OBJECT.search(text)
        ):
            return "open_question", text if _QUESTION_MARK.search(text) else self._worded(text, "open_question"), None
        wish = lasting_wish(text) if language == "en" else None
        if wish is not None and not starts(cues.anaphora_start, wish):
            return "preference", self._worded(capitalised(wish), "preference"), None
        placed = _OWN_PLACE.sub(r"the \1", text)
        if bad_shape(text, cues, language, own=True) or bad_talk(placed, cues) or starts(cues.request_start, text):
            return None
        believed = self._believed(text)
        if believed is not None:
            return ("fact", believed, SOLID) if why_not(believed, cues, language) is None else None
        return self._of_kind(text) or self._fact(text)

    def _labelled(self, text: str) -> tuple[str, str, str | None] | None:
        """A statement whose speaker names its kind: "Decision: …"."""
        for kind, pattern in self.cues.labels:
            match = pattern.match(text)
            if match is None or match.end() >= len(text):
                continue
            rest = capitalised(text[match.end() :])
            shape = bad_shape(text.rstrip("?？"), self.cues, self.language, own=True)
            if not content_words(rest, self.language) or shape not in {None, "too short", "too few words"}:
                return None
            if self.language == "en" and (not has_finite_verb(tokens(rest)) or _DEPENDENT.match(rest)):
                return kind, capitalised(text) if _QUESTION_MARK.search(text) else self._worded(text, kind), None
            return kind, rest if _QUESTION_MARK.search(rest) else self._worded(rest, kind), None
        return None

    def _tail(self, text: str) -> tuple[str, str, str | None] | None:
        """A habit named at the end of a request: "Please …, I learn best by calculating."."""
        match = self.cues.tail.match(text) if self.cues.tail else None
        return self._judged(capitalised(match["tail"])) if match and not _QUESTION_MARK.search(text) else None

    def _kind(self, text: str) -> str | None:
        """The kind that a statement of the learner has by its cues, or None."""
        if matches(self.cues.never, text):
            return None
        found = next((kind for kind, pattern in self.cues.kinds if pattern.search(text)), None)
        if (
            found is None
            and not self.in_doubt
            and (self.project or self.own_project or matches(self.cues.first_person, text))
        ):
            found = next((kind for kind, pattern in self.cues.own_kinds if pattern.search(text)), None)
        return found

    def _of_kind(self, text: str) -> tuple[str, str, str | None] | None:
        kind = self._kind(text)
        if kind is None or (kind == "working_assumption" and self.verdict is not None):
            return None
        if kind == "preference" and matches(self.cues.unsure, text):
            return None
        if _POINTS_AT_OBJECT.search(text) or _POINTS_AT_SUBJECT.search(text):
            return None
        thin = too_thin(text, self.language, bullet=True, least=2)
        if thin == "says too little" or (thin == "no verb" and not _BARE_LIMIT.match(text)):
            return None
        return kind, self._worded(text, kind), None

    def _fact(self, text: str) -> tuple[str, str, str | None] | None:
        """A fact about the learner, about their project, or about the subject when the assistant confirmed it."""
        cues, language = self.cues, self.language
        if language == "en" and _PASSING_STATE.search(text):
            return None
        if starts(cues.about_self, text) or (language == "en" and _we_do(text)):
            lasting = _PASSING_TAIL.sub("", text) if language == "en" else text
            least = 1 if _FROM.match(lasting) else 2
            if matches(cues.never, lasting) or too_thin(lasting, language, bullet=True, least=least) is not None:
                return None
            return "fact", self._worded(lasting, "fact"), SHAKY if matches(cues.unsure, lasting) else SOLID
        if starts(cues.reason_start, text) or (_SPEAKS_OF_SELF.search(text) and not matches(cues.owned, text)):
            return None
        if (
            matches(cues.never, text)
            or matches(cues.unsure, text)
            or why_not(ended(text, language), cues, language) is not None
        ):
            return None
        # Only English verbs are known well enough to tell a statement from a mutter.
        about_project = self.own_project and not self.in_doubt and self.verdict != CORRECTED
        about_project = about_project and language == "en" and states_something(tokens(text))
        if self.verdict == CONFIRMED or about_project:
            return "fact", self._worded(text, "fact"), SOLID
        return None

    def _believed(self, text: str) -> str | None:
        """The subject matter in "I think that …": kept when the assistant confirmed it, or when they say they know it."""
        match = self.cues.belief.match(text) if self.cues.belief else None
        if match is None or self.verdict == CORRECTED or self._kind(text) == "lesson":
            return None
        if self.verdict != CONFIRMED and self.language == "en" and not _KNOWS.match(text):
            return None
        return ended(capitalised(text[match.end() :]), self.language)

    # --- two sentences

    def _with_what_it_points_at(
        self, before: Sentence | None, sentence: Sentence, text: str
    ) -> tuple[tuple[str, str, str | None], str, int] | None:
        """A statement about "it" together with the sentence before, which says what "it" is; None where that is no help."""
        if starts(self.cues.condition_start, text):
            return None
        points = starts(self.cues.anaphora_start, text) or _POINTS_AT_SUBJECT.search(text)
        if not points or before is None or self.language != "en" or _QUESTION_MARK.search(text + before.text):
            return None
        if bad_shape(text, self.cues, self.language, own=True):
            return None
        kind = self._kind(text)
        if kind not in _JOINABLE or (kind == "working_assumption" and self.verdict is not None):
            return None
        joined = self._joined(before, sentence, kind)
        return None if joined is None else ((kind, joined[0], None), joined[1], before.start)

    def _joined(self, before: Sentence, sentence: Sentence, kind: str) -> tuple[str, str] | None:
        """(claim, quote) of two sentences that stand together, when the first one is a statement that stands alone."""
        first = self._bare(before)
        if (
            before.block != sentence.block
            or starts(self.cues.anaphora_start, first)
            or starts(self.cues.request_start, first)
        ):
            return None
        if bad_shape(first, self.cues, self.language, own=True) in {
            "question",
            "secret",
            "code",
            "link",
            "control characters",
        }:
            return None
        quote = self._extended(before.start, sentence)
        if quote is None:
            return None
        return f"{self._worded(first, 'fact')} {self._worded(self._bare(sentence), kind)}", quote

    def _short_choice(self, sentence: Sentence, text: str, after: Sentence | None) -> Found | None:
        """ "Guest houses, then. The reasons are …": a choice in few words, kept when its reason follows."""
        match = self.cues.short_choice.match(text) if self.cues.short_choice else None
        if match is None or after is None or after.block != sentence.block:
            return None
        reason = self._bare(after)
        quote = self._extended(sentence.start, after)
        if quote is None or not starts(self.cues.reason_start, reason) or _QUESTION_MARK.search(reason):
            return None
        claim = f"The learner's choice: {match['choice'].strip()}. {self._worded(reason, 'fact')}"
        return Found("decision", claim, None, quote, sentence.start)

    def _extended(self, start: int, last: Sentence) -> str | None:
        """The exact text from an offset to the end of a later sentence, or None when it is too long to quote."""
        quote = self.part.text[start : last.start + len(last.quote)]
        return quote if len(quote) <= MAX_QUOTE and len(plain(quote)) <= CLAIM_CHARACTERS else None

    def _worded(self, text: str, kind: str) -> str:
        """The claim: dates resolved and the speaker named where English makes that safe, else the sentence as it was."""
        text = with_dates(text, self.turn.said_at, self.language)
        if self.language == "en":
            text = about_learner(text, deciding=kind == "decision")
        return ended(text, self.language)


def drafts_from_part(turn: Turn, part: Part, fallback: str, verdict: str | None, *, project: bool) -> list[Draft]:
    """Every lasting statement in one text of the learner. `project`: the chat is about something of theirs."""
    language = detect_language(part.text, fallback)
    return [
        Draft(
            kind=found.kind,
            claim=found.claim,
            evidence=[Evidence(part.evidence_id, found.quote)],
            position=turn.position,
            order=found.start,
            speaker=turn.speaker,
            language=language,
            understanding=found.level,
            staleness=found.staleness,
            said_at=turn.said_at,
            words=content_words(found.claim, language),
        )
        for found in Statements(turn, part, language, verdict, project=project).read()
    ]

"""A claim read for comparison: its content words with what each is to the sentence, and the marks that guards compare."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from . import lexicon

SELF = "(self)"
BE = "(be)"
BARE = ""
"""The role of a word that no preposition governs."""
EMPLOYER, RESIDENCE = "(employer)", "(residence)"
MOST_READINGS = 16384
STEM_LEAST = 4

_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "‘": "'", "`": "'", "‑": "-", "–": "-"})
# Applied in this order to the text in lower case.
_REWRITES = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\b(can|will|sha)n't\b|\bcannot\b", r"\1 not "),
        (r"\bwo not\b", "will not"),
        (r"n't\b", " not"),
        (r"\bcan ?not\b", "can not"),
        (r"\b(?:not|n't)( \w+){0,3} (?:any ?more|any longer)\b", r" no-longer\1 "),
        (r"\bno longer\b|\bnicht mehr\b|\bkein\w* mehr\b|\bya no\b", " no-longer "),
        (
            r"\b(decide[sd]?|chose|choose|agreed?|plan(?:s|ned)?|wants?|wanted|needs?|needed|try|tries|tried|able|allowed|supposed"
            r"|likes?|liked|prefers?|preferred|ought) to\b",
            r"\1",
        ),
        (r"\b(?:is|are|am|'s|'m|'re) going to\b", " going-to "),
        (r"\bused to\b", "used-to"),
        (r"(?:\b(?:has|have)|'ve) (?=(?:\w+ )?(?:\w+ed|been)\b)", " perfect-tense "),
        (r"\bhave to\b|\bhas to\b|\bmuss\b(?= \w+ zu)", "must"),
        (r"\btiene[ns]? que\b|\btengo que\b", "debe"),
        (r"\bva a\b", "va-a"),
        (r"\bvan a\b", "van-a"),
        (r"\bdate limite\b", "date-limite"),
        (r"\bfecha límite\b", "fecha-límite"),
        (r"\bthe (?:learner|user)(?:'s)?\b", " i "),
        (r"\b(?:went|going|go|goes|gone|stick|sticking|stuck) with\b|\b(?:settled?|decided?|agreed?) on\b", " choose "),
        (r"\b(?:opt|opted|opting) for\b", " choose "),
        (r"'s\b", " "),
        (r"\b(?:l|d|j|m|t|s|c|n|qu)'(?=\w)", lambda match: match[0].replace("'", "' ")),
    )
)
# Negations between a verb and what belongs to it.
_BETWEEN = (
    (re.compile(r"\bn(?:e |')(\w+(?: \w+)?) plus\b"), r"no-longer \1"),
    (re.compile(r"\b(\w+) nicht mehr (?=(?:bei|in|für) )"), r"no-longer \1 "),
)
# Subject attributes that have one value at a time, told as a state or as the event that began it. The value has a name.
_NAME = r"(?=(?:the |der |die |das )?[A-ZÀ-Þ0-9])"
_ATTRIBUTES = tuple(
    (re.compile(rf"\b(?i:{pattern}) {_NAME}"), f" {marker} ")
    for marker, pattern in (
        (
            EMPLOYER,
            r"(?:now |currently |just |recently )?(?:works?|working) (?:now )?(?:at|for)|(?:has |have |'ve |just |recently )*joined"
            r"|(?:has |have |just |recently )*started (?:working |work |a (?:new )?job )?(?:at|with)|(?:is|am) (?:now )?employed (?:at|by)"
            r"|(?:arbeite|arbeitet) (?:jetzt |nun |derzeit )?(?:bei|für)|(?:travaille|travaillons) (?:maintenant |désormais )?(?:chez|pour)"
            r"|(?:ai|avons|vient de|viens de) (?:rejoint|rejoindre)|(?:trabajo|trabaja) (?:ahora )?(?:en|para)|me uní a|empecé en",
        ),
        (
            RESIDENCE,
            r"(?:now |currently )?(?:lives?|living) (?:now )?in|(?:has |have |just |recently )*(?:moved|relocated) (?:from [\w ]{2,40} )?to"
            r"|(?:wohne|wohnt|lebe|lebt) (?:jetzt |nun )?in|habite (?:maintenant |désormais )?(?:à|en)|(?:vivo|vive) (?:ahora )?en|me mudé a",
        ),
    )
)
_TOKEN = re.compile(
    r"\(\w+\)|,|\d+(?:[.,:/'’]\d+)*(?:st|nd|rd|th|e|º|ª|er)?(?![^\W\d])|[€$£%°][cfCF]?|[^\W_]+(?:[-_.+#&][^\W_]+|[+#]+)*",
    re.UNICODE,
)
_WORD = re.compile(r"[^\W\d_][\w.+#&-]*\w|[^\W\d_]")
_TWO_CAPITALS = re.compile(r"[A-ZÀ-ÖØ-Þ].*[A-ZÀ-ÖØ-Þ]")
_NUMBER = re.compile(r"\d[\d.,:/'’]*")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|e|º|ª|er)$")
_THOUSANDS = re.compile(r"(?<=\d)[,'’ ](?=\d{3}(?:\D|$))")
_GLUED = re.compile(
    r"(?<![\w.])(\d+(?:[.,]\d+)*)(ms|s|min|h|kg|g|mg|t|km|m|cm|mm|l|ml|[kmgt]i?b|k?v|k?wh?|[kmg]?hz|px|am|pm|[%€$£])(?!\w)",
    re.IGNORECASE,
)
# Endings of inflection only: another word class is another word.
_ENDINGS = ("ing", "ed", "en", "em", "e")


@dataclass(frozen=True, slots=True)
class Word:
    """One content word: its role (the preposition that governs its phrase, or BARE), and its stem."""

    role: str
    stem: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What comparison knows of a claim. ``negation`` counts; ``said`` is every token in order, for what else is asked."""

    content: tuple[Word, ...]
    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    units: tuple[str, ...]
    names: frozenset[str]
    negation: int
    modality: frozenset[str]
    quantifiers: frozenset[str]
    comparatives: frozenset[str]
    tense: frozenset[str]
    past_forms: frozenset[str]
    # Each number, negation, modal word, quantifier and comparative with the content word that it stands before.
    scope: tuple[tuple[str, str], ...]
    said: tuple[str, ...]

    @property
    def spelt(self) -> frozenset[str]:
        """Every token as it is written, in lower case and by one name."""
        return frozenset(lexicon.SYNONYMS.get(token, token) for token in self.said)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(word.stem for word in self.content)


class _Reader:
    """Sorts the tokens of one claim."""

    def __init__(self) -> None:
        self.content: list[Word] = []
        self.numbers: list[str] = []
        self.dates: list[str] = []
        self.units: list[str] = []
        self.negation = 0
        self.marks: dict[str, set[str]] = {
            "modality": set(),
            "quantifiers": set(),
            "comparatives": set(),
            "tense": set(),
        }
        self.past_forms: set[str] = set()
        self.scope: list[tuple[str, str]] = []
        self._waiting: list[str] = []
        self._role = BARE
        self._number_before = False

    def take(self, token: str) -> None:
        after_number, self._number_before = self._number_before, False
        if self._is_measure(token, after_number=after_number) or self._is_negation(token) or self._is_mark(token):
            return
        if token == ",":
            self._role = BARE
        elif token in lexicon.PREPOSITIONS:
            self._role = token
        elif token in lexicon.SELF:
            self._add(SELF, role=None if token in lexicon.POSSESSIVE else BARE)
        elif token in lexicon.BE:
            self._add(BE, role=BARE)
        elif token in (EMPLOYER, RESIDENCE):
            self._add(token, role=BARE)
        elif token not in lexicon.STOP and token not in lexicon.TIME_NOW and token not in lexicon.ALSO:
            self._word(token)

    def _word(self, token: str) -> None:
        token = lexicon.SYNONYMS.get(token, token)
        if token in lexicon.OPPOSITES:
            token = lexicon.OPPOSITES[token]
            self.negation += 1
        if token.endswith("ed") and len(token) > STEM_LEAST + 1:
            self.past_forms.add(stem(token))
        self._add(stem(token))

    def _add(self, text: str, *, role: str | None = None) -> None:
        if role is not None:
            self._role = role
        self.content.append(Word(self._role, text))
        self.scope += [(mark, text) for mark in self._waiting]
        self._waiting.clear()

    def end(self) -> None:
        """No word comes any more: what still waits for one stands at the end."""
        self.scope += [(mark, "") for mark in self._waiting]

    def _is_measure(self, token: str, *, after_number: bool) -> bool:
        number = lexicon.NUMBER_WORDS.get(token) or (token if _NUMBER.match(token) else None)
        if number is not None:
            self.numbers.append(_ORDINAL.sub("", _THOUSANDS.sub("", number)))
            self._waiting.append(self.numbers[-1])
            self._number_before = True
        elif token in lexicon.UNITS and (after_number or not token.isalpha()):
            self.units.append(lexicon.UNITS[token])
        elif token in lexicon.DATES:
            self.dates.append(lexicon.DATES[token])
            self._number_before = after_number
        else:
            return False
        return True

    def _is_negation(self, token: str) -> bool:
        if token == lexicon.ENDED:
            self.marks["tense"].add(lexicon.ENDED)
        elif token in lexicon.NEGATIONS:
            self.negation += 1
            self._waiting.append("not")
            if token in lexicon.ALWAYS_NOT:
                self.marks["quantifiers"].add("all")
                self._waiting.append("all")
        else:
            return False
        return True

    def _is_mark(self, token: str) -> bool:
        tables = {
            "modality": lexicon.MODALITY,
            "quantifiers": lexicon.QUANTIFIERS,
            "comparatives": lexicon.COMPARATIVES,
            "tense": lexicon.TENSE,
        }
        found = False
        for name, table in tables.items():
            if token in table:
                self.marks[name].add(table[token])
                found = True
                if table is not lexicon.TENSE:
                    self._waiting.append(table[token])
        if found and token in ("was", "were", "war", "waren", "était", "étaient", "era", "eran", "fue"):
            self._add(BE, role=BARE)
        return found


@lru_cache(maxsize=MOST_READINGS)
def read(text: str) -> Reading:
    """Read a claim. Pure; cached, because the same propositions are compared again and again."""
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    for pattern, instead in (*_BETWEEN, *_ATTRIBUTES):
        plain = pattern.sub(instead, plain)
    plain = _GLUED.sub(r"\1 \2", plain)
    plain = _may(plain)
    names = _names(plain)
    lowered = plain.lower()
    for pattern, rewritten in _REWRITES:
        lowered = pattern.sub(rewritten, lowered)
    tokens = tuple(_TOKEN.findall(lowered))
    reader = _Reader()
    for token in tokens:
        reader.take(token)
    reader.end()
    return Reading(
        content=tuple(reader.content),
        numbers=tuple(reader.numbers),
        dates=tuple(reader.dates),
        units=tuple(reader.units),
        names=frozenset(lexicon.SYNONYMS.get(name, name) for name in names.intersection(tokens)),
        negation=reader.negation,
        **{name: frozenset(found) for name, found in reader.marks.items()},
        past_forms=frozenset(reader.past_forms),
        scope=tuple(sorted(reader.scope)),
        said=tokens,
    )


def stem(token: str) -> str:
    """The word without its ending of inflection; short words and words with digits as they are."""
    if any(character.isdigit() for character in token):
        return token
    if token.endswith("s") and not token.endswith("ss") and len(token) >= STEM_LEAST:
        token = token[:-1]
    for ending in _ENDINGS:
        if token.endswith(ending) and len(token) - len(ending) >= STEM_LEAST:
            return token[: -len(ending)]
    return token


def _may(text: str) -> str:
    """The month of May, told from the verb by the number beside it, as a word that is in no other list."""
    if "May" not in text:
        return text
    return re.sub(
        r"\bMay\b(?=,? \d)|(?<=\d )May\b|(?<=\dth of )May\b|(?<=in )May\b|(?<=until )May\b|(?<=by )May\b", "Mayo", text
    )


def _names(text: str) -> frozenset[str]:
    """Lower-case forms of words with a capital inside a sentence, or with more than one; never the first of a sentence alone."""
    found = set()
    for match in _WORD.finditer(text):
        word = match[0]
        if word.islower():
            continue
        before = text[: match.start()].rstrip(" \"'“„«(")
        inside = bool(before) and before[-1] not in ".!?:"
        capital = word[0].isupper() and len(word) > 1
        if (inside and capital) or _TWO_CAPITALS.search(word):
            found.add(word.lower())
    return frozenset(found - lexicon.SELF - lexicon.DATES.keys())

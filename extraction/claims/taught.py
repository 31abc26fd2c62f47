"""Facts out of what an assistant explained."""

import re
from collections.abc import Iterator

from extraction.bounds import CLAIM_CHARACTERS
from extraction.claims.clauses import standing
from extraction.claims.cues import Cues, cues_for
from extraction.claims.filters import why_not
from extraction.claims.language import detect_language
from extraction.claims.model import NOT_YET_ENGAGED, Draft, Evidence, Part, Sentence, Turn
from extraction.claims.safety import said_in_good_faith
from extraction.claims.segment import sentences
from extraction.claims.verbs_en import has_finite_verb, third_person_verb
from extraction.claims.words import content_words, tokens
from extraction.claims.worth import KEEP_FROM, worth

_MAX_LEADS = 3
# A clause must say more than a whole sentence to be kept: it stood in a sentence that was none.
_CLAUSE_WORTH = 0.3
# A clause with a pronoun has left what that stands for in the rest of its sentence.
_LOOSE = re.compile(r"\b(?:it|its|they|their|them|this|these|those|there|here)\b", re.IGNORECASE)
# Nobody teaches in exclamations.
_EXCLAIMED = re.compile(r"[!！][\"'”’»)*]*$")
_FULL_STOP = re.compile(r"[.!。！．؟][\"'”’»)\]」』]*$")
# "**Xylem** – carries water", "Xylem: carries water": a term and what is said about it.
_TERM = re.compile(r"(?P<term>[^:–—]{2,48}?)\s*(?::|\s[–—-]\s|—)\s*(?P<rest>\S.*)$", re.DOTALL)
_LABEL = re.compile(
    r"(?:step|part|phase|stage|example|tip|hint|note|option|question|answer|why|how|what|when|where|pros?|cons?|for|against|on|every"
    r"|advantages?|disadvantages?|summary|task|exercise|bonus|result|reason|warning|caution|important|key|first|second|third|rule"
    r"|in short|remember|memory aid|schritt|beispiel|tipp|hinweis|paso|ejemplo|étape|exemple|passo|esempio)\b|\d",
    re.IGNORECASE,
)
# "Chlorophyll is a green pigment." lets a following "It absorbs …" be read as chlorophyll.
_DEFINED = re.compile(
    r"(?P<subject>(?:The |A |An )?[A-Za-z][\w'’-]*(?: (?:of|and|in) (?:the )?[\w'’-]+| [\w'’-]+){0,3}?) (?P<verb>is|are|was|were) "
    r"(?:also )?(?:an?|the|one of|small|large|tiny|called|made|used)\b"
)
_IT = re.compile(
    r"(?P<pronoun>It|They)(?P<rest> (?:also |always |usually |mainly |only |mostly |then |does not |do not )?(?P<first>[a-z]+)\b)"
)
_EXPLETIVE = re.compile(
    r"It(?:['’]s)? (?:is|was|takes?|seems?|turns?|follows?|matters?|helps?|depends?|may|might|can|could|would|will|also|looks?|sounds?"
    r"|becomes?|makes?)\b(?! (?:an?|the|made|called|found|used|located|produced|absorb|contain|carry|store|hold)\w*\b)"
)
_VAGUE_SUBJECT = re.compile(
    r"(?:it|this|that|these|those|they|there|here|one|what|which|who|each|both|some|i|you|we|he|she"
    r"|an? (?:good|common|easy|simple|classic|typical|nice|useful|quick)|the (?:first|second|third|last|next|answer|reason|idea))\b",
    re.IGNORECASE,
)
# A definition's noun phrase, up to where its own clauses begin.
_NOUN_PHRASE = re.compile(r"(?:an?|the) ", re.IGNORECASE)
_HEAD_END = re.compile(r"\b(?:that|which|who|where|when|used|made|called)\b|[,;]")
_YOURS = re.compile(
    r"\b(?P<your>[Yy])our\b(?! (?:heart|body|brain|eyes?|blood|lungs?|skin|muscles?|stomach|ears?|liver|kidneys?|computer|browser|phone)\b)"
)


def stripped(text: str, cues: Cues) -> str:
    """A sentence without the leads that only tie it to the talk, starting with a capital letter again."""
    if cues.lead is None:
        return text
    whole = text
    for _ in range(_MAX_LEADS):
        match = cues.lead.match(text)
        if match is None or match.end() >= len(text):
            break
        text = text[match.end() :].lstrip()
    return text if text is whole else capitalised(text)


def capitalised(text: str) -> str:
    """First letter in upper case, unless the first word is spelled with its own mix (`mRNA`, `print()`)."""
    first = text.split(" ", 1)[0]
    if first[:1].islower() and first[1:] == first[1:].lower() and not re.search(r"[()_.\d]\w?", first.rstrip(".,")):
        return text[:1].upper() + text[1:]
    return text


def ended(text: str, language: str) -> str:
    """The sentence with a full stop at its end."""
    if _FULL_STOP.search(text):
        return text
    return text + ("。" if language in {"ja", "zh"} else ".")


def _subject_before(before: Sentence) -> tuple[str, bool] | None:
    """(subject, plural) that the sentence before sets for an "It" or "They" after it, or None."""
    term = before.text.rstrip(".:")
    if before.quote.startswith("**") and len(term.split()) <= 6 and not has_finite_verb(tokens(term)):
        return term, term.endswith("s")
    defined = _DEFINED.match(before.text)
    if defined is None or _VAGUE_SUBJECT.match(defined["subject"]):
        return None
    return defined["subject"], defined["verb"] in {"are", "were"}


def resolved(sentence: Sentence, before: Sentence | None) -> str:
    """`It absorbs …` with its subject put in, when the sentence just before defines exactly that subject; else as it was."""
    if before is None or before.block != sentence.block:
        return sentence.text
    pronoun = _IT.match(sentence.text)
    if pronoun is None or _EXPLETIVE.match(sentence.text):
        return sentence.text
    if before.quote.startswith("**") and re.match(r"\w+ (?:is|was|are|were) the\b", sentence.text):
        return sentence.text
    found = _subject_before(before)
    if found is None or found[1] != (pronoun["pronoun"] == "They"):
        return sentence.text
    return found[0] + sentence.text[len(pronoun["pronoun"]) :]


def from_term(text: str, cues: Cues, language: str) -> str | None:
    """The statement in a list item of the form `Term: what it does`, or None when there is none."""
    match = _TERM.match(text)
    if match is None or _LABEL.match(match["term"]):
        return None
    term, rest = match["term"].strip(), match["rest"].strip()
    if len(term.split()) > 5:
        return None
    first = rest.split(" ", 1)[0].lower()
    if language == "en" and rest[:1].islower() and third_person_verb(first):
        return ended(f"{term} {rest}", language)
    if (
        language == "en"
        and _NOUN_PHRASE.match(rest)
        and not has_finite_verb(tokens(_HEAD_END.split(rest)[0]))
        and not re.search(r"(?:[^sui]s|ata|eria|ae|[^aeou]i)$", term)
    ):
        return ended(f"{term} is {rest[0].lower()}{rest[1:]}", language)
    whole = ended(capitalised(rest), language)
    if why_not(whole, cues, language, bullet=True) is None and len(content_words(rest, language)) >= 4:
        return whole if term.lower() in rest.lower() else f"{term}: {rest}"
    return None


def _theirs(claim: str) -> str:
    """`your house` said to the learner → `the learner's house`."""
    return _YOURS.sub(lambda match: "The learner's" if match["your"] == "Y" else "the learner's", claim)


def fact_in(sentence: Sentence, before: Sentence | None, cues: Cues, language: str) -> str | None:
    """The claim that a sentence of an assistant makes, or None."""
    text = resolved(sentence, before) if language == "en" else sentence.text
    claim = stripped(text, cues)
    if sentence.bullet:
        from_item = from_term(claim, cues, language)
        if from_item is not None:
            claim = from_item
        elif not _FULL_STOP.search(claim) and len(claim.split()) < 6 and language not in {"ja", "zh"}:
            return None
    named = sentence.quote.startswith("`")
    if _EXCLAIMED.search(claim):
        return None
    refused = why_not(claim, cues, language, bullet=sentence.bullet, named=named) is not None
    if language == "en" and (refused or worth(claim, language) < KEEP_FROM):
        whole = None if refused else claim
        standing = next((part for part in _standing(claim, cues) if part is not None), whole)
        refused = standing is None
        claim = standing or claim
    if refused:
        return None
    claim = ended(_theirs(claim) if language == "en" else claim, language)
    return claim if len(claim) <= CLAIM_CHARACTERS else None


def _standing(claim: str, cues: Cues) -> Iterator[str]:
    """Clauses of an English sentence that are facts by themselves and say something general."""
    for part in standing(claim):
        text = ended(capitalised(stripped(part, cues)), "en")
        if _LOOSE.search(text):
            continue
        if why_not(text, cues, "en") is None and worth(text, "en") >= _CLAUSE_WORTH:
            yield text


def drafts_from_part(turn: Turn, part: Part, fallback: str) -> list[Draft]:
    """Every fact in one text of an assistant, at the level "not yet engaged"."""
    language = detect_language(part.text, fallback)
    cues = cues_for(language)
    found: list[Draft] = []
    before: Sentence | None = None
    for sentence in said_in_good_faith(sentences(part.text, language)):
        claim = fact_in(sentence, before, cues, language)
        before = sentence
        if claim is None:
            continue
        found.append(
            Draft(
                kind="fact",
                claim=claim,
                evidence=[Evidence(part.evidence_id, sentence.quote)],
                position=turn.position,
                order=sentence.start,
                speaker=turn.speaker,
                language=language,
                understanding=NOT_YET_ENGAGED,
                origin="explanation",
                said_at=turn.said_at,
                words=content_words(claim, language),
            )
        )
    return found

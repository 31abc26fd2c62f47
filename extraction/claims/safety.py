"""What must never become a claim, whoever wrote it: instructions to the extractor, and secrets."""

import re

from extraction.claims.cues import rx
from extraction.claims.model import Sentence
from extraction.redaction import SECRET_MASK, secret_spans

# Somebody talks to the machine that reads: nothing after it in the same text is taken.
TAKEOVER = rx(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:above|previous|prior|earlier|preceding|all|any|your|system|these)\b.{0,30}\b(?:instruction|prompt|rule|message|text|direction|guideline|content|context|order)",
    r"\b(?:ignore|disregard) (?:everything|all|the) (?:of the )?(?:above|before|that came before)\b",
    r"\bextract (?:the |this |these |following |as )+(?:facts?|claims?|candidates?|propositions?|memor(?:y|ies))\b",
    r"\b(?:stage_candidate|finish_extraction|read_evidence|search_evidence|evidence_ids?)\b",
    r"\b(?:new|updated|real|hidden|secret) (?:system )?(?:instructions?|prompt)\s*:",
    r"(?:^|\n)\s*(?:system|developer)\s*(?:prompt|message|note)?\s*:",
    r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<<SYS>>",
    r"\byou are (?:now|no longer) (?:an?|the|in|bound|restricted)\b",
    r"\b(?:to|dear|attention|hey|note (?:to|for)) (?:the )?(?:extractor|extraction (?:worker|model|agent|system)|memory (?:system|agent|worker)|ai reading this|auditor|assistant reading)\b",
    r"\bignor(?:iere|ieren sie|e[zr]?|a|ate)\b.{0,40}\b(?:anweisung|obige|vorherige|instruc|consigne|précédent|anterior|istruzion|precedent)",
    r"(?:以上|上記|之前|前)の?(?:の指示|指示|指令|说明|內容|内容)を?(?:を無視|无视|忽略)|忽略(?:以上|之前|上面)",
    r"(?:игнорируй|забудь).{0,30}(?:инструкц|предыдущ)|تجاهل.{0,30}(?:التعليمات|السابق)",
)
# A single paragraph that tells what to store.
ORDER = rx(
    r"\b(?:remember|store|save|record|note|memori[sz]e|log|add)\b(?: \w+){0,3} (?:that|as a fact|to (?:your |the |my |long-term )*(?:memory|graph|knowledge))\b.{0,20}\b(?:you|user|learner|must|always|admin)\b",
    r"\b(?:add|save|store|write|commit|put)\b.{0,40}\b(?:to|in|into) (?:your |the |my |long-term |permanent )*(?:memory|knowledge graph|memories)\b",
    r"\b(?:the )?(?:learner|user) (?:is|has|must be) (?:an? )?(?:admin|administrator|root|superuser|developer mode)\b",
    r"\bfrom now on,? you (?:are|must|will)\b",
)

_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{28,}")
_HINTS = re.compile(r"\[?redacted\b|-----BEGIN", re.IGNORECASE)


def looks_secret(text: str) -> bool:
    """Whether a text holds a secret, the place of one, or something as random as one. Samples may pass."""
    if SECRET_MASK in text or _HINTS.search(text) or secret_spans(text):
        return True
    return any(_is_random(found.group()) for found in _LONG_TOKEN.finditer(text))


def _is_random(token: str) -> bool:
    """A long run that mixes cases and digits, as keys do and words do not."""
    kinds = (r"[a-z]", r"[A-Z]", r"\d")
    return all(re.search(kind, token) for kind in kinds) and len(re.findall(r"\d", token)) >= 4


def said_in_good_faith(found: list[Sentence]) -> list[Sentence]:
    """The sentences of one text up to a takeover, without the paragraphs that give orders to the memory."""
    kept: list[Sentence] = []
    for sentence in found:
        if TAKEOVER.search(sentence.text) or TAKEOVER.search(sentence.quote):
            kept = [earlier for earlier in kept if earlier.paragraph != sentence.paragraph]
            break
        kept.append(sentence)
    ordered = {sentence.paragraph for sentence in kept if ORDER.search(sentence.text)}
    return [sentence for sentence in kept if sentence.paragraph not in ordered]

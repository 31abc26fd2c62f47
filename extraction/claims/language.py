"""Which language a text is in: by script first, by counting very common words for the Latin script. No model, no download."""

import re
import unicodedata

from extraction.claims.segment import hide

# The commonest short words of each language; what several share counts for each of them.
COMMON_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": """a an i i'm it's like no just the and of to in is that it for was on are as with they be at this have from or by not what all were we
            when your can there an which their if will how about then them would so into has more two does why i you my
            but do don't me""",
        "de": """der die das und ist nicht ein eine einen einem einer den dem des zu mit sich auf für von im es auch als
            an wie wird werden aus bei nach oder aber ich du wir sie hat haben sind war noch nur kann dass weil wenn
            über durch zum zur man mein was""",
        "es": """el la los las de que y en un una es por con para del se no al lo como más pero sus su este esta está son
            entre cuando muy sin sobre también me hasta hay donde han yo porque qué ser tiene mi si cada""",
        "fr": """le la les de des et est un une du en que qui dans pour pas au sur se ce il elle ne par plus avec sont
            son sa ses mais nous vous je ou où cette aux leur été être ont comme donc c'est d'une l'eau mon très entre""",
        "pt": """o a os as de que e do da em um uma é para com não no na se por mais dos das como mas ao ele eu sua seu
            são quando muito nos já está também só pelo pela até isso entre era tem ser você meu porque cada""",
        "it": """il lo la i gli le di che e un una è per non in con si da del della dei delle al alla come più ma sono
            anche nel nella su questo questa ha ho se perché molto io mio quando tra ogni essere viene cosa""",
        "nl": """de het een en van is in dat op te zijn met voor niet aan er ook als bij maar om uit nog wordt door naar
            heeft ik je we deze dan kan worden hun over geen wat""",
    }.items()
}

_SAYING: dict[str, list[str]] = {}
"""Word → the languages in which it is common."""
for _code, _common in COMMON_WORDS.items():
    for _word in _common:
        _SAYING.setdefault(_word, []).append(_code)

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_ANY_SCRIPT = re.compile(f"[{''.join(pattern.pattern[1:-1] for _, pattern in _SCRIPTS)}]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[a-z\u00df-\u024f]+(?:['’][a-z]+)?")
# A text of few words is in the conversation's language unless another one is clearly ahead.
_FEW = 40
_CLEARLY = 2
UNSPACED = frozenset({"ja", "zh", "th"})


def _by_script(text: str) -> str | None:
    """The language of a non-Latin script that fills enough of the text; None for Latin or too little of anything."""
    if text.isascii() or not _ANY_SCRIPT.search(text):
        return None
    counts = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS}
    latin = len(_LATIN.findall(text))
    kana, han = counts["ja"], counts["zh"]
    if kana + han > 0 and (kana + han) * 3 > latin:
        return "ja" if kana * 12 > han else "zh"
    code = max(counts, key=lambda name: (counts[name], name))
    if counts[code] >= 3 and counts[code] * 2 > latin:
        return code
    return None


def detect_language(text: str, fallback: str = "und") -> str:
    """The code of the text's main language (`en`, `de`, `ja`, …), or the fallback when too little speaks for any."""
    sample = hide(text[:6000])  # code is in no language
    by_script = _by_script(sample)
    if by_script is not None:
        return by_script
    words = _WORD.findall(unicodedata.normalize("NFC", sample).lower())
    scores = dict.fromkeys(COMMON_WORDS, 0)
    for word in words:
        for code in _SAYING.get(word, ()):
            scores[code] += 1
    ranked = sorted(scores, key=lambda code: (-scores[code], code))
    best, second = ranked[0], ranked[1]
    needed = min(2, 1 + len(words) // 8) if len(words) < _FEW else len(words) // 20
    close = fallback in scores and scores[fallback] * _CLEARLY > scores[best] > 0 and len(words) < _FEW
    if scores[best] < needed or close or (scores[best] == scores[second] and fallback in (best, second)):
        return fallback if fallback != "und" or scores["en"] < max(needed, scores[best]) else "en"
    return best

"""An enrichment by counting: how much there is to read, in which language, and the words that stand out."""

import re
from collections.abc import Mapping
from typing import Any

from .base import Made, Method, Option, Source
from .models import OutputKind
from .sentences import sentences

WORDS_A_MINUTE = 238
"""Silent reading of English prose, the mean of Brysbaert 2019; languages differ by a few tens."""
SIGNS_A_MINUTE = 255
"""Of Chinese and Japanese, whose words are not parted by spaces."""
STOP_WORDS = frozenset(
    "ar bg br cz da de el en es et fa fi fr hi hr hu hy id it ja lt lv nl no pl pt ro ru sk sl sv tr uk zh".split()
)
"""Languages whose stop words the library has; it must be asked for no other."""
KEYWORDS_READ = 200_000
"""Characters from the beginning in which keywords are looked for; the time grows faster than the text."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
LONGEST_WORD = 200
"""Characters. In longer runs without white space (data, keys, lines of numbers) the library gives up on the text."""
_RUN = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class Statistics(Method):
    """Counts, reading time, language, and keywords by YAKE (statistics of the text itself; no model)."""

    kind = OutputKind.ENRICHMENT
    name = "statistics"
    version = "1"
    label = "Keywords and statistics"
    options = {"keywords": Option(12, "The most keywords.", least=0, most=100)}

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        text = source.text
        signs = len(_UNSPACED.findall(text))
        words = sum(1 for word in _WORD.finditer(text) if not _UNSPACED.match(word.group()))
        source.checkpoint()
        found = sum(1 for _ in sentences(text, source.language))
        minutes = words / WORDS_A_MINUTE + signs / SIGNS_A_MINUTE
        source.checkpoint()
        counts = {
            "characters": len(text),
            "words": words,
            "unspaced_signs": signs,
            "sentences": found,
            "paragraphs": sum(1 for block in re.split(r"\n\s*\n", text) if block.strip()),
            "pages": len({page for row in source.segments if (page := _page(row)) is not None}),
        }
        content = {
            "language": source.language,
            "reading_minutes": round(minutes, 1),
            "keywords": keywords(text[:KEYWORDS_READ], source.language, options["keywords"]),
            **counts,
        }
        return Made(content=content, counts=counts)


def _page(row: Mapping[str, Any]) -> int | None:
    return (row.get("source_origin") or {}).get("page")


def keywords(text: str, language: str, count: int) -> list[dict[str, Any]]:
    """The words and short phrases that stand out, best first: [{"keyword", "score"}]; a lower score stands out more."""
    from yake_rust import Yake

    if not count:
        return []
    if language == "und":
        language = "en"
    yake = Yake(language=language, ngrams=3) if language in STOP_WORDS else Yake(stopwords=set(), ngrams=3)
    ranked = yake.get_n_best(_RUN.sub(_in_words, text), n=count)
    return [{"keyword": word, "score": round(score, 6)} for word, score in ranked]


def _in_words(run: re.Match[str]) -> str:
    """The words of a long run, parted by spaces; what is longer than a word can be is left out, or cut where a script has
    no spaces."""
    kept = []
    for word in re.findall(r"[^\W_]+", run.group()):
        if len(word) <= LONGEST_WORD:
            kept.append(word)
        elif _UNSPACED.search(word):
            kept += [word[start : start + LONGEST_WORD] for start in range(0, len(word), LONGEST_WORD)]
    return " ".join(kept)

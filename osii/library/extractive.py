"""A synthesis without a model: the document's own sentences that say most of what the others say."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .base import Made, Method, Option, OutputFailed, Source
from .models import OutputKind
from .sentences import Sentence, sentences

MOST_SENTENCES = 3000
"""So many are compared with each other (36 MB); of a longer text they are taken evenly from its whole length."""
DAMPING = 0.85
ROUNDS = 60
SHORTEST, LONGEST = 25, 600
TOO_ALIKE = 0.6
_LINE = re.compile(r"[^\s|][^\n\f]*[^\s|]")
_WORD = re.compile(r"\w{2,}")


class Extractive(Method):
    """LexRank: sentences are ranked by a walk over how alike they are (tf-idf cosine), near repeats left out.

    Of a text without a whole sentence, a table or a list of short entries, the lines take their place.
    """

    kind = OutputKind.SYNTHESIS
    name = "extractive"
    version = "1"
    label = "Key sentences (offline)"
    options = {"sentences": Option(5, "The most sentences.", least=1, most=50)}

    def make(self, source: Source, options: Mapping[str, Any]) -> Made:
        source.checkpoint()
        found = [one for one in sentences(source.text, source.language) if SHORTEST <= len(one.text) <= LONGEST]
        found = found or list(_lines(source.text))
        if not found:
            raise OutputFailed("no_sentences", "the text has neither a sentence nor a line to choose from")
        compared = found[:: -(-len(found) // MOST_SENTENCES)]
        source.checkpoint()
        best = _best(compared, options["sentences"])
        lines = [one.line for one in best]
        spans = [{"char_start": one.start, "char_end": one.end, "text": one.text} for one in best]
        return Made(
            text="\n".join(lines) + "\n",
            content={"sentences": spans, "language": source.language},
            counts={"sentences": len(best), "of": len(found), "compared": len(compared)},
        )


def _lines(text: str) -> Iterator[Sentence]:
    for match in _LINE.finditer(text):
        start, end = match.span()
        end = min(end, start + LONGEST)
        yield Sentence(start, end, text[start:end])


def _best(found: Sequence[Sentence], wanted: int) -> list[Sentence]:
    """The ``wanted`` best sentences, in the order of the text."""
    alike = _likeness(found)
    scores = _walk(alike)
    chosen: list[int] = []
    for index in np.argsort(-scores, kind="stable"):
        if len(chosen) == wanted:
            break
        if all(alike[index, other] < TOO_ALIKE for other in chosen):
            chosen.append(int(index))
    return [found[index] for index in sorted(chosen)]


def _likeness(found: Sequence[Sentence]) -> np.ndarray:
    """Cosine of the sentences' tf-idf vectors, (n, n) float32."""
    bags = [Counter(word.casefold() for word in _WORD.findall(one.text)) for one in found]
    frequency = Counter(word for bag in bags for word in bag)
    # A word of one sentence only compares with nothing, but it lengthens its sentence's vector.
    shared = {word: column for column, word in enumerate(word for word, count in frequency.items() if count > 1)}
    idf = {word: np.log(1 + len(bags) / count) for word, count in frequency.items()}
    rows = np.zeros((len(bags), max(len(shared), 1)), dtype=np.float32)
    norms = np.ones(len(bags), dtype=np.float32)
    for index, bag in enumerate(bags):
        weights = {word: count * idf[word] for word, count in bag.items()}
        norms[index] = np.sqrt(sum(weight**2 for weight in weights.values())) or 1
        for word in weights.keys() & shared.keys():
            rows[index, shared[word]] = weights[word] / norms[index]
    alike = rows @ rows.T
    np.fill_diagonal(alike, 1)
    return alike


def _walk(alike: np.ndarray) -> np.ndarray:
    """How often a reader who goes from sentence to like sentence is at each, (n,)."""
    count = len(alike)
    steps = alike / alike.sum(axis=1, keepdims=True)
    scores = np.full(count, 1 / count, dtype=np.float32)
    for _ in range(ROUNDS):
        following = (1 - DAMPING) / count + DAMPING * (scores @ steps)
        if np.abs(following - scores).sum() < 1e-6:
            break
        scores = following
    return scores

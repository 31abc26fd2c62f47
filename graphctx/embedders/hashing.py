"""Vectors without a model: hashed words and character trigrams.

For tests and for machines where no model can be installed. It finds shared words and word stems and knows nothing of
meaning; everything around it (spaces, scan, selection, steers) behaves as with a model.
"""

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .base import TEXT, Embedder, EmbedderSpec

DIMENSION = 256
MAX_WORDS = 2048
WORD = re.compile(r"\w+")
PLACES = 8
"""Places per feature: spread out, two features that collide in one place do not look alike."""

WORD_WEIGHT = 1.0
SHORT_WORD_WEIGHT = 0.3
SHORT_WORD = 3
"""Words of up to three letters are mostly grammar, in most languages that part words by spaces."""

TRIGRAM_WEIGHT = 0.5
"""Below the weight of the whole word: related forms come near each other, and the same word stays nearest."""


class HashingEmbedder(Embedder):
    spec = EmbedderSpec(
        name="hashing",
        provider="builtin",
        model="hashed-words",
        revision="1",
        runtime="numpy/float32",
        dimension=DIMENSION,
        query_format=TEXT,
        document_format=TEXT,
        max_tokens=MAX_WORDS,
    )

    def _encode(self, texts: list[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), DIMENSION))
        for row, text in zip(vectors, texts, strict=True):
            for (feature, weight), count in Counter(_features(text)).items():
                places, signs = _direction(feature)
                # Places of one feature may coincide; then both signs count.
                np.add.at(row, places, signs * (weight * (1 + math.log(count))))
        return vectors.astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    # A text of signs alone still is itself: it becomes one feature. An empty text has none, and so no vector.
    for word in WORD.findall(folded)[:MAX_WORDS] or folded.split():
        short = len(word) <= SHORT_WORD and word.isascii()
        yield f"w:{word}", SHORT_WORD_WEIGHT if short else WORD_WEIGHT
        if not short:
            padded = f"^{word}$"
            for start in range(len(padded) - 2):
                yield f"t:{padded[start : start + 3]}", TRIGRAM_WEIGHT


@lru_cache(maxsize=65536)
def _direction(feature: str) -> tuple[np.ndarray, np.ndarray]:
    digest = hashlib.blake2b(feature.encode(), digest_size=2 * PLACES).digest()
    numbers = np.frombuffer(digest, dtype="<u2")
    return (numbers % DIMENSION).astype(np.intp), np.where(numbers >> 15, 1.0, -1.0)

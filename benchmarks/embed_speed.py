"""The configured embedder beside plain SentenceTransformer.encode on the same model, and the model's passes alone."""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphctx.embedders.local_model import BATCH, LocalModel
from graphctx.embedding import get_embedder

from . import onnx_rival
from .import_speed import WORDS
from .measure import Case, compare, median_ratio, once, spread, take_turns
from .result import MORE, Result, Target
from .scan_real import sentences

SIZES = {12: 5, 120: 5}  # texts: rounds
PLAIN = "plain SentenceTransformer.encode"
AT_ONCE = 128
NEAREST = 10
LABELLED = Path(__file__).with_name("retrieval.toml")
QUALITY = Path(__file__).resolve().parents[1] / "tests" / "quality"
LEAST = 0.95
"""Of plain encode's throughput."""


def run() -> list[Result]:
    embedder = get_embedder()
    if not isinstance(embedder, LocalModel):
        raise RuntimeError(f"{embedder.spec.name} runs no model in this process: set OSII_EMBEDDER=minilm")
    embedder.warm()
    queries = compare("embedding", {1: 30}, _query_case)
    return [*compare("embedding", SIZES, _case, unit="texts/s"), *queries, *_retrieval(embedder)]


def texts(count: int) -> list[str]:
    """Of very different lengths, as the claims and chunks of a library are: every fourth has 40 to 160 words."""
    words = random.Random(count)
    plain = sentences(count)
    return [
        text if number % 4 else " ".join(words.choices(WORDS, k=words.randint(40, 160)))
        for number, text in enumerate(plain)
    ]


def plain_encode(embedder: LocalModel, given: list[str]) -> np.ndarray:
    return embedder.model.encode(
        given, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )


def passes(embedder: LocalModel, given: list[str]) -> Callable[[], None]:
    """The model's passes over tokens that are there already, each batch of texts that are alike in length."""
    import torch

    model = embedder.model
    ordered = sorted(given, key=len, reverse=True)
    tokens = [model.preprocess(ordered[start : start + BATCH]) for start in range(0, len(ordered), BATCH)]

    def forward() -> None:
        with torch.inference_mode():
            for features in tokens:
                model(features)

    return forward


def _case(count: int) -> Case:
    embedder, given = get_embedder(), texts(count)
    if np.abs(embedder.embed_documents(given) - plain_encode(embedder, given)).max() > 1e-4:
        raise RuntimeError("the vectors are not those of plain encode: the embedding benchmark is void")
    return Case(
        ours=lambda: embedder.embed_documents(given),
        limit=("the model's passes alone", passes(embedder, given)),
        rivals={PLAIN: lambda: plain_encode(embedder, given)},
        amount=count,
        name=f"{count} texts by {embedder.spec.name}",
        target=Target(LEAST, MORE, of_rival=True),
    )


def _query_case(_count: int) -> Case:
    embedder, given = get_embedder(), "How do the tides come about, and why are some of them higher?"
    return Case(
        ours=lambda: embedder.embed_query(given),
        limit=("the model's pass alone", passes(embedder, [given])),
        rivals={PLAIN: lambda: plain_encode(embedder, [given])},
        name="one query",
    )


def _retrieval(embedder: LocalModel) -> list[Result]:
    """How well each runtime finds the statement that answers a question, and how fast it is."""
    pairs = [pair for topic in tomllib.loads(LABELLED.read_text("utf-8"))["topic"] for pair in topic["pairs"]]
    questions, answers = ([pair[side] for pair in pairs] for side in (0, 1))
    statements = answers + _said()
    runtimes = {f"ours, {embedder.spec.name}": embedder.embed_documents, **onnx_rival.runtimes(embedder)}
    first, *_ = runtimes
    times = take_turns(
        {name: lambda encode=encode: encode(statements[:AT_ONCE]) for name, encode in runtimes.items()}, rounds=3
    )
    rates = {name: [AT_ONCE / taken * 1000 for taken in values] for name, values in times.items()}
    results = []
    made = {name: encode(statements) for name, encode in runtimes.items()}
    nearest: dict[str, np.ndarray] = {}
    for name, encode in runtimes.items():
        similar = encode(questions) @ made[name].T
        ranks = np.array([(row > row[place]).sum() + 1 for place, row in enumerate(similar)])
        nearest[name] = np.argsort(-similar, axis=1, kind="stable")[:, :NEAREST]
        more = (
            {} if name == first else {"beside": f"{first}: sentences", "ratio": median_ratio(rates[name], rates[first])}
        )
        what = f"{len(questions)} questions, {len(statements)} sentences"
        results += [
            Result("embedding", f"{name}: sentences", "texts/s", **spread(rates[name]), **more),
            Result("embedding", f"{name}: answer found first, {what}", "%", **once(100 * float((ranks == 1).mean()))),
            Result("embedding", f"{name}: answer among the first 3", "%", **once(100 * float((ranks <= 3).mean()))),
            Result("embedding", f"{name}: answer among the first 5", "%", **once(100 * float((ranks <= 5).mean()))),
            Result("embedding", f"{name}: mean reciprocal rank", "%", **once(100 * float((1 / ranks).mean()))),
        ]
        if name != first:
            cosines = (made[name] * made[first]).sum(axis=1)
            shared = [len(set(row) & set(other)) for row, other in zip(nearest[name], nearest[first], strict=True)]
            results += [
                Result("embedding", f"{name}: cosine to {first}", "%", **spread((100 * cosines).tolist())),
                Result("embedding", f"{name}: the least of them", "%", **once(100 * float(cosines.min()))),
                Result(
                    "embedding", f"{name}: of the {NEAREST} nearest to a question, the same", "%",
                    **once(100 * float(np.mean(shared)) / nearest[first].shape[1]),
                ),
            ]  # fmt: skip
    return results


def _said() -> list[str]:
    """Sentences from the chats of the quality set, where it is there: what else a search could find."""
    sentences: list[str] = []
    for path in sorted(QUALITY.glob("*/*.toml")):
        for turn in tomllib.loads(path.read_text("utf-8")).get("said", []):
            text = " ".join(turn.get(role) or "" for role in ("user", "assistant")).replace("\n", " ")
            sentences += [f"{part.strip()}." for part in text.split(". ") if 30 < len(part) < 300]
    return sentences

"""All benchmarks: what each measures, beside which rival and which limit, and how long that takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .record import FULL
from .result import Result

Run = Callable[[], list[Result]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """``rival`` is another way to the same end, ``limit`` the least that any way must do. Seconds are those of two cores with
    nothing else to do.
    """

    name: str
    what: str
    rival: str
    limit: str
    quick: Run
    quick_seconds: int
    full: Run
    full_seconds: int

    def run(self, part: str) -> list[Result]:
        return (self.full if part == FULL else self.quick)()

    def seconds(self, part: str) -> int:
        return self.full_seconds if part == FULL else self.quick_seconds

    def to_dict(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("name", "what", "rival", "limit", "quick_seconds", "full_seconds")
        }


def registry() -> dict[str, Benchmark]:
    """By name, in the order in which they run. Each makes what it needs in the scratch database and returns its rows."""
    found = (*_chats(), *_graph(), *_library(), *_servers())
    return {benchmark.name: benchmark for benchmark in found}


def _of(name: str, module: Any, seconds: tuple[int, int], what: str, rival: str, limit: str) -> Benchmark:
    """A module has ``run``, or ``run_quick`` and ``run_full`` where the sizes differ."""
    quick = getattr(module, "run_quick", None) or module.run
    full = getattr(module, "run_full", None) or module.run
    return Benchmark(name, what, rival, limit, quick, seconds[0], full, seconds[1])


def _chats() -> tuple[Benchmark, ...]:
    from . import batch_speed, diff_speed, environment_speed, import_size, import_speed, rereading, tools_speed

    return (
        _of("import", import_speed, (30, 30), "importing a ChatGPT export",
            "the rows alone, by bulk_create", "json.loads of the file; COPY of the rows"),
        _of("import-size", import_size, (12, 700), "memory of a process that imports a large file",
            "json.loads of the whole file", "300 MB, of which the program is 100"),
        _of("rereading", rereading, (8, 8), "tokens read while a chat grows",
            "the whole chat at each trigger", "each token once"),
        _of("diff", diff_speed, (13, 100), "the state of every message of a chat",
            "a loop over the ledger and the rows", "reading the rows once"),
        _of("batches", batch_speed, (8, 60), "planning the next batch of a chat",
            "from the whole diff", "reading the rows of the batch"),
        _of("environment", environment_speed, (3, 3), "building a batch's reference environment",
            "the messages as JSON, nothing covered", "reading the rows once"),
        _of("tools", tools_speed, (3, 3), "each of the four tools of the extract worker",
            "a regular expression; writing the row alone", "one look at all texts; one round trip"),
    )  # fmt: skip


def _graph() -> tuple[Benchmark, ...]:
    from . import context_speed, embed_speed, index_speed, merge_speed, scan_speed

    return (
        _of("embedding", embed_speed, (60, 60), "texts to vectors by the configured model",
            "plain SentenceTransformer.encode", "the model's passes alone"),
        _of("scan", scan_speed, (55, 700), "the nearest propositions, exactly and by index",
            "numpy, pgvector, faiss where it is installed", "reading the matrix once"),
        _of("index", index_speed, (12, 1200), "our exact scan beside pgvector's HNSW, on a model's vectors",
            "pgvector, sequential and by its index", "reading the rows once"),
        _of("context", context_speed, (55, 55), "from the topic to the steer that waits",
            "the stages by themselves", "embedding the topic and one scan"),
        _of("merge", merge_speed, (55, 55), "merging one candidate into a large graph",
            "writing a proposition with its evidence, undecided", "one round trip"),
    )  # fmt: skip


def _library() -> tuple[Benchmark, ...]:
    from . import (
        chunk_speed,
        extractor_speed,
        intake_speed,
        many_chats,
        many_documents,
        plan_speed,
        promote_speed,
        search_speed,
    )

    return (
        _of("chunking", chunk_speed, (3, 3), "cutting a text into chunks",
            "semantic-text-splitter alone", "reading its words once"),
        _of("extractors", extractor_speed, (35, 35), "reading files",
            "the library that each uses, or a rival of it, alone", "reading the bytes"),
        _of("intake", intake_speed, (16, 150), "adding and extracting files one by one, the first and the last",
            "the first ones", "writing the bytes once"),
        _of("promote", promote_speed, (8, 8), "moving the primary of a document of 1,000 chunks",
            "its update in the database alone", "one commit"),
        _of("plan", plan_speed, (20, 120), "what a run over the library would do",
            "the plan of a tenth of the documents", "reading every document's row"),
        _of("documents", many_documents, (57, 100), "the pages of a large library",
            "the same pages of a tenth of the documents", "an empty answer"),
        _of("chats", many_chats, (53, 270), "the pages over many chats",
            "the same pages of a tenth of the chats", "an empty answer"),
        _of("search", search_speed, (40, 400), "searching chunks by words, by meaning and by both",
            "the same search of a tenth of the chunks", "one round trip"),
    )  # fmt: skip


def _servers() -> tuple[Benchmark, ...]:
    from . import queue_speed, upsert_speed

    return (
        _of("upsert", upsert_speed, (15, 15), "storing messages over the HTTP API",
            "the service alone, in this process", "a request that does nothing"),
        _of("queue", queue_speed, (38, 38), "what the queue adds to a batch",
            "an empty job through RQ", "one round trip to Redis and one commit"),
    )  # fmt: skip

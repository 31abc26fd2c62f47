"""One measured heavy load: everything at once, until the documents are done; then draining, proof and figures."""

import argparse
import os
import threading
import time
from typing import Any

import psutil

from benchmarks.measure import percentile

from .client import Client, Meter
from .heavy import PARTS, Chatter, Reader, Scales, long_chats, write_documents
from .memory import lost
from .rounds import Rounds

STATES = "SELECT status, count(*) FROM osii_processingitem WHERE run_id = %s GROUP BY status"
ENDED = ("succeeded", "failed", "cancelled", "blocked")


def weigh(rounds: Rounds, given: argparse.Namespace) -> tuple[Meter, Scales, dict[str, Any], list[str]]:
    """Run it; (calls and pages, memory, figures, what is wrong)."""
    installation, meter, stop = rounds.installation, Meter(), threading.Event()
    address = f"http://127.0.0.1:{installation.port}"
    api = Client(address, rounds.token, Meter(), 120)
    documents = installation.inbox / "notes"
    documents.mkdir()
    write_documents(documents, given.documents, given.seed)
    chats = long_chats(api, given.runs, given.seed)
    chatters = [Chatter(address, rounds.token, meter, f"{given.seed}-{n}") for n in range(given.clients)]
    readers = [Reader(installation.port, meter, f"{given.seed}-{n}") for n in range(given.readers)]
    scales = Scales(installation)
    threads = [threading.Thread(target=one.run, args=(stop, given.think), daemon=True) for one in (*chatters, *readers)]
    sampler = threading.Thread(target=scales.run, args=(stop,), daemon=True)

    begun, load_before = time.monotonic(), os.getloadavg()[0]
    for chat in chats:
        assert api.call("POST", f"/chats/{chat}/extract", {"mode": "rest"}, "extract").good
    operations = {"run_extraction": True, "build_chunks": True, "build_embeddings": True, "synthesizer_name": "default"}
    intake = api.call("POST", "/runs", {"workflow": "intake", "queue_paths": [str(documents)], **operations}, "intake")
    assert intake.good, intake.body
    for thread in (*threads, sampler):
        thread.start()
    rounds.tell(f"{given.clients} clients, {given.runs} runs and {given.documents} documents are under way")
    states = _wait(rounds, intake.body["id"], begun + given.most)
    processed = time.monotonic() - begun
    stop.set()
    for thread in threads:
        thread.join(180)
    wrong = rounds.drain(max(600.0, given.most))
    figures = {
        "documents": states, "seconds of documents": round(processed), "seconds of draining": round(
            time.monotonic() - begun - processed
        ), "load before": round(load_before, 1), "cores": os.cpu_count(),
        "memory of the machine": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
    }  # fmt: skip
    wrong += [f"refused: {line}" for line in meter.strange]
    wrong += [f"{count} answers of {kind} were {status}" for kind, by in meter.statuses.items()
              for status, count in by.items() if not 200 <= status < 300]  # fmt: skip
    wrong += lost([one.memory for one in chatters], installation.rows)
    wrong += [f"{room}: {line}" for room, lines in rounds.violations().items() for line in lines]
    after = dict(installation.rows(STATES, [intake.body["id"]]))
    figures["documents at the end"] = after
    if after != {"succeeded": given.documents}:
        wrong.append(f"of {given.documents} documents: {after}")
    unread = installation.rows(
        "SELECT count(*) FROM extraction_run r WHERE chat_id = ANY(%s::uuid[]) AND status <> 'succeeded'", [chats]
    )
    if unread != [(0,)]:
        wrong.append(f"{unread[0][0]} runs of the long chats did not succeed")
    return meter, scales, figures, wrong


def _wait(rounds: Rounds, run: str, until: float) -> dict[str, int]:
    """Until the documents are done, or the time is over."""
    told = 0.0
    while True:
        states = dict(rounds.installation.rows(STATES, [run]))
        if time.monotonic() - told > 30:
            rounds.tell(f"documents: {states}")
            told = time.monotonic()
        if time.monotonic() > until or (states and not set(states) - set(ENDED)):
            return states
        time.sleep(1)


def report(meter: Meter, scales: Scales, figures: dict[str, Any], wrong: list[str]) -> tuple[list[str], list[str]]:
    """(what is wrong, lines to print)."""
    lines = [f"{name}: {value}" for name, value in figures.items()]
    lines += ["", f"{'call or page':28} {'answers':>8} {'median':>8} {'p95':>8} {'most':>8}  (ms)"]
    for kind, seconds in sorted(meter.seconds.items()):
        values = [1000 * one for one in seconds]
        row = (percentile(values, 50), percentile(values, 95), max(values))
        lines.append(f"{kind:28} {len(values):8} " + " ".join(f"{value:8.0f}" for value in row))
    for name, wanted in (("all calls", False), ("all pages", True)):
        values = [1000 * v for k, vs in meter.seconds.items() if k.startswith("page") == wanted for v in vs]
        if values:
            row = (percentile(values, 50), percentile(values, 95), max(values))
            lines.append(f"{name:28} {len(values):8} " + " ".join(f"{value:8.0f}" for value in row))
    lines += ["", f"{'memory of':28} {'early':>8} {'late':>8} {'most':>8}  (MB, proportional)"]
    for part in PARTS:
        if scales.samples[part]:
            lines.append(f"{part:28} " + " ".join(f"{value:8.0f}" for value in scales.grown(part)))
    lines += [
        "",
        *(f"no answer: {line}" for line in meter.silences[:50]),
        *(f"WRONG {line}" for line in wrong[:50]),
        f"{len(wrong)} wrong" if wrong else "No error, nothing lost.",
    ]
    return wrong, lines

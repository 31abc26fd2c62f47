"""Each of the extract worker's four tools over one stored environment, beside the least that can answer."""

import itertools
import re
from uuid import uuid4

from django.db import connection, transaction

from coverage.models import Chat
from extraction.exploring import environment
from extraction.exploring.staging import BatchStaging, claim_identity
from extraction.exploring.tools import ExploreTools
from extraction.models import Batch, Candidate, Run

from .environment_speed import chat_of, messages_of
from .measure import Case, compare
from .result import Result

SIZES = {20: 60, 200: 30}  # messages in the environment: rounds
QUERY = "moon case"


def run() -> list[Result]:
    results: list[Result] = []
    for tool in (_search, _read, _stage, _finish):
        results += compare("tools", SIZES, lambda count, tool=tool: tool(*_environment(count)))
    return results


def _environment(count: int) -> tuple[Batch, dict, str]:
    chat = chat_of(count)
    messages = messages_of(chat)
    content = environment.build(chat, messages)
    batch = _batch(chat, len(messages))
    return batch, content, f"over {len(content['evidence'])} entries"


def _batch(chat: Chat, count: int) -> Batch:
    run = Run.objects.create(chat=chat, mode="rest", worker="rules", status="succeeded")
    return Batch.objects.create(
        chat=chat, run=run, attempt_token=uuid4(), first_position=1, last_position=count, tokens=1000, worker="rules",
        status="aborted",
    )  # fmt: skip


def _search(batch: Batch, content: dict, size: str) -> Case:
    tools, texts = ExploreTools(content, BatchStaging(batch)), [entry["text"] for entry in content["evidence"]]
    pattern = re.compile("|".join(QUERY.split()), re.IGNORECASE)
    if not tools.search_evidence(QUERY)["total"]:
        raise RuntimeError("nothing is found: the tools benchmark is void")
    return Case(
        ours=lambda: tools.search_evidence(QUERY),
        limit=("one look for a word in all texts", lambda: sum("moon" in text for text in texts)),
        rivals={"a regular expression, unranked": lambda: [len(pattern.findall(text)) for text in texts]},
        name=f"search_evidence {size}",
    )


def _read(batch: Batch, content: dict, size: str) -> Case:
    tools = ExploreTools(content, BatchStaging(batch))
    by_id = {entry["id"]: entry for entry in content["evidence"]}
    first, last = content["range"]["from"], content["range"]["to"]
    chosen = [entry["id"] for entry in content["evidence"][-10:]]
    return Case(
        ours=lambda: tools.read_evidence(from_=max(first, last - 9), to=last),
        limit=("taking the same ten entries by id", lambda: [by_id[key]["text"] for key in chosen]),
        rivals={
            "a look through all entries by position": lambda: [
                (entry["id"], entry["text"]) for entry in content["evidence"] if last - 9 <= entry["position"] <= last
            ]
        },
        name=f"read_evidence of ten messages {size}",
    )


def _stage(batch: Batch, content: dict, size: str) -> Case:
    entry = next(entry for entry in content["evidence"] if entry["kind"] == "message")
    number = itertools.count()

    def stage() -> None:
        tools = ExploreTools(content, BatchStaging(batch))
        claim = f"Spring tide {next(number)} is higher than a neap tide."
        tools.stage_candidate("fact", claim, "It explains the tables.", [entry["id"]], quote=entry["text"][:60])

    def insert() -> None:
        claim = f"Row {next(number)} is written alone."
        with transaction.atomic():
            Candidate.objects.create(
                batch=batch, attempt=1, order=1, kind="fact", claim=claim, why_useful="It explains the tables.",
                evidence=[{"id": entry["id"], "quote": entry["text"][:60]}], content_hash=claim_identity(claim),
            )  # fmt: skip

    return Case(
        ours=stage, limit=("one round trip", _round_trip), rivals={"writing such a row alone": insert},
        name=f"stage_candidate {size}",
    )  # fmt: skip


def _finish(batch: Batch, content: dict, size: str) -> Case:
    def finish() -> None:
        ExploreTools(content, BatchStaging(batch)).finish_extraction(0, "nothing is said here")

    return Case(
        ours=finish,
        limit=("a dictionary of the entries by id", lambda: {entry["id"]: entry for entry in content["evidence"]}),
        rivals={},
        name=f"finish_extraction, tools made anew, {size}",
    )


def _round_trip() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")

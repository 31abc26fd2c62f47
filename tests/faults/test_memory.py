"""The proof that nothing acknowledged was lost finds what is lost: each case here is a control of `lost`, without servers."""

import random
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from .breaking import FAULTS, schedule
from .client import Meter
from .load import Writer
from .memory import Memory, Talk, Written, lost

CHAT, RUN = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


class Database:
    """Answers the queries of `lost` from these rows, by the table that a query reads."""

    def __init__(self, **tables: list[tuple]) -> None:
        self.tables = {
            "coverage_chat": [(CHAT,)],
            "coverage_message": [(CHAT, "m0", 2, "second")],
            "graphctx_steer": [("s1",)],
            "osii_processingrun": [(RUN, "succeeded")],
            "osii_processingitem": [(RUN, "/in/a.md", "succeeded", "d1", "")],
            "extraction_document": [("d1",)],
            "extraction_promotion": [("d1", "v1")],
        } | tables

    def __call__(self, query: str, _parameters: Sequence[Any] = ()) -> list[tuple]:
        (table,) = [name for name in self.tables if f"FROM {name} " in f"{query} ".replace("\n", " ")]
        return self.tables[table]


@pytest.fixture
def memory() -> Memory:
    message = Written(version=2, texts={1: "first", 2: "second"}, acknowledged=2)
    talk = Talk(CHAT, "learner", begun=True, messages={"m0": message}, steer="s1")
    return Memory([talk], {RUN: ["/in/a.md"]}, promoted=[("d1", "v1")])


def test_what_is_there_is_not_lost(memory: Memory) -> None:
    assert list(lost([memory], Database())) == []


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"coverage_chat": []}, "was acknowledged and is not there"),
        ({"coverage_message": []}, "version 2 was acknowledged, version 0 is there"),
        ({"coverage_message": [(CHAT, "m0", 1, "first")]}, "version 2 was acknowledged, version 1 is there"),
        ({"coverage_message": [(CHAT, "m0", 2, "first")]}, "is not the text that was sent with it"),
        ({"coverage_message": [(CHAT, "m0", 2, "second"), (CHAT, "m9", 1, "x")]}, "was never sent"),
        ({"graphctx_steer": []}, "is not delivered"),
        ({"osii_processingrun": []}, f"processing run {RUN} was acknowledged and is not there"),
        ({"osii_processingitem": []}, "nobody says why"),
        ({"extraction_document": []}, "was added as d1, which is not there"),
        ({"extraction_promotion": []}, "is not on record"),
    ],
)
def test_what_is_lost_is_named(tables: dict[str, list[tuple]], says: str, memory: Memory) -> None:
    found = list(lost([memory], Database(**tables)))
    assert found and all(says in line for line in found)


def test_what_was_deleted_and_is_there_is_named(memory: Memory) -> None:
    memory.talks[0].messages["m0"].deleting = memory.talks[0].messages["m0"].deleted = True
    memory.removing, memory.removed = {"d1": "a.md"}, {"d1"}
    assert len(list(lost([memory], Database()))) == 2


def test_a_write_without_an_answer_may_be_there_or_not(memory: Memory) -> None:
    memory.talks[0].messages["m0"].acknowledged = 1
    for version, text in ((1, "first"), (2, "second")):
        assert list(lost([memory], Database(coverage_message=[(CHAT, "m0", version, text)]))) == []


def test_a_seed_gives_the_same_faults_and_the_same_load_again() -> None:
    one, again = (schedule(random.Random("faults 7"), 6, 50) for _ in range(2))
    assert one == again != schedule(random.Random("faults 8"), 6, 50)
    assert {planned.name for planned in schedule(random.Random("all"), 6, 2000)} == set(FAULTS)
    texts = [Writer("http://127.0.0.1:1", "", Meter(), "7")._text("m0v1") for _ in range(2)]
    assert texts[0] == texts[1]

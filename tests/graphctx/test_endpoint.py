"""The embedder behind an HTTP endpoint, against a scripted server."""

import base64
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from coverage.models import Learner
from graphctx import embedding
from graphctx.embedders import REGISTRY, EmbeddingError, UnusableVectors
from graphctx.embedders.endpoint import EndpointEmbedder
from graphctx.embedders.hashing import HashingEmbedder
from graphctx.embedding import SpaceMismatch, active_space, get_embedder
from graphctx.models import Proposition, PropositionVector
from graphctx.selection import select
from graphctx.vectors import backfill, embed_usable

from .conftest import SOLAR, add_propositions
from .embeddings_server import EmbeddingsServer, listed, serving, words

KEY = "sk-not-to-be-shown"
REFUSAL = (400, {"error": {"message": "maximum context length is 512 tokens", "type": "invalid_request_error"}})


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with serving() as scripted:
        yield scripted


@pytest.fixture
def embedder(
    server: EmbeddingsServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., EndpointEmbedder]:
    """Configure the endpoint by settings, as the environment does; returns the embedder of the process."""
    pauses: list[float] = []
    monkeypatch.setattr("openai._base_client.time.sleep", pauses.append)
    monkeypatch.setattr(embedding, "_warm", {})

    def configure(**values: Any) -> EndpointEmbedder:
        fields = {
            "BASE_URL": server.url,
            "MODEL": "m",
            "API_KEY": KEY,
            "DIMENSION": 256,
            "TRUNCATE_FROM": 0,
            "RETRIES": 2,
            "BATCH": 4,
        }
        for name, value in (fields | values).items():
            setattr(settings, f"OSII_EMBEDDINGS_{name}", value)
        settings.OSII_EMBEDDER = "endpoint"
        embedding._warm.clear()
        made = get_embedder()
        made.pauses = pauses
        return made

    return configure


def test_vectors_come_back_in_order_and_of_unit_length(server: EmbeddingsServer, embedder: Callable) -> None:
    rows = embedder().embed_documents(SOLAR)
    assert np.allclose(rows, HashingEmbedder().embed_documents(SOLAR), atol=1e-6)
    assert [len(body["input"]) for body in server.asked] == [4, 1]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["path"] == "/v1/embeddings"
    assert server.asked[0] | {"input": []} == {"model": "m", "encoding_format": "float", "input": []}


def test_each_side_has_its_format(server: EmbeddingsServer, embedder: Callable) -> None:
    made = embedder(QUERY_FORMAT="query: {text}", DOCUMENT_FORMAT="passage: {text}")
    made.embed_query("tides")
    made.embed_documents(["moon"])
    assert [body["input"] for body in server.asked] == [["query: tides"], ["passage: moon"]]


def test_vectors_are_cut_and_get_unit_length_again(server: EmbeddingsServer, embedder: Callable) -> None:
    made = embedder(DIMENSION=100, TRUNCATE_FROM=256)
    row = made.embed_query("what causes the tides on the sea?")
    whole = HashingEmbedder().embed_query("what causes the tides on the sea?")[:100]
    assert np.allclose(row, whole / np.linalg.norm(whole), atol=1e-6)
    assert made.spec.stamp != embedder(DIMENSION=100).spec.stamp


@pytest.mark.parametrize("dimension", [128, 512])
def test_a_wrong_dimension_is_refused_and_named(embedder: Callable, dimension: int) -> None:
    with pytest.raises(EmbeddingError, match=f"256 dimensions, not {dimension}.*OSII_EMBEDDINGS_DIMENSION"):
        embedder(DIMENSION=dimension).embed_query("tides")


def test_base64_is_read_too(server: EmbeddingsServer, embedder: Callable) -> None:
    row = HashingEmbedder().embed_query("tides")
    server.script = lambda _body, _number: {"data": [{"embedding": base64.b64encode(row.astype("<f4")).decode()}]}
    assert np.allclose(embedder().embed_query("tides"), row, atol=1e-6)


@pytest.mark.parametrize(
    "bad",
    [[float("nan")] * 256, [None] * 256, [0.0] * 256, [float("inf")] + [0.0] * 255, [1e300] * 256],
    ids=["nan", "null", "zero", "infinite", "beyond float32"],
)
def test_an_unusable_vector_does_not_fail_its_batch(server: EmbeddingsServer, embedder: Callable, bad: list) -> None:
    def script(body: dict, _number: int) -> dict:
        answer = words(body)
        for one in answer["data"]:
            if "poison" in body["input"][one["index"]]:
                one["embedding"] = bad
        return answer

    server.script = script
    good, unusable = embed_usable(embedder(), {1: "tides", 2: "poison", 3: "moon"})
    assert (set(good), set(unusable)) == ({1, 3}, {2})


def over_long(limit: int) -> Callable:
    return lambda body, _number: REFUSAL if any(len(text) > limit for text in body["input"]) else words(body)


def test_an_over_long_text_is_shortened_and_does_not_fail_its_batch(
    server: EmbeddingsServer, embedder: Callable
) -> None:
    server.script = over_long(100)
    texts = ["tides", "moon " * 200, "sun", "sea", "bread"]
    rows = embedder().embed_documents(texts)
    assert np.allclose(
        rows[[0, 2, 3, 4]], HashingEmbedder().embed_documents([texts[at] for at in (0, 2, 3, 4)]), atol=1e-6
    )
    assert rows[1] @ HashingEmbedder().embed_query("moon") > 0.9


def test_a_text_beyond_the_models_length_is_cut_before_it_is_sent(server: EmbeddingsServer, embedder: Callable) -> None:
    embedder(MAX_TOKENS=16).embed_documents(["moon " * 200])
    assert len(server.asked[0]["input"][0]) == 64


def test_a_text_that_is_never_accepted_is_named_and_the_others_go_on(
    server: EmbeddingsServer, embedder: Callable
) -> None:
    server.script = lambda body, _number: REFUSAL if any("x" in text for text in body["input"]) else words(body)
    with pytest.raises(UnusableVectors) as caught:
        embedder().embed_documents(["tides", "x" * 60, "moon"])
    assert caught.value.indexes == [1]
    assert len(server.asked) < 20


def test_empty_texts_are_not_asked_about(server: EmbeddingsServer, embedder: Callable) -> None:
    with pytest.raises(UnusableVectors):
        embedder().embed_documents([" ", ""])
    assert not server.asked


def test_a_server_that_refuses_everything_is_an_error_at_once(server: EmbeddingsServer, embedder: Callable) -> None:
    server.script = lambda _body, _number: (400, {"error": {"message": f"no such model for {KEY}"}})
    with pytest.raises(EmbeddingError, match=r"answered 400: no such model for \*\*\*") as caught:
        embedder().embed_documents(["a", "b", "c"])
    assert not isinstance(caught.value, UnusableVectors)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_fault_is_tried_again_with_growing_pauses(
    server: EmbeddingsServer, embedder: Callable, status: int
) -> None:
    server.script = lambda body, number: (status, {"error": {"message": "busy"}}) if number < 2 else words(body)
    made = embedder()
    assert made.embed_query("tides").shape == (256,)
    assert len(server.asked) == 3
    assert 0 < made.pauses[0] < made.pauses[1]


def test_the_server_may_say_how_long_to_wait(server: EmbeddingsServer, embedder: Callable) -> None:
    busy = (429, {"error": {"message": "busy"}}, {"Retry-After": "7"})
    server.script = lambda body, number: words(body) if number else busy
    made = embedder()
    made.embed_query("tides")
    assert made.pauses == [7.0]


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "check OSII_EMBEDDINGS_API_KEY"), (404, "check OSII_EMBEDDINGS_BASE_URL"), (503, "answered 503: busy")],
)
def test_a_lasting_fault_says_what_to_do(server: EmbeddingsServer, embedder: Callable, status: int, says: str) -> None:
    server.script = lambda _body, _number: (status, {"error": {"message": "busy"}})
    with pytest.raises(EmbeddingError, match=says) as caught:
        embedder().embed_query("tides")
    assert server.url in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_redirection_is_not_followed(server: EmbeddingsServer, embedder: Callable) -> None:
    server.script = lambda _body, _number: (307, {}, {"Location": f"{server.url}/elsewhere"})
    with pytest.raises(EmbeddingError, match="answered 307"):
        embedder().embed_query("tides")
    assert len(server.asked) == 1


def test_a_server_that_does_not_answer_is_left_in_time(server: EmbeddingsServer, embedder: Callable) -> None:
    never = threading.Event()
    server.script = lambda body, _number: never.wait(1) or words(body)
    with pytest.raises(EmbeddingError, match=r"no answer within 0.2 s"):
        embedder(TIMEOUT_SECONDS=0.2, RETRIES=0).embed_query("tides")


def test_a_server_that_is_not_there_is_named(embedder: Callable) -> None:
    with pytest.raises(EmbeddingError, match=r"http://127.0.0.1:9/v1 \(m\) cannot be reached"):
        embedder(BASE_URL="http://127.0.0.1:9/v1", RETRIES=0).embed_query("tides")


@pytest.mark.parametrize(
    "answer",
    [{}, {"data": None}, {"data": [{}]}, {"data": []}, {"data": [{"embedding": "???"}]}, b"<html>", [], b"\xff"],
    ids=["empty", "null", "no vector", "too few", "no base64", "html", "list", "bytes"],
)
def test_an_answer_that_is_none_is_an_error(server: EmbeddingsServer, embedder: Callable, answer: Any) -> None:
    server.script = lambda _body, _number: answer
    with pytest.raises(EmbeddingError, match=r"no usable answer|gave 0 vectors"):
        embedder(RETRIES=0).embed_query("tides")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"MODEL": ""}, "needs OSII_EMBEDDINGS_MODEL"),
        ({"DIMENSION": 0}, "needs OSII_EMBEDDINGS_DIMENSION"),
        ({"BASE_URL": "", "API_KEY": ""}, "needs OSII_EMBEDDINGS_API_KEY"),
        ({"TRUNCATE_FROM": 100}, "DIMENSION is 256, more than the 100"),
    ],
)
def test_what_is_not_set_is_named(embedder: Callable, values: dict, says: str) -> None:
    with pytest.raises(EmbeddingError, match=says):
        embedder(**values)


def test_the_key_is_in_no_repr_and_no_space(embedder: Callable, db: None) -> None:
    made = embedder()
    assert KEY not in repr(made.connection)
    assert KEY not in str(active_space().__dict__)
    assert REGISTRY["endpoint"] is not None


class TestSwap:
    """Another model behind the same name, of the same dimension."""

    @pytest.fixture
    def filled(self, server: EmbeddingsServer, embedder: Callable, learner: Learner) -> Learner:
        embedder()
        add_propositions(learner, SOLAR)
        assert select(learner, "tides", 1024).count == 5
        return learner

    def swap(self, server: EmbeddingsServer) -> None:
        turned = np.random.default_rng(1).permutation(256)
        server.script = lambda body, _number: listed(HashingEmbedder()._encode(body["input"])[:, turned])

    def test_it_is_caught_before_a_scan(self, server: EmbeddingsServer, embedder: Callable, filled: Learner) -> None:
        self.swap(server)
        embedder()  # a process that begins now
        with pytest.raises(EmbeddingError, match=r"'m' is not the model that made .*`manage.py backfill_embeddings"):
            select(filled, "tides", 1024)

    def test_a_running_process_notices_it_after_a_while(
        self, server: EmbeddingsServer, filled: Learner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.swap(server)
        select(filled, "tides", 1024)  # within the time that it is taken for the same
        monkeypatch.setattr(embedding, "PROOF_SECONDS", -1)
        with pytest.raises(EmbeddingError, match="is not the model"):
            select(filled, "tides", 1024)

    def test_it_fills_nothing_that_was_missing(
        self, server: EmbeddingsServer, embedder: Callable, filled: Learner
    ) -> None:
        add_propositions(filled, ["one more"], vectors=False)
        self.swap(server)
        embedder()
        with pytest.raises(EmbeddingError, match="is not the model"):
            backfill(active_space())
        assert PropositionVector.objects.count() == 5
        assert Proposition.objects.count() == 6

    def test_the_same_model_at_another_precision_is_the_same(
        self, server: EmbeddingsServer, embedder: Callable, filled: Learner
    ) -> None:
        server.script = lambda body, _number: listed(np.round(HashingEmbedder()._encode(body["input"]), 1))
        embedder()
        assert select(filled, "tides", 1024).count == 5

    def test_a_new_revision_is_a_new_space(self, embedder: Callable, filled: Learner) -> None:
        embedder(REVISION="2")
        with pytest.raises(SpaceMismatch, match=r"revision '' → '2'"):
            active_space()

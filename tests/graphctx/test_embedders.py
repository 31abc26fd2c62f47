"""The embedders themselves: the hashing one, the real loading code, and what is refused."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import embed_speed
from graphctx.embedders import REGISTRY, EmbedderSpec, EmbeddingError, UnusableVectors
from graphctx.embedders.base import Embedder
from graphctx.embedders.hashing import HashingEmbedder
from graphctx.embedders.local_model import LocalModel, directory_revision, embeddinggemma, minilm
from graphctx.embedding import get_embedder
from graphctx.vectors import embed_usable

from . import tiny_gemma


@given(text=st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
def test_every_text_with_a_sign_has_one_unit_vector(text: str) -> None:
    first, again = HashingEmbedder().embed_documents([text, text])
    assert first.dtype == np.float32
    assert first.tobytes() == again.tobytes()
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)


def test_hashing_is_the_same_on_every_machine() -> None:
    vector = HashingEmbedder().embed_query("tides")
    assert np.flatnonzero(vector)[:4].tolist() == [4, 13, 20, 21]


def test_hashing_finds_shared_words() -> None:
    near, far = HashingEmbedder().embed_documents(["Tides follow the moon.", "Bread needs salt."])
    query = HashingEmbedder().embed_query("What makes tides?")
    assert near @ query > far @ query + 0.1


def test_no_texts_no_rows() -> None:
    assert HashingEmbedder().embed_documents([]).shape == (0, 256)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_a_text_without_a_vector_is_named(text: str) -> None:
    with pytest.raises(UnusableVectors, match=r"not finite, or zero\) for ") as caught:
        HashingEmbedder().embed_documents(["fine", text])
    assert caught.value.indexes == [1]


class WrongShape(HashingEmbedder):
    def _encode(self, texts: list[str]) -> np.ndarray:
        return super()._encode(texts)[:, :100]


def test_vectors_of_another_shape_than_described_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="not the one described"):
        WrongShape().embed_query("tides")


def test_there_is_one_embedder_per_process() -> None:
    assert get_embedder("hashing") is get_embedder("hashing")


def test_an_unknown_embedder_names_the_known_ones() -> None:
    with pytest.raises(EmbeddingError, match="minilm, embeddinggemma, endpoint, hashing"):
        get_embedder("bert")


def test_missing_gemma_weights_say_where_to_put_them(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=f"into {tmp_path}/models/embeddinggemma-300m"):
        REGISTRY["embeddinggemma"](tmp_path)


def test_a_revision_follows_the_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(bytes(5 * 2**20))
    first = directory_revision(tmp_path)
    assert directory_revision(tmp_path) == first
    (tmp_path / "README.md").write_text("a note changes nothing")
    assert directory_revision(tmp_path) == first
    weights.write_bytes(b"\1" * (5 * 2**20))
    assert directory_revision(tmp_path) != first


def test_the_default_model_is_described_without_loading_it() -> None:
    model = minilm()
    assert (model.spec.dimension, model.spec.max_tokens, model.spec.revision) == (384, 256, "0.1.0")
    assert model._model is None


@pytest.fixture(scope="session")
def loaded_minilm() -> LocalModel:
    model = minilm()
    model.warm()
    return model


@pytest.mark.model
def test_the_default_model_ranks_by_meaning(loaded_minilm: Embedder) -> None:
    rows = loaded_minilm.embed_documents(
        ["Bread needs salt.", "The moon's gravity pulls the oceans.", "The deadline moved to Friday."]
    )
    assert rows.shape == (3, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.argmax(rows @ loaded_minilm.embed_query("Why are there tides?")) == 1


@pytest.mark.model
def test_the_default_model_reads_256_tokens_and_no_padding_to_128(loaded_minilm: LocalModel) -> None:
    long = "tide " * 200
    ending = loaded_minilm.embed_documents([long + "bread", long + "gravity"])
    assert ending[0] @ ending[1] < 0.9999  # word 201 is read
    beyond = loaded_minilm.embed_documents(["tide " * 400 + "bread", "tide " * 400 + "gravity"])
    assert beyond[0] @ beyond[1] == pytest.approx(1, abs=1e-5)
    assert loaded_minilm._model.max_seq_length == 256


@pytest.mark.model
def test_a_batch_gives_the_vectors_of_its_texts(loaded_minilm: Embedder) -> None:
    texts = [f"Claim {number} is about tides." + " More words." * (number % 7) for number in range(40)]
    together = loaded_minilm.embed_documents(texts)
    alone = np.stack([loaded_minilm.embed_documents([text])[0] for text in texts[::13]])
    assert np.allclose(together[::13], alone, atol=1e-5)


@pytest.mark.model
def test_a_truncation_beyond_the_model_is_refused(loaded_minilm: LocalModel) -> None:
    too_wide = embeddinggemma(loaded_minilm.directory, dimension=512)
    with pytest.raises(EmbeddingError, match="384 dimensions, fewer than the 512"):
        too_wide.embed_query("tides")


@pytest.mark.model
def test_a_broken_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / "config.json").write_text("no json")
    with pytest.raises(EmbeddingError, match=f"{tmp_path} cannot be loaded"):
        embeddinggemma(tmp_path).embed_query("tides")


@pytest.fixture(scope="session")
def gemma_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gemma.build(tmp_path_factory.mktemp("gemma"))


@pytest.fixture(scope="session")
def gemma(gemma_directory: Path) -> LocalModel:
    return embeddinggemma(gemma_directory, dimension=16, own=tiny_gemma.HIDDEN)


def embeddinggemma_spec() -> EmbedderSpec:
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "modules.json").write_text("[]")
        return embeddinggemma(Path(made)).spec


@pytest.mark.model
def test_the_benchmark_stands_beside_plain_encode(
    loaded_minilm: LocalModel, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    for name, value in (("get_embedder", lambda: loaded_minilm), ("SIZES", {4: 1, 8: 1}), ("AT_ONCE", 4)):
        monkeypatch.setattr(embed_speed, name, value)
    monkeypatch.setattr(embed_speed, "_said", list)
    monkeypatch.setattr(embed_speed.onnx_rival, "runtimes", lambda same: {"other": same.embed_documents})
    rows = {row.case: row for row in embed_speed.run()}
    ours = rows["8 texts by minilm: ours"]
    assert ours.to_rival is not None and ours.growth is not None and ours.queries == 0
    found = next(row for case, row in rows.items() if "answer found first" in case)
    assert 50 < found.median <= 100
    assert rows["other: the least of them"].median == pytest.approx(100, abs=0.01)
    assert rows["other: of the 10 nearest to a question, the same"].median == pytest.approx(100, abs=1)


@pytest.mark.model
class TestEmbeddingGemma:
    """The real loading code on a random model of the same architecture and module stack, with 48 dimensions."""

    def test_each_side_has_the_format_it_was_trained_with(self, gemma: LocalModel, gemma_directory: Path) -> None:
        from sentence_transformers import SentenceTransformer

        reference = SentenceTransformer(str(gemma_directory), local_files_only=True, truncate_dim=16)
        text = "the moon's gravity causes the tides"
        query = reference.encode_query(text, normalize_embeddings=True)
        document = reference.encode_document(text, normalize_embeddings=True)
        assert np.allclose(gemma.embed_query(text), query, atol=1e-5)
        assert np.allclose(gemma.embed_documents([text])[0], document, atol=1e-5)
        assert not np.allclose(query, document, atol=1e-3)

    def test_truncated_vectors_have_unit_length_again(self, gemma: LocalModel) -> None:
        rows = gemma.embed_documents(["tides", "bread and salt"])
        assert rows.shape == (2, 16)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)

    def test_512_dimensions_of_a_smaller_model_are_refused(self, gemma_directory: Path) -> None:
        with pytest.raises(EmbeddingError, match="48 dimensions, fewer than the 512"):
            embeddinggemma(gemma_directory).embed_query("tides")

    def test_a_model_of_another_dimension_is_another_model(self, gemma_directory: Path) -> None:
        with pytest.raises(EmbeddingError, match="has 48 dimensions, google/embeddinggemma-300m has 768"):
            embeddinggemma(gemma_directory, dimension=16).embed_query("tides")

    def test_missing_weights_are_named(self, gemma_directory: Path, tmp_path: Path) -> None:
        broken = tmp_path / "broken"
        shutil.copytree(gemma_directory, broken)
        (broken / "model.safetensors").unlink()
        with pytest.raises(EmbeddingError, match=f"{broken} cannot be loaded"):
            embeddinggemma(broken, dimension=16, own=tiny_gemma.HIDDEN).embed_query("tides")

    def test_a_model_that_is_swapped_before_it_loads_is_refused(self, gemma_directory: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        directory = shutil.copytree(gemma_directory, tmp_path / "swapped")
        described = embeddinggemma(directory, dimension=16, own=tiny_gemma.HIDDEN)
        weights = directory / "model.safetensors"
        save_file({name: -value for name, value in load_file(weights).items()}, weights, metadata={"format": "pt"})
        with pytest.raises(EmbeddingError, match=r"became another one .* `manage.py backfill_embeddings`"):
            described.embed_query("tides")
        assert embeddinggemma(directory, dimension=16, own=tiny_gemma.HIDDEN).embed_query("tides").shape == (16,)

    def test_512_of_768_dimensions_are_the_first_ones_with_unit_length(self) -> None:
        spec = embeddinggemma_spec()
        assert (spec.dimension, spec.truncated_from, spec.normalisation, spec.max_tokens) == (512, 768, "unit", 2048)
        assert spec.query_format == "task: search result | query: {text}"
        assert spec.document_format == "title: none | text: {text}"

    def test_a_text_without_a_sign_fails_no_batch(self, gemma: LocalModel) -> None:
        good, bad = embed_usable(gemma, {1: "tides", 2: "", 3: "\ud83d", 4: "moon " * 300})
        assert set(good) | set(bad) == {1, 2, 3, 4}
        assert {1, 3, 4} <= set(good)

    def test_a_text_beyond_the_models_length_is_cut(self, gemma: LocalModel) -> None:
        assert np.isfinite(gemma.embed_documents(["tides " * 4000])).all()

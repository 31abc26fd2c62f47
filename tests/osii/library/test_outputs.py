"""Making outputs: what each built-in method makes, and what a failure leaves."""

import itertools
import json

import numpy as np
import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from extraction.documents import removal, selectors
from extraction.documents.cutting import cut
from extraction.documents.errors import UnknownDocument
from extraction.documents.reconcile import reconcile_all
from osii.library import invariants, methods, outputs
from osii.library.base import Made, MethodRefused, OutputFailed
from osii.library.models import Chunk, ChunkVector, Output, OutputSetting
from osii.library.sentences import sentences
from osii.library.statistics import Statistics, keywords

pytestmark = pytest.mark.django_db


def refused(*arguments, **more) -> str:
    with pytest.raises(MethodRefused) as error:
        outputs.make(*arguments, **more)
    return error.value.reason


def test_chunks_are_exact_pieces_in_order(document):
    made = outputs.make(document.pk, "chunks", options={"chunk_size": 200, "chunk_overlap": 40})
    text = selectors.primary_text(document.pk)
    chunks = list(made.chunks.all())
    assert made.counts == {"chunks": len(chunks), "characters": len(text)}
    assert len(chunks) > 3
    for index, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.char_start : chunk.char_end]
        assert len(chunk.text) <= 200
        assert chunk.chunk_id == f"chunk-{document.pk}-{index:06d}"
        assert chunk.source_segment_ids
        assert chunk.language == "en"
    assert [one.previous_chunk_id for one in chunks[1:]] == [one.chunk_id for one in chunks[:-1]]
    assert (chunks[0].previous_chunk_id, chunks[-1].next_chunk_id) == (None, None)
    covered = {at for chunk in chunks for at in range(chunk.char_start, chunk.char_end)}
    assert not "".join(letter for at, letter in enumerate(text) if at not in covered).strip()


@given(
    text=st.text(alphabet=st.sampled_from("ab c\n.é😀文。\f\t"), max_size=400),
    size=st.integers(100, 300),
    overlap=st.integers(0, 50),
    window=st.integers(1, 400),
)
def test_pieces_lose_nothing_whatever_the_window(text, size, overlap, window):
    pieces = list(cut(text, size, overlap, window=size + window))
    assert all(text[start : start + len(piece)] == piece for start, piece in pieces)
    assert all(len(piece) <= size for _, piece in pieces)
    covered = {at for start, piece in pieces for at in range(start, start + len(piece))}
    assert not "".join(letter for at, letter in enumerate(text) if at not in covered).strip()


@given(st.text(alphabet=st.sampled_from("aB c.\n>-#|?1é文。\f"), max_size=300))
def test_sentences_stand_where_they_say(text):
    found = list(sentences(text, "en"))
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))


def test_a_sentence_over_several_lines_of_a_quotation_is_one():
    (one,) = sentences("> The mean of the\n> remaining eleven is 249.8 ms.\n", "en")
    assert one.line == "The mean of the remaining eleven is 249.8 ms."


def test_lines_stand_for_the_sentences_of_a_table(extracted):
    document = extracted("readings.md", "# Readings\n\n| Month | Heat |\n|---|---|\n| May | 12 |\n").document
    made = outputs.make(document.pk, "synthesis")
    text = selectors.primary_text(document.pk)
    assert made.status == "succeeded"
    assert "Month | Heat" in made.text
    assert all(text[one["char_start"] : one["char_end"]] == one["text"] for one in made.content["sentences"])


def test_rows_of_a_table_are_no_sentence():
    assert [one.text for one in sentences("Room | Reading\nKitchen | 21\n\nIt is cool in the cellar.\n", "en")] == [
        "It is cool in the cellar."
    ]


def test_vectors_are_of_the_chosen_chunks_in_the_active_space(document):
    made = outputs.make(document.pk, "embeddings")
    chunks = Output.objects.get(kind="chunks")
    assert made.status == "succeeded"
    assert made.counts["vectors"] == chunks.chunks.count() == ChunkVector.objects.filter(space=made.space).count()
    assert outputs.make(document.pk, "embeddings") == made
    vector = ChunkVector.objects.first()
    assert np.linalg.norm(
        vector.embedding.to_numpy() if hasattr(vector.embedding, "to_numpy") else vector.embedding
    ) == (pytest.approx(1, abs=1e-3))
    # Other chunks are wanted: these vectors are not the wanted ones any more.
    OutputSetting.objects.create(kind="chunks", method="sentences", options={"chunk_size": 300}, chosen=True)
    assert outputs.current(document, "embeddings") is None
    again = outputs.make(document.pk, "embeddings")
    assert again != made
    assert again.options["chunks_options"]["chunk_size"] == 300


def test_key_sentences_stand_in_the_text(document):
    made = outputs.make(document.pk, "synthesis", options={"sentences": 2})
    text = selectors.primary_text(document.pk)
    assert len(made.content["sentences"]) == 2
    for one in made.content["sentences"]:
        assert text[one["char_start"] : one["char_end"]] == one["text"]
        assert " ".join(one["text"].split()) in made.text
    assert any(word in made.text for word in ("Calvin cycle", "light reactions"))


def test_statistics_and_names(extracted):
    text = "Yesterday Marie Curie met Ada.\n\nThen Ada wrote to ada@example.org about https://example.org/a. The radium was new to Ada."
    document = extracted("a.txt", text).document
    counted = outputs.make(document.pk, "enrichment").content
    assert counted["words"] == 23
    assert (counted["paragraphs"], counted["language"]) == (2, "en")
    assert counted["keywords"]
    named = outputs.make(document.pk, "enrichment", "entities").content
    assert {one["text"] for one in named["names"]} >= {"Ada"}
    assert any("Marie Curie" in one["text"] for one in named["names"])
    assert [one["text"] for one in named["mail_addresses"]] == ["ada@example.org"]
    for one in named["names"] + named["urls"]:
        assert all(text[start:end] == one["text"] for start, end in one["places"])


@pytest.mark.parametrize(
    "text", ["1 | 2 | 3\n", "量子力学は面白い。量子の話を読む。\n", "שלום עולם זה טקסט\n", "ราคาของสินค้า\n"]
)
def test_no_text_is_too_strange_for_an_enrichment(extracted, text):
    document = extracted("a.txt", text).document
    for method in ("statistics", "entities"):
        assert outputs.make(document.pk, "enrichment", method).status == "succeeded"


@pytest.mark.parametrize(
    "run",
    [
        "[" * 20_000,
        "don't" * 20_000,
        "0x" + "deadbeef" * 20_000,
        "Abc.Def" * 20_000,
        ",".join(map(str, range(30_000))),
        "中" * 20_000,
    ],
    ids=["brackets", "apostrophes", "hex", "dots", "numbers", "chinese"],
)
def test_keywords_are_found_beside_a_long_run_without_spaces(run):
    found = keywords(f"The heat pump stands behind the house. {run} The heat pump hums.", "en", 50)
    assert "heat pump" in {one["keyword"] for one in found}
    assert max(len(one["keyword"]) for one in found) < 700, "three words at most"


class Panic(BaseException):
    """As libraries in Rust raise it: beside Exception."""


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (Panic("gave up"), "method_error: Panic: gave up"),
        (OutputFailed("too_dull", "nothing stands out"), "too_dull: nothing stands out"),
        (ZeroDivisionError("by zero\n"), "method_error: ZeroDivisionError: by zero "),
        (MemoryError(), "out_of_memory: the method needs more memory than there is"),
    ],
)
def test_a_failure_leaves_its_reason_and_nothing_else(document, monkeypatch, error, named):
    def fail(self, source, options):
        raise error

    monkeypatch.setattr(Statistics, "make", fail)
    made = outputs.make(document.pk, "enrichment", "statistics")
    assert (made.status, made.error, made.content, made.reason) == ("failed", named, {}, named.partition(":")[0])
    assert Chunk.objects.count() == 0
    assert outputs.current(document, "enrichment", "statistics") is None
    monkeypatch.undo()
    assert outputs.make(document.pk, "enrichment", "statistics").status == "succeeded"


def test_what_is_removed_while_an_output_is_made_of_it_is_told(document, monkeypatch):
    made = Statistics.make

    def meanwhile(self, source, options):
        removal.remove_document(source.document.pk, "somebody")
        return made(self, source, options)

    monkeypatch.setattr(Statistics, "make", meanwhile)
    with pytest.raises(MethodRefused) as refusal:
        outputs.make(document.pk, "enrichment", "statistics")
    assert refusal.value.reason == "version_removed"
    assert Output.objects.count() == 0


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_is_no_failure_of_the_document(document, monkeypatch, ending):
    def end(self, source, options):
        raise ending

    monkeypatch.setattr(Statistics, "make", end)
    with pytest.raises(ending):
        outputs.make(document.pk, "enrichment", "statistics")
    assert Output.objects.count() == 0


def test_work_that_is_stopped_writes_nothing(document):
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        outputs.make(document.pk, "chunks", checkpoint=stop)
    assert Output.objects.count() == 0


def test_what_cannot_be_made_is_refused_by_name(add, extracted):
    bare = add("bare.txt", "Nobody extracted this.")
    document = extracted("a.txt", "A text that was extracted.").document
    assert refused(bare, "chunks") == "no_text"
    assert refused(document.pk, "poems") == "unknown_kind"
    assert refused(document.pk, "synthesis", "novel") == "unknown_method"
    assert refused(document.pk, "chunks", options={"length": 3}) == "unknown_option"
    assert refused(document.pk, "chunks", options={"chunk_size": 10}) == "wrong_option"
    assert refused(document.pk, "chunks", options={"chunk_size": "many"}) == "wrong_option"
    assert refused(document.pk, "chunks", options={"chunk_size": 200, "chunk_overlap": 150}) == "wrong_option"
    with pytest.raises(UnknownDocument):
        outputs.make("sha256-" + "0" * 64, "chunks")
    assert Output.objects.count() == 0


def test_the_database_keeps_outputs_as_they_are(document, variant, extracted):
    made = outputs.make(document.pk, "embeddings")
    chunk = Chunk.objects.first()
    other = extracted("b.txt", "The text of another document.")
    wrong = (
        lambda: Output.objects.filter(pk=made.pk).update(text="another"),
        made.delete,
        lambda: Chunk.objects.filter(pk=chunk.pk).update(text="x"),
        lambda: Chunk.objects.create(
            output=made, document=document, source_extraction_id=document.primary_id, chunk_id="c", chunk_index=9,
            char_start=0, char_end=1, text="a",
        ),
        lambda: Chunk.objects.create(
            output=chunk.output, document=document, source_extraction_id=document.primary_id, chunk_id="c",
            chunk_index=9, char_start=0, char_end=5, text="a",
        ),
        lambda: ChunkVector.objects.create(output=made, space=made.space, chunk=chunk, embedding=[1.0, 0.0]),
        lambda: Output.objects.create(
            document=document, source_extraction=other, kind="enrichment", method="m", method_version="1",
            options_hash="", status="succeeded",
        ),
        lambda: Output.objects.create(
            document=document, source_extraction_id=variant, kind="enrichment", method="m", method_version="1",
            options_hash="", status="failed",
        ),
    )  # fmt: skip
    for attempt in wrong:
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    for table in ("osii_output", "osii_chunk", "osii_chunkvector"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {table} CASCADE")
    removal.remove_document(document.pk, "Ada")
    assert not Output.objects.exists()


def test_the_store_has_copies_and_reconcile_mends_them(
    document, store, monkeypatch, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        for kind, method in (("chunks", None), ("synthesis", None), ("enrichment", "statistics")):
            outputs.make(document.pk, kind, method)
    folder, version = store.object_dir(document.pk), document.primary_id
    rows = [json.loads(line) for line in (folder / f"chunks/sentences--{version}.jsonl").read_text().splitlines()]
    assert (
        list(rows[0])
        == (
            "chunk_id file_id source_relpath source_extraction_id chunk_method chunk_size chunk_overlap chunk_index char_start"
            " char_end text source_segment_ids source_pages previous_chunk_id next_chunk_id"
        ).split()
    )
    synthesis = folder / f"syntheses/extractive--{version}"
    assert synthesis.with_suffix(".txt").read_text() == Output.objects.get(kind="synthesis").text
    enrichment = folder / f"enrichments/enrichment--statistics--{version}.json"
    described = json.loads(enrichment.read_text())
    assert (described["source_extraction_id"], described["method"]) == (version, "statistics")
    assert list(reconcile_all()) == []
    enrichment.unlink()
    synthesis.with_suffix(".txt").write_text("something else")
    told = [str(difference) for difference in reconcile_all(dry_run=True)]
    assert len(told) == 2
    assert len(list(reconcile_all())) == 2
    assert list(reconcile_all()) == []
    assert json.loads(enrichment.read_text()) == described


def test_of_two_made_at_once_the_first_one_stays(document, monkeypatch):
    wanted = methods.wanted("enrichment", "statistics")
    make = Statistics.make

    def with_rival(self, source, options):
        monkeypatch.setattr(Statistics, "make", make)
        outputs.make(document.pk, "enrichment", "statistics")
        return Made(content={"late": True})

    monkeypatch.setattr(Statistics, "make", with_rival)
    made = outputs.make(document.pk, "enrichment", "statistics")
    assert "late" not in made.content
    assert outputs.existing(document.primary_id, wanted) == made
    assert Output.objects.count() == 1


def test_invariants_hold_and_each_check_fires(document):
    outputs.make(document.pk, "embeddings")
    outputs.make(document.pk, "enrichment", "entities")
    assert list(invariants.check()) == []
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE osii_chunk DISABLE TRIGGER USER; ALTER TABLE osii_chunkvector DISABLE TRIGGER USER")
        cursor.execute("UPDATE osii_chunk SET text = reverse(text) WHERE chunk_index = 0")
        cursor.execute("UPDATE osii_chunkvector SET embedding = '[1,0]'")
        cursor.execute("UPDATE osii_output SET counts = '{}' WHERE false")
    found = list(invariants.check())
    assert any("does not stand" in line for line in found)
    assert any("dimension" in line for line in found)
    assert any("append-only" in line for line in found)

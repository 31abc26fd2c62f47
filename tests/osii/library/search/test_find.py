"""What is searched, in which order results come, and what each of them says."""

import random
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from extraction.models import DocumentSource
from graphctx.embedding import EmbeddingError, active_space
from osii.library import outputs
from osii.library.models import OutputSetting
from osii.library.run_models import Collection, CollectionDocument
from osii.library.search import find, lexical, searched, semantic
from osii.library.search.find import MODES, fused, search
from osii.library.search.snippets import cut
from tests.osii.library import rows
from tests.osii.library.search import chunked

pytestmark = pytest.mark.django_db


def names(text: str, mode: str = "lexical", **more) -> list[str]:
    return [one.filename for one in search(text, mode, **more).results]


# --- what is searched ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_stale_chunks_are_out_after_a_promotion_and_in_again_after_the_way_back(
    document, variant, promote, mode
) -> None:
    first = document.primary_id
    outputs.make(document.pk, "embeddings")
    before = search("stroma of the chloroplast", mode)
    assert {one.extraction_id for one in before.results} == {first}
    promote(variant)
    assert search("stroma of the chloroplast", mode).results == ()
    outputs.make(document.pk, "embeddings")
    now = search("stroma of the chloroplast", mode)
    assert {one.extraction_id for one in now.results} == {variant}
    assert "STROMA" in now.results[0].snippet
    promote(first)
    assert search("stroma of the chloroplast", mode) == before


def test_a_roll_back_takes_the_index_back_with_it(document, variant) -> None:
    """The columns are written with the chunks: nothing of a transaction that failed is found."""
    with pytest.raises(RuntimeError), transaction.atomic():
        outputs.make(document.pk, "chunks")
        assert names("stroma") == ["notes.md"]
        raise RuntimeError
    assert names("stroma") == []


def test_only_chunks_as_they_are_wanted_now_are_searched(document) -> None:
    outputs.make(document.pk, "chunks")
    setting = OutputSetting.objects.create(
        kind="chunks", method="sentences", options={"chunk_size": 150, "chunk_overlap": 0}
    )
    assert names("stroma") == []
    assert find.without_chunks(find.scope_of(None)) == 1
    outputs.make(document.pk, "chunks")
    assert names("stroma") == ["notes.md"]
    setting.delete()
    assert len(search("stroma", "lexical").results[0].snippet) > 150


def test_a_document_whose_file_holds_another_one_is_out() -> None:
    old = chunked.document("old.md", "Copper melts.", path="/files/a.md")
    assert names("copper") == ["old.md"]
    new = chunked.document("new.md", "Copper melts.", path="/files/b.md")
    DocumentSource.objects.create(document=new, path="/files/a.md", replaces=old, seen_at=timezone.now() + timedelta(1))
    assert names("copper") == ["new.md"]


@pytest.mark.parametrize("mode", MODES)
def test_the_scope_holds_before_anything_is_ranked(mode) -> None:
    """Forty better ones outside: were the best ten taken first, none of the scope would be left."""
    better = [chunked.document(f"{n}.txt", "copper copper copper", mime="text/plain") for n in range(40)]
    mine = chunked.document("mine.md", "A note on copper, tin, zinc and lead.", path="/mine/mine.md", learner="Ada")
    chunked.vectors(mine, *better)
    collection = Collection.objects.create(name="Metals")
    CollectionDocument.objects.create(collection=collection, document=mine)
    scopes = (
        {"learner": "Ada"}, {"folder": "/mine"}, {"collection": "metals"}, {"file_ids": [mine.pk]},
        {"types": ["text/markdown"]}, {"names": ["*.md"]},
    )  # fmt: skip
    assert "mine.md" not in names("copper", mode, top_k=10)
    for scope in scopes:
        assert names("copper", mode, top_k=10, scope=scope) == ["mine.md"], scope
    assert names("copper", mode, top_k=10, learner=mine.learner) == ["mine.md"]
    assert names("copper", mode, scope={"types": ["text/plain"]}, learner=mine.learner) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_best_of_the_library_are_the_same_whichever_is_asked_first(mode, monkeypatch) -> None:
    """The best of all with a look at which are current, or only current ones from the start: also where most are not."""
    monkeypatch.setattr(searched, "FEWEST", 4)
    chance = random.Random(5)
    made = [chunked.document(f"{n}.md", *_texts(chance)) for n in range(12)]
    chunked.vectors(*made)
    for number, one in enumerate(made):
        if number % 3:  # their chunks are of a former primary
            rows.version(one)
    mine = chunked.document("mine.md", "tin and zinc", "copper at last")
    chunked.vectors(mine)
    for query in ("copper", "copper tin", "lead or zinc", "copper -tin"):
        for top_k in (1, 3, 10):
            found = search(query, mode, top_k)
            # The scope of every document says the same and is no whole library.
            slow = search(query, mode, top_k, {"names": ["*"]})
            assert found == slow
            assert {one.filename for one in found.results} <= {f"{n}.md" for n in range(0, 12, 3)} | {"mine.md"}


def _texts(chance: random.Random) -> list[str]:
    return [
        " ".join(chance.choices(["copper", "tin", "zinc", "lead", "gold"], k=chance.randrange(2, 7))) for _ in range(3)
    ]


def test_of_too_many_matches_the_newest_are_ranked_and_it_says_so(monkeypatch) -> None:
    monkeypatch.setattr(lexical, "MOST", 5)
    chunked.document("old.md", "copper copper copper copper")
    assert search("copper", "lexical").notes == ()
    chunked.document("new.md", *["a note on copper"] * 4)
    assert len(search("copper", "lexical", top_k=10).results) == 5
    assert search("copper", "lexical").notes == ()
    chunked.document("newer.md", *["a note on copper"] * 2)
    found = search("copper", "lexical", top_k=10)
    assert {one.filename for one in found.results} == {"new.md", "newer.md"}
    assert found.notes == (find.MANY.format(5),)
    assert search("copper", "lexical", scope={"names": ["old*"]}).notes == ()


def test_passages_of_former_texts_take_no_place_among_the_newest(monkeypatch) -> None:
    monkeypatch.setattr(lexical, "MOST", 5)
    chunked.document("best.md", "copper copper copper copper")
    rows.version(chunked.document("former.md", *["a note on copper"] * 5))  # its chunks are of a former primary
    chunked.document("new.md", "a note on copper and on much else")
    found = search("copper", "lexical", top_k=1)
    assert [one.filename for one in found.results] == ["best.md"]
    assert found.notes == ()  # two passages hold the word


# --- by meaning, and both --------------------------------------------------------------------------------------------


def test_by_meaning_the_nearest_comes_first_with_its_similarity() -> None:
    near = chunked.document("near.md", "copper wire")
    far = chunked.document("far.md", "copper roofs grow green in the rain")
    chunked.vectors(near, far)
    found = search("copper wire", "semantic").results
    assert [one.filename for one in found] == ["near.md", "far.md"]
    assert found[0].score == pytest.approx(1, abs=1e-5)
    assert found[1].score < 0.9


def test_another_space_than_the_active_one_is_not_looked_into(monkeypatch) -> None:
    made = chunked.document("a.md", "copper wire")
    chunked.vectors(made)
    assert names("copper", "semantic") == ["a.md"]
    space = active_space()
    type(space).objects.filter(pk=space.pk).update(active=False, stamp="another")
    assert names("copper", "semantic") == []


def test_an_index_answers_above_a_size_and_keeps_to_the_scope(settings) -> None:
    settings.OSII_SEARCH_EXACT_VECTORS = 5
    others = [chunked.document(f"{n}.txt", f"copper number {n}") for n in range(30)]
    mine = [chunked.document(f"{n}.md", f"a note on copper and lead, number {n}", learner="Ada") for n in range(8)]
    chunked.vectors(*mine, *others)
    exact = search("copper", "semantic", top_k=5, scope={"learner": "Ada"})
    space = active_space()
    scope = find.scope_of({"learner": "Ada"})
    assert not semantic.uses_index(space, find.searched(scope))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # checks that wait for the commit would lock the table
    assert semantic.build_index(space)
    assert not semantic.build_index(space)
    assert semantic.uses_index(space, find.searched(scope))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        found = search("copper", "semantic", top_k=5, scope={"learner": "Ada"})
    assert {one.filename for one in found.results} == {one.filename for one in exact.results}
    assert not semantic.uses_index(space, find.searched(find.scope_of({"file_ids": [mine[0].pk]})))


def test_both_lists_count_by_their_places_only() -> None:
    assert list(fused({1: 9.0, 2: 0.1, 3: 0.05}, {2: 0.9, 4: 0.8})) == [2, 1, 4, 3]
    assert fused({1: 5.0}, {1: 0.2}) == {1: 2 / 61}


@given(st.lists(st.permutations(range(8)), min_size=1, max_size=3))
def test_who_is_first_everywhere_is_first_of_all(lists) -> None:
    for one in lists:
        one.insert(0, 99)
    assert next(iter(fused(*(dict.fromkeys(one, 0.0) for one in lists)))) == 99


def test_hybrid_finds_what_either_finds_and_says_when_meaning_is_missing(monkeypatch) -> None:
    made = [chunked.document("a.md", "copper wire"), chunked.document("b.md", "wires of copper")]
    chunked.vectors(*made)
    assert set(names("copper wire", "hybrid")) == {"a.md", "b.md"}

    def missing(*_arguments) -> None:
        raise EmbeddingError("the model is not there")

    monkeypatch.setattr(semantic, "active_space", missing)
    found = search("copper wire", "hybrid")
    assert {one.filename for one in found.results} == {"a.md", "b.md"}
    assert found.notes == ("Only words were compared: the model is not there.",)
    with pytest.raises(EmbeddingError):
        search("copper wire", "semantic")


def test_what_is_excluded_is_not_found_by_meaning_either() -> None:
    made = [chunked.document("a.md", "copper wire"), chunked.document("b.md", "wires of copper at -5 degrees")]
    chunked.vectors(*made)
    for mode in ("semantic", "hybrid"):
        assert names("wire -degrees", mode) == ["a.md"]
        assert names('wire -"wires of copper"', mode) == ["a.md"]
    assert set(names("wire at -5", "semantic")) == {"a.md", "b.md"}


def test_an_answer_by_meaning_alone_says_so() -> None:
    chunked.vectors(chunked.document("a.md", "copper wire"))
    assert search("zeppelin", "hybrid").notes == (find.MEANING_ONLY,)
    assert search("copper", "hybrid").notes == search("zeppelin", "semantic").notes == ()


# --- results ---------------------------------------------------------------------------------------------------------


def test_a_result_names_its_page_and_place_and_marks_the_words() -> None:
    made = rows.document("it.pdf")
    chunked.chunks(rows.version(made), "One.", "The moon's <b>gravity</b> causes\ntides.", pages=(3, 4))
    result = search("tide gravity", "lexical").results[0]
    assert (result.file_id, result.page, result.char_start, result.char_end) == (made.pk, 3, 6, 45)
    assert result.chunk_id.endswith("000001")
    assert result.snippet == "The moon's <b>gravity</b> causes tides."
    assert [result.snippet[a:b] for a, b in result.highlights] == ["gravity", "tides"]


def test_a_snippet_of_a_long_chunk_is_around_its_words() -> None:
    made = rows.document("long.md")
    chunked.chunks(rows.version(made), "filler words " * 80 + "the moon causes tides here. " + "more of it " * 80)
    result = search("moon tides", "lexical").results[0]
    assert [result.snippet[a:b] for a, b in result.highlights] == ["moon", "tides"]
    assert result.snippet.startswith("…")
    assert result.snippet.endswith("…")
    assert len(result.snippet) < 300


@given(
    text=st.text(alphabet="ab c\n😀", min_size=1, max_size=400),
    marks=st.lists(st.tuples(st.integers(0, 399), st.integers(1, 30)), max_size=6),
    size=st.integers(20, 120),
)
def test_marks_of_a_snippet_hold_what_they_held_in_the_text(text, marks, size) -> None:
    spans = [(at, min(at + length, len(text))) for at, length in marks if at < len(text)]
    made = cut(text, spans, size)
    assert len(made.text) <= max(size, 1) + 2
    inner = made.text.removeprefix("…").removesuffix("…")
    assert inner in text.replace("\n", " ")
    last = 0
    for start, end in made.highlights:
        assert last <= start < end <= len(made.text)
        assert "…" not in made.text[start:end]
        last = end


@pytest.mark.parametrize("mode", MODES)
def test_the_number_of_statements_does_not_grow(mode) -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert search("copper wire", mode, top_k=50).results
        return len(queries)

    chunked.vectors(chunked.document("a.md", "copper wire"))
    few = statements()
    chunked.vectors(*(chunked.document(f"{n}.md", "copper wire, and tin", "wire of copper") for n in range(15)))
    assert statements() == few

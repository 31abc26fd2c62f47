"""Search by words: languages, accents, identifiers, phrases, and queries that are no words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osii.library.requests import BadRequest
from osii.library.search.find import COMMON_ONLY, MAX_CHARACTERS, RELAXED, search
from osii.library.search.query import read
from tests.osii.library.search import chunked

pytestmark = pytest.mark.django_db


def names(text: str, **more) -> list[str]:
    return [one.filename for one in search(text, "lexical", **more).results]


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("en", "The leaves were absorbing red light.", "leaf absorbs"),
        ("de", "In den alten Häusern wohnten viele Familien.", "Haus Familie"),
        ("fr", "Les marées montantes surprennent les promeneurs.", "marée promeneur"),
        ("es", "Las canciones populares nacieron en las montañas.", "montaña popular"),
        ("ru", "Приливы зависят от луны.", "прилив луна"),
        ("und", "Lorem ipsum dolor.", "ipsum"),
    ],
)
def test_each_language_is_stemmed_in_its_own_way(language, text, query) -> None:
    chunked.document("it.md", text, language=language)
    if language == "en":
        query = query.replace("leaf", "leaves")
    assert names(query) == ["it.md"]


def test_a_word_is_not_stemmed_in_another_language() -> None:
    """A negative control of the test above: without a language the same word is found as it stands only."""
    chunked.document("unknown.md", "In den alten Häusern wohnten viele.", language="und")
    assert names("Haus") == []
    assert names("Häusern") == ["unknown.md"]


@pytest.mark.parametrize("typed", ["Übergröße", "ubergrosse", "ÜBERGRÖSSE"])
def test_umlauts_are_found_with_and_without(typed) -> None:
    chunked.document("de.md", "Die Jacke gibt es auch in Übergröße.", language="de")
    assert names(typed) == ["de.md"]


@pytest.mark.parametrize("typed", ["café", "cafe", "CAFÉ", "cafés"])
def test_accents_are_found_with_and_without(typed) -> None:
    chunked.document("fr.md", "On se retrouve au café du port.", language="fr")
    assert names(typed) == ["fr.md"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("AB-1234", "The pump AB-1234 was replaced in spring."),
        ("ab-1234", "The pump AB-1234 was replaced in spring."),
        ("3.14", "It was taken to be 3.14."),
        ("x86_64", "Built for x86_64-linux."),
        ("RFC9457", "As RFC9457/1 says."),
        ("config.yaml", "Edit /etc/app/config.yaml first."),
        ("v2.0.1", "Since v2.0.1, it is so."),
        ("the AB-1234", "The pump AB-1234 was replaced in spring."),
        ("pump AB-1234?", "The pump AB-1234 was replaced in spring."),
    ],
)
def test_identifiers_are_found_as_they_stand(query, text) -> None:
    chunked.document("it.md", text)
    chunked.document(
        "parts.md", "Pump AB, and 1234 of them; 13.14, 3.141, x86 64, RFC 9457 7, config of yaml, v2 and 0.1."
    )
    assert names(query)[0] == "it.md"


@pytest.mark.parametrize("text", ["It is 13.14 long.", "It is 3.141 long.", "Version 3.14.2 came.", "Part AB-12345."])
def test_a_number_is_not_found_inside_of_another(text) -> None:
    chunked.document("other.md", text)
    assert names("3.14") == names("AB-1234") == []


def test_words_of_scripts_without_spaces_are_found() -> None:
    chunked.document("ja.md", "月の引力が潮汐を引き起こします。", language="ja")
    assert names("潮汐") == ["ja.md"]
    assert names("太陽") == []


def test_a_phrase_is_its_words_in_order() -> None:
    chunked.document("phrase.md", "Here the light reactions split water.")
    chunked.document("words.md", "These reactions need light.")
    assert names('"light reactions"') == ["phrase.md"]
    assert set(names("light reactions")) == {"phrase.md", "words.md"}
    assert names("light -water") == ["words.md"]
    assert set(names("split or need")) == {"phrase.md", "words.md"}


def test_without_all_of_the_words_some_of_them_are_found_and_it_says_so() -> None:
    chunked.document("tides.md", "The moon causes tides.")
    found = search("what causes tides on Saturn", "lexical")
    assert ([one.filename for one in found.results], found.notes) == (["tides.md"], (RELAXED,))
    assert search('"tides causes"', "lexical").results == ()


def test_what_says_it_more_often_comes_first_and_equal_ones_stay_in_order() -> None:
    chunked.document("once.md", "Copper is red. It melts at a high temperature, as other metals do.")
    chunked.document("often.md", "Copper is red. Copper melts. Copper wires are of copper.")
    for name in ("a.md", "b.md", "c.md"):
        chunked.document(name, "Tin melts.")
    assert names("copper") == ["often.md", "once.md"]
    assert names("tin") == ["a.md", "b.md", "c.md"]


def test_nothing_is_found_of_what_is_not_there() -> None:
    chunked.document("tides.md", "The moon causes tides.")
    assert search("zeppelin", "lexical").to_dict() == {"mode": "lexical", "results": [], "notes": []}


def test_common_words_alone_are_told() -> None:
    chunked.document("tides.md", "The moon causes tides, and it is what it is.", language="en")
    found = search("-moon", "lexical")
    assert (found.results, found.notes) == ((), (COMMON_ONLY,))


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE osii_chunk; --", "') OR 1=1 --", "a & | ! b", "((((", "foo:*", "\\", "%", "_", "%s", "%(x)s",
        '"', "-", "<script>", "a\\'b", ":A", "tides & !moon", "*", "[", "(?<!", "x86_64(", "a{2}", "\\d+1", "$$", "--1",
    ],
)  # fmt: skip
def test_whatever_is_typed_is_a_query(text) -> None:
    chunked.document("plain.md", "The moon causes tides.")
    found = search(text, "lexical")
    assert all(one.filename == "plain.md" for one in found.results)
    assert names("tides") == ["plain.md"]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=60))
def test_any_text_is_a_query(text) -> None:
    if text.strip():
        assert search(text, "lexical").results == ()


def test_a_percent_sign_or_underscore_stands_for_itself() -> None:
    chunked.document("other.md", "abXc1 and ab1c1")
    assert names("ab_c1") == names("ab%c1") == []


@given(st.text(alphabet="-(!&|:,\"' ax\u2014", max_size=20), st.integers(1, 120))
def test_signs_in_any_number_are_a_query(signs, times) -> None:
    """PostgreSQL refuses more than 32 dashes before each other: a pasted line, or a row of them."""
    read(f"tea {signs * times} x"[:MAX_CHARACTERS])


def test_signs_of_any_script_part_words() -> None:
    """Typographic quotation marks, dashes, ellipses and spaces that do not break; the soft hyphen is nothing."""
    around = (
        "“{}”",
        "„{}“",
        "«\u00a0{}\u00a0»",
        "…{}…",
        "so—{}—so",
        "• {}",
        "「{}」",
        "{}’s",
        "→{}",
        "{}。",
        "\ufeff{}",
        "😀{}",
    )
    texts = [one.format("photosynthesis") for one in around]
    texts.append("photo\u00adsynthesis")
    for number, text in enumerate(texts):
        chunked.document(f"{number}.md", f"In it {text} begins.", language=("en", "de", "und")[number % 3])
    everything = {f"{number}.md" for number in range(len(texts))}
    for query in ("photosynthesis", "“photosynthesis”", "photosynthesis…", "begins — photosynthesis"):
        assert set(names(query, top_k=50)) == everything
    (snippet,) = [one for one in search("photosynthesis", "lexical", top_k=50).results if one.filename == "0.md"]
    (span,) = snippet.highlights
    assert snippet.snippet[slice(*span)] == "photosynthesis"


def test_a_dash_excludes_what_it_stands_before_and_nothing_else() -> None:
    chunked.document("both.md", "A tea beside a cup.")
    chunked.document("one.md", "A tea beside a bowl.")
    assert (
        names("tea - cup") == names("tea -- cup") == names("tea --cup") == names(f"tea {'-' * 80} cup") == ["both.md"]
    )
    assert names("tea -cup") == names('tea -"cup"') == names("tea -(cup)") == ["one.md"]


def test_a_huge_query_ends_early_and_a_long_one_does_not() -> None:
    chunked.document("tides.md", "The moon causes tides.")
    with pytest.raises(BadRequest, match="at most 2,000") as error:
        search("tides " * 100_000)
    assert error.value.field == "query"
    assert names(("tides " * MAX_CHARACTERS)[:MAX_CHARACTERS]) == ["tides.md"]
    assert names(" ".join(f"w{n}" for n in range(300))) == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": "  "}, "query"), ({"text": "a\0b"}, "query"), ({"text": "\ud800"}, "query"),
        ({"mode": "guess"}, "mode"), ({"top_k": 0}, "top_k"), ({"top_k": 101}, "top_k"),
        ({"scope": {"stale": ["options changed"]}}, "scope.stale"), ({"scope": {"colour": "red"}}, "scope.colour"),
        ({"scope": {"names": ["[z-a]*"]}}, "scope.names"), ({"scope": {"types": ["t[9-0]"]}}, "scope.types"),
        ({"scope": {"learner": "Nobody"}}, "scope.learner"), ({"scope": {"collection": "None"}}, "scope.collection"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(arguments, field) -> None:
    with pytest.raises(BadRequest) as error:
        search(**({"text": "tides"} | arguments))
    assert error.value.field == field

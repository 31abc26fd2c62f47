"""The labelled set is whole, matching is strict, and the rules worker does not fall behind what it reached."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from extraction.workers import get_worker
from tests.extraction.scripted_endpoint import calls, finish, serving, stage
from tests.quality.excerpts import FOLDER, HALVES, Label, load, read
from tests.quality.matching import Claim, judge, matches, paired
from tests.quality.running import judged
from tests.quality.scoring import MAIN_KINDS, Score, table, wilson

# Somewhat below what the tuning half reached; see docs/quality.md. (precision, recall) of the four main kinds together.
FLOORS = {"en": (0.9, 0.75), "de": (0.75, 0.7), "fr": (0.8, 0.7), "es": (0.75, 0.6)}


def claim(text: str, kind: str = "fact", level: str | None = None, speaker: str = "user") -> Claim:
    return Claim(kind, text, level, frozenset({speaker}))


def label(*has: str, kind: str = "fact", **more: object) -> Label:
    return Label(tuple(kind.split("|")), has, **more)


def test_the_set_is_large_enough_in_both_halves_and_every_language() -> None:
    counts = Counter((one.language, one.half) for one in load())
    assert {language for language, _ in counts} == {"en", "de", "fr", "es"}
    for language, least in (("en", 28), ("de", 6), ("fr", 6), ("es", 6)):
        halves = [counts[language, half] for half in HALVES]
        assert sum(halves) >= least
        assert abs(halves[0] - halves[1]) <= 1
    assert len({one.domain for one in load() if one.language == "en"}) >= 10


def test_the_halves_are_those_that_were_drawn() -> None:
    by_language: dict[str, list[str]] = {}
    for one in load():
        by_language.setdefault(one.language, []).append(one.name)
    for names in by_language.values():
        drawn = sorted(names, key=lambda name: hashlib.blake2b(name.encode(), digest_size=16).hexdigest())
        for number, name in enumerate(drawn):
            assert (FOLDER / HALVES[number >= len(drawn) // 2] / f"{name}.toml").exists(), name


def test_every_excerpt_is_labelled_and_no_label_contradicts_another() -> None:
    for one in load():
        assert one.messages
        assert all(entry.said_at for entry in one.messages)
        assert one.expected or one.forbidden, one.name
        assert all(wanted.kinds for wanted in (*one.expected, *one.acceptable)), one.name
        assert all(unwanted.why for unwanted in one.forbidden), one.name
    kinds = Counter(wanted.kinds[0] for one in load() for wanted in one.expected)
    assert all(kinds[kind] >= 15 for kind in MAIN_KINDS)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("expected = [{ kind = 'facts', has = ['a'] }]", "not a label"),
        ("expected = [{ kind = 'fact' }]", "not a label"),
        ("expected = [{ kind = 'fact', has = ['a'], level = 'good' }]", "no such level"),
    ],
)
def test_a_label_that_nothing_could_match_names_its_file(tmp_path, line: str, said: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(f"language = 'en'\ndomain = 'x'\nsaid = []\n[labels]\nacceptable = []\nforbidden = []\n{line}\n")
    with pytest.raises(ValueError, match=rf"broken\.toml: .*{said}"):
        read(path)


def test_a_claim_must_have_kind_level_and_every_word_and_none_that_it_must_lack() -> None:
    wanted = label("ferment*", "5|five", lacks=("wine",), level="solid")
    assert matches(claim("Dough ferments for Five hours.", level="solid"), wanted)
    assert not matches(claim("Dough ferments for five hours.", level="shaky"), wanted)
    assert not matches(claim("Dough ferments for 15 hours.", level="solid"), wanted)
    assert not matches(claim("Dough and wine ferment for 5 hours.", level="solid"), wanted)
    assert not matches(claim("Dough ferments for 5 hours.", kind="decision", level="solid"), wanted)
    assert matches(claim("We take the train.", kind="decision"), label("train", kind="decision"))
    assert not matches(
        claim("We take the train.", kind="decision", speaker="assistant"), label("train", kind="decision")
    )


def test_one_claim_counts_for_one_label_and_pairs_are_as_many_as_there_can_be() -> None:
    both, one = claim("Salt and sugar draw water."), claim("Salt is white.")
    assert len(paired([both], (label("salt"), label("sugar")))) == 1
    assert paired([both, one], (label("salt"), label("sugar"))) == {one: label("salt"), both: label("sugar")}


def test_forbidden_claims_and_leftovers_are_false_and_near_misses_are_told() -> None:
    excerpt = replace(
        load("tuning")[0],
        expected=(label("salt"), label("rye", kind="decision")),
        acceptable=(label("pepper"),),
        forbidden=(Label((), ("guess",), why="a guess"),),
    )
    claims = [claim(text) for text in ("Salt, a guess.", "Rye rises.", "Pepper burns.", "More.")]
    found = judge(excerpt, claims)
    assert found.hits == ()
    assert [why for _, why in found.false] == ["a guess", "not labelled", "not labelled"]
    assert [one.text for one in found.neutral] == ["Pepper burns."]
    assert {one.text for one, _ in found.other_kind} == {"Salt, a guess.", "Rye rises."}


def test_shares_and_their_intervals() -> None:
    score = Score(hits=8, false=2, missed=8)
    assert (score.precision, score.recall) == (0.8, 0.5)
    assert score.f1 == pytest.approx(16 / 26)
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) is None
    assert Score().precision is None


@pytest.mark.django_db
def test_the_rules_worker_keeps_what_it_reached_on_the_tuning_half() -> None:
    found = [judged(excerpt, get_worker("rules")) for excerpt in load("tuning")]
    for language, (precision, recall) in FLOORS.items():
        score = table([one for one in found if one.excerpt.language == language])["main four"]
        assert score.precision >= precision, f"{language}: {score}"
        assert score.recall >= recall, f"{language}: {score}"


@pytest.mark.django_db
def test_a_language_model_is_judged_by_the_same_way(settings) -> None:
    excerpt = next(one for one in load("tuning") if one.name == "en-bayes")
    right = "Ignoring the prior is called the base rate fallacy."
    script = [
        calls(
            stage(right, "m2.0", understanding="not_yet_engaged"), stage("The learner is 99% sick.", "m1.0"), finish(2)
        )
    ]
    with serving(settings) as start:
        start(*script)
        found = judged(excerpt, get_worker("llm"))
    assert [claim.text for claim, _ in found.hits] == [right]
    assert [why for _, why in found.false] == ["a belief that was wrong"]

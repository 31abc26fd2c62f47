"""The commands `context` and `backfill_embeddings`, as a person types them."""

import io
import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from coverage.models import Learner
from graphctx import embedding
from graphctx.embedders.hashing import HashingEmbedder
from graphctx.embedding import active_space
from graphctx.models import EmbeddingSpace, PropositionVector

from .conftest import SOLAR, add_evidence, add_propositions


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def complaint(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == 1
    return str(caught.value)


class Revised(HashingEmbedder):
    spec = replace(HashingEmbedder.spec, name="revised", revision="2")


@pytest.fixture
def revised(monkeypatch: pytest.MonkeyPatch, settings) -> Revised:
    """A second embedder in the registry; `settings.OSII_EMBEDDER = "revised"` chooses it."""
    embedder = Revised()
    monkeypatch.setitem(embedding._warm, ("revised", str(settings.OSII_HOME)), embedder)
    return embedder


class TestContext:
    def test_the_block_and_its_numbers(self, learner: Learner) -> None:
        rows = add_propositions(learner, SOLAR)
        add_evidence(rows[0], "solid")
        printed = run("context", "What causes the tides?")
        assert "- [solid] The learner knows that the moon's gravity causes the tides." in printed
        assert "5 propositions," in printed
        assert "of 1,024 tokens, for Aiko" in printed

    def test_json_is_the_context(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR)
        data = json.loads(run("context", "tides", "--budget", "256", "--json"))
        assert set(data) == {"tokens", "count", "budget", "items", "block"}
        assert data["tokens"] <= data["budget"] == 256

    def test_explain_shows_the_cut_and_the_times(self, learner: Learner) -> None:
        rows = add_propositions(learner, SOLAR)
        for level in ("not_yet_engaged", "shaky", "shaky", "solid", None):
            add_evidence(rows[0], level)
        printed = run("context", "tides", "--budget", "128", "--explain")
        assert "not yet engaged > shaky > solid  The learner knows that the moon's gravity" in printed
        assert "more than 128" in printed
        assert " no  " in printed
        assert "Times: model" in printed
        explained = json.loads(run("context", "tides", "--explain", "--json"))
        assert set(explained["timings_ms"]) == {"model", "space", "embed", "scan", "lines", "block"}
        assert len(explained["candidates"]) == 5
        moon = next(row for row in explained["candidates"] if row["proposition_id"] == str(rows[0].pk))
        assert [step["level"] for step in moon["levels"]] == ["not_yet_engaged", "shaky", "shaky", "solid"]
        assert moon["level"] == "solid"

    def test_an_empty_graph_says_so(self, learner: Learner) -> None:
        assert run("context", "tides") == "No context for Aiko: the graph holds nothing for this learner yet.\n"

    def test_budget_zero_is_off(self, learner: Learner) -> None:
        assert "graph context is off" in run("context", "tides", "--budget", "0")
        assert json.loads(run("context", "tides", "--budget", "0", "--json", "--explain"))["space"] is None

    @pytest.mark.parametrize(("budget", "says"), [("100", "steps of 128"), ("5000", "0 to 4096"), ("lots", "'lots'")])
    def test_a_wrong_budget(self, learner: Learner, budget: str, says: str) -> None:
        assert says in complaint("context", "tides", "--budget", budget)

    @pytest.mark.parametrize("topic", [[], [""], [" \n"]])
    def test_an_empty_topic(self, learner: Learner, topic: list[str]) -> None:
        assert "the topic is empty" in complaint("context", *topic)

    def test_no_learner_yet(self, db: None) -> None:
        assert "import_chats makes one" in complaint("context", "tides")
        assert "import_chats makes one" in complaint("context", "tides", "--learner", "Aiko")

    def test_two_learners_must_be_told_apart(self, learner: Learner, other_learner: Learner) -> None:
        assert "--learner NAME; there are: 'Aiko', 'Ben'" in complaint("context", "tides")
        assert "there is no learner 'Cho'; there are: 'Aiko', 'Ben'" in complaint(
            "context", "tides", "--learner", "Cho"
        )
        assert "lone surrogate" in complaint("context", "tides", "--learner", "\udcff")
        add_propositions(other_learner, SOLAR[:1])
        assert "for Ben" in run("context", "tides", "--learner", "Ben")
        assert "holds nothing" in run("context", "tides", "--learner", "Aiko")

    def test_a_changed_embedder_names_the_way_out(self, learner: Learner, revised: Revised, settings) -> None:
        add_propositions(learner, SOLAR)
        settings.OSII_EMBEDDER = "revised"
        assert "manage.py backfill_embeddings" in complaint("context", "tides")


class TestBackfill:
    def test_it_fills_what_is_missing_and_then_has_nothing_to_do(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR, vectors=False)
        first = json.loads(run("backfill_embeddings", "--json"))
        assert (first["missing"], first["added"], first["active"]) == (5, 5, True)
        assert "Nothing to embed" in run("backfill_embeddings")

    def test_a_dry_run_writes_nothing(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR, vectors=False)
        printed = run("backfill_embeddings", "--dry-run")
        assert "Would embed 5 propositions into hashing" in printed
        assert not EmbeddingSpace.objects.exists()
        assert not PropositionVector.objects.exists()

    def test_a_changed_embedder_is_filled_and_switched_to(self, learner: Learner, revised: Revised, settings) -> None:
        add_propositions(learner, SOLAR)
        settings.OSII_EMBEDDER = "revised"
        assert "Would then make it the active space" in run("backfill_embeddings", "--dry-run")
        assert "It is the active space now" in run("backfill_embeddings")
        assert active_space().name == "revised"
        assert "5 propositions," in run("context", "tides")

    def test_another_space_is_filled_ahead_without_switching(
        self, learner: Learner, revised: Revised, settings
    ) -> None:
        add_propositions(learner, SOLAR)
        data = json.loads(run("backfill_embeddings", "--space", "revised", "--json"))
        assert (data["added"], data["active"], data["switched"]) == (5, False, False)
        assert active_space().name == "hashing"
        settings.OSII_EMBEDDER = "revised"
        data = json.loads(run("backfill_embeddings", "--json"))
        assert (data["added"], data["switched"]) == (0, True)

    def test_an_unknown_space_names_the_known_ones(self, db: None) -> None:
        assert "minilm, embeddinggemma, endpoint, hashing" in complaint("backfill_embeddings", "--space", "bert")

    def test_a_missing_model_says_what_to_do(self, db: None) -> None:
        assert "put the files of google/embeddinggemma-300m" in complaint(
            "backfill_embeddings", "--space", "embeddinggemma"
        )


class TestCleanUp:
    @pytest.fixture
    def moved(self, learner: Learner, revised: Revised, settings) -> Learner:
        add_propositions(learner, SOLAR)
        settings.OSII_EMBEDDER = "revised"
        run("backfill_embeddings")
        return learner

    def test_it_shows_first_and_removes_when_told(self, moved: Learner) -> None:
        printed = run("backfill_embeddings", "--remove-old")
        assert "hashing (hashed-words, revision 1, 256 dimensions" in printed
        assert "5 vectors" in printed
        assert "Nothing is removed yet" in printed
        assert PropositionVector.objects.count() == 10
        before = Learner.objects.get(pk=moved.pk).graph_revision
        done = json.loads(run("backfill_embeddings", "--remove-old", "--yes", "--json"))
        assert (done["removed"], done["old"][0]["vectors"]) == (True, 5)
        assert set(PropositionVector.objects.values_list("space__name", flat=True)) == {"revised"}
        assert Learner.objects.get(pk=moved.pk).graph_revision > before
        assert "5 propositions," in run("context", "tides")
        assert "No space but the active one" in run("backfill_embeddings", "--remove-old")
        assert EmbeddingSpace.objects.count() == 2  # steers name them

    def test_a_dry_run_and_another_name_remove_nothing(self, moved: Learner) -> None:
        run("backfill_embeddings", "--remove-old", "--yes", "--dry-run")
        assert "No space but" in run("backfill_embeddings", "--remove-old", "--yes", "--space", "minilm")
        assert PropositionVector.objects.count() == 10

    def test_the_way_back_after_it_is_to_embed_again(self, moved: Learner, settings) -> None:
        run("backfill_embeddings", "--remove-old", "--yes")
        settings.OSII_EMBEDDER = "hashing"
        assert "Embedded 5 propositions into hashing" in run("backfill_embeddings")
        assert "5 propositions," in run("context", "tides")

    def test_yes_alone_is_not_enough(self, db: None) -> None:
        assert "--yes belongs to --remove-old" in complaint("backfill_embeddings", "--yes")

    def test_an_index_is_made_once(self, learner: Learner) -> None:
        add_propositions(learner, SOLAR)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert "The index of hashing is made." in run("backfill_embeddings", "--build-index")
        assert "is there already" in run("backfill_embeddings", "--build-index")

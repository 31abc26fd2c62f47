"""One search: the scope, the lists by words and by meaning, both as one, and what each result shows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import QuerySet

from coverage.models import Learner
from coverage.view import MalformedParts, check_storable
from extraction.documents.selectors import replaced
from extraction.models import Document
from graphctx.embedding import EmbeddingError

from .. import methods, scopes, staleness
from ..models import Chunk, OutputKind
from ..requests import BadRequest, Scope
from . import lexical, query, semantic
from .searched import Searched
from .snippets import Snippet, snippets

LEXICAL, SEMANTIC, HYBRID = MODES = ("lexical", "semantic", "hybrid")
MAX_CHARACTERS = 2000
MAX_RESULTS = 100
RESULTS = 10

FUSION = 60
"""k of reciprocal rank fusion: the n-th of a list counts 1 / (k + n), whatever its score there."""
CANDIDATES = 200
"""As many of each list are fused; a chunk that is far down in both is no result."""

RELAXED = "No passage holds all of the words; these hold some of them."
MEANING_ONLY = "No passage holds these words; these are the nearest in meaning."
COMMON_ONLY = "These words are too common to be looked for."
MANY = "More than {:,} passages hold these words; the newest of them were compared."
NO_MEANING = "Only words were compared: {}."


@dataclass(frozen=True, slots=True)
class Result:
    """A chunk. ``char_start`` and ``char_end`` are its place in the document's primary text, in code points.

    ``score``: the rank by words, the cosine similarity by meaning, or the sum of both lists' reciprocal ranks.
    """

    file_id: str
    filename: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    score: float
    chunk_id: str
    page: int | None
    char_start: int
    char_end: int
    extraction_id: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"highlights": [list(span) for span in self.highlights]}


@dataclass(frozen=True, slots=True)
class Found:
    """Results, best first, and what the reader should know of how they were found."""

    mode: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"mode": self.mode, "results": [one.to_dict() for one in self.results], "notes": list(self.notes)}


def search(
    text: str,
    mode: str = HYBRID,
    top_k: int = RESULTS,
    scope: Scope | Mapping[str, Any] | None = None,
    *,
    learner: Learner | None = None,
) -> Found:
    """The ``top_k`` best chunks of the scope, by default of the whole library; with ``learner`` of their documents only.

    Only chunks of documents' primaries are found, made as they are wanted now. The scope holds before anything is ranked.
    Raises BadRequest for what is wrong with the query, and EmbeddingError when meanings cannot be compared and nothing
    else was asked for.
    """
    text = check(text, mode, top_k)
    outputs = searched(scope_of(scope), learner)
    words = query.read(text)
    scores, notes = _scores(text, words, mode, top_k, outputs)
    return Found(mode, _results(dict(list(scores.items())[:top_k]), words), tuple(notes))


def check(text: str, mode: str, top_k: int) -> str:
    """The query without white space around it. Raises BadRequest."""
    try:
        check_storable(text, "")
    except MalformedParts as error:
        raise BadRequest("query", str(error).removeprefix(": ")) from None
    text = text.strip()
    if not text:
        raise BadRequest("query", "say what to look for")
    if len(text) > MAX_CHARACTERS:
        raise BadRequest("query", f"has {len(text):,} characters; at most {MAX_CHARACTERS:,} are looked for")
    if mode not in MODES:
        raise BadRequest("mode", f"{mode!r} is no way to search", MODES)
    if not 1 <= top_k <= MAX_RESULTS:
        raise BadRequest("top_k", f"must be from 1 to {MAX_RESULTS}")
    return text


def scope_of(given: Scope | Mapping[str, Any] | None) -> Scope:
    """The conditions of a search; none are the whole library. Raises BadRequest."""
    scope = given if isinstance(given, Scope) else Scope.of(given) if given else Scope(all=True)
    for name in ("stale", "failed"):
        if getattr(scope, name):
            raise BadRequest(f"scope.{name}", "a search has no such condition: what is stale is not searched")
    return scope


def searched(scope: Scope, learner: Learner | None = None) -> Searched:
    """The chunk outputs that a search looks into. A document whose file holds another one by now is left out."""
    current = staleness.current_outputs(methods.wanted(OutputKind.CHUNKS))
    return Searched(
        current.filter(document__in=_documents(scope, learner)), scope == Scope(all=True) and learner is None
    )


def without_chunks(scope: Scope, learner: Learner | None = None) -> int:
    """How many documents of the scope have a text and no current chunks, so that no search finds them."""
    there = staleness.current_outputs(methods.wanted(OutputKind.CHUNKS)).values("document")
    return _documents(scope, learner).filter(primary__isnull=False).exclude(pk__in=there).count()


def _documents(scope: Scope, learner: Learner | None) -> QuerySet[Document]:
    documents = scopes.in_scope(scope)
    if learner is not None:
        documents = documents.filter(learner=learner)
    return documents.exclude(replaced())


def _scores(
    text: str, words: query.Words, mode: str, top_k: int, outputs: Searched
) -> tuple[dict[int, float], list[str]]:
    notes: list[str] = []
    if mode == SEMANTIC:
        return _nearest(text, words, outputs, top_k), notes
    limit = top_k if mode == LEXICAL else CANDIDATES
    ranked = lexical.ranked(words, outputs, limit)
    if not ranked.scores and words.any_word:
        ranked = lexical.ranked_by_any(words, outputs, limit)
        notes += [RELAXED] if ranked.scores else []
    by_words = ranked.scores
    notes += [MANY.format(lexical.MOST)] if ranked.cut else []
    if not words.branches and not words.literals:
        notes.append(COMMON_ONLY)
    if mode == LEXICAL:
        return by_words, notes
    try:
        by_meaning = _nearest(text, words, outputs, limit)
    except EmbeddingError as error:
        return by_words, [*notes, NO_MEANING.format(error)]
    if by_meaning and not by_words and COMMON_ONLY not in notes:
        notes.append(MEANING_ONLY)
    return fused(by_words, by_meaning), notes


def _nearest(text: str, words: query.Words, outputs: Searched, limit: int) -> dict[int, float]:
    """Chunks nearest in meaning, without those that hold an excluded word."""
    if not words.excluded:
        return semantic.nearest(text, outputs, limit)
    found = semantic.nearest(words.wanted or text, outputs, max(limit, CANDIDATES))
    dropped = lexical.holding(words.excluded, found)
    return {key: score for key, score in found.items() if key not in dropped}


def fused(*lists: Mapping[int, float]) -> dict[int, float]:
    """Reciprocal rank fusion, best first; equal scores by key. Only the order of each list counts."""
    scores: dict[int, float] = {}
    for ranked in lists:
        for place, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (FUSION + place)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def _results(scores: Mapping[int, float], words: query.Words) -> tuple[Result, ...]:
    """In the order of the scores. Two statements."""
    rows = Chunk.objects.select_related("document").defer("terms").in_bulk(list(scores))
    shown = snippets(words, ((key, row.search_config, row.text) for key, row in rows.items()))
    return tuple(_result(rows[key], score, shown[key]) for key, score in scores.items() if key in rows)


def _result(row: Chunk, score: float, snippet: Snippet) -> Result:
    return Result(
        file_id=row.document_id,
        filename=row.document.filename,
        snippet=snippet.text,
        highlights=snippet.highlights,
        score=round(float(score), 6),
        chunk_id=row.chunk_id,
        page=row.source_pages[0] if row.source_pages else None,
        char_start=row.char_start,
        char_end=row.char_end,
        extraction_id=row.source_extraction_id,
    )

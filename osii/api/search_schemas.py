"""Shapes of a search and its answer."""

from typing import Annotated, Literal

from ninja import Schema
from pydantic import AfterValidator, Field, StrictInt

from osii.library.search.find import MAX_CHARACTERS, MAX_RESULTS, RESULTS

from .schemas import NOT_BLANK, LearnerName, Strict, Text, not_blank


class SearchScope(Strict):
    """Which documents: all conditions that are given must hold. None given are all."""

    learner: LearnerName | None = None
    collection: Annotated[Text, Field(max_length=200)] | None = Field(None, description="Name or id.")
    folder: Annotated[Text, Field(max_length=4000)] | None = Field(None, description="Documents seen below this path.")
    file_ids: list[Annotated[Text, Field(max_length=120)]] | None = Field(None, max_length=10_000)
    types: list[Annotated[Text, Field(max_length=200)]] | None = Field(
        None, max_length=100, description="Patterns of media types: text/*"
    )
    names: list[Annotated[Text, Field(max_length=200)]] | None = Field(
        None, max_length=100, description="Patterns of file names: *.md"
    )


class SearchIn(Strict):
    """What to look for, how, and where."""

    query: Annotated[Text, AfterValidator(not_blank), Field(max_length=MAX_CHARACTERS, json_schema_extra=NOT_BLANK)]
    mode: Literal["lexical", "semantic", "hybrid"] = "hybrid"
    top_k: StrictInt = Field(RESULTS, ge=1, le=MAX_RESULTS)
    scope: SearchScope | None = None


class SearchResult(Schema):
    file_id: str
    filename: str
    snippet: str = Field(description="Plain text of one line.")
    highlights: list[tuple[int, int]] = Field(description="Spans of the snippet that match, in code points.")
    score: float = Field(description="Comparable within one answer only.")
    chunk_id: str
    page: int | None
    char_start: int = Field(description="In the text of the document's primary, in code points.")
    char_end: int
    extraction_id: str


class SearchOut(Schema):
    mode: str
    results: list[SearchResult]
    notes: list[str] = Field(description="What the reader should know of how these were found.")

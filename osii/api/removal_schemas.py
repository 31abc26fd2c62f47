"""Bodies and answers of the routes that remove documents and old versions."""

from typing import Annotated, Literal
from uuid import UUID

from ninja import Field, Schema

from .library_schemas import Flag, Name
from .schemas import ChatFate, Strict, Text

Reason = Annotated[Text, Field(max_length=2000, description="Kept with the record.")]


class RemovalQuery(Strict):
    reason: Reason = ""


class RetentionQuery(Strict):
    """Which versions are old; nothing given means every version that is not in force."""

    keep: int = Field(0, ge=0, le=10_000, description="The newest that stay beside the primary.")
    older_than: int | None = Field(None, ge=0, le=36_500, description="In days.")
    failed: Annotated[bool, Field(description="Failed attempts too.")] = False
    even_needed: Annotated[bool, Field(description="Also what has live evidence, or what rolling back returns to.")] = (
        False
    )


class RetentionIn(Strict):
    extraction_ids: list[Name] = Field(min_length=1, max_length=1000)
    even_needed: Flag = False
    reason: Reason = ""


class RemovingOut(Schema):
    file_id: str
    filename: str
    size_bytes: int = Field(description="The kept file and its versions.")
    counts: dict[str, int] = Field(description="Rows that go: versions, outputs, instances, propositions, …")
    propositions: ChatFate
    in_hand: int = Field(description="Items of runs that work on it just now.")


class RemovalOut(Schema):
    """The record of a removal."""

    id: UUID
    what: Literal["document", "versions"]
    file_id: str
    filename: str
    versions: list[str]
    counts: dict[str, int]
    actor: str
    reason: str
    created_at: str


class OldVersionOut(Schema):
    extraction_id: str
    status: str
    created_at: str
    size_bytes: int
    kept: str | None = Field(description="Why it stays; null when it goes.")


class RetentionOut(Schema):
    file_id: str
    primary_id: str | None
    versions: list[OldVersionOut]
    removable_bytes: int

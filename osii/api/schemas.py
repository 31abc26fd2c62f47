"""Shapes of requests and answers, as the OpenAPI page shows them.

Answers are written as plain dictionaries by ``shapes``; these classes describe them. Requests are checked strictly:
no field that is not known, no text for a number, no text that cannot be stored.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictStr
from pydantic_core import PydanticCustomError

from coverage.models import GRAPH_CONTEXT_MAX_TOKENS, GRAPH_CONTEXT_STEP
from coverage.view import MalformedParts, canonical_json, check_storable
from graphctx.models import Kind, Level, Proposition
from graphctx.selection import check_budget
from osii.links import WORDS
from osii.propositions import STATES

BUDGETS = list(range(0, GRAPH_CONTEXT_MAX_TOKENS + 1, GRAPH_CONTEXT_STEP))
MAX_OPAQUE = 4000
"""Characters of a setting that is stored without being understood."""


def _storable(value: Any) -> Any:
    try:
        check_storable(value, "")
    except MalformedParts as error:
        raise PydanticCustomError("not_storable", "{reason}", {"reason": str(error).removeprefix(": ")}) from None
    return value


def _budget(value: Any) -> int:
    allowed = f"must be 0 to {GRAPH_CONTEXT_MAX_TOKENS} in steps of {GRAPH_CONTEXT_STEP}"
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return check_budget(value)
    except ValueError:
        pass
    raise PydanticCustomError("budget", allowed, {"allowed": BUDGETS})


def not_blank(value: str) -> str:
    value = value.strip()
    if not value:
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _opaque(value: Any) -> Any:
    _storable(value)
    if len(canonical_json(value)) > MAX_OPAQUE:
        raise PydanticCustomError("too_long", f"has more than {MAX_OPAQUE} characters as JSON")
    return value


Text = Annotated[StrictStr, AfterValidator(_storable)]
NOT_BLANK = {"pattern": r"\S"}
LearnerName = Annotated[
    Text, AfterValidator(not_blank), Field(min_length=1, max_length=200, json_schema_extra=NOT_BLANK)
]
Budget = Annotated[
    int,
    BeforeValidator(_budget),
    Field(json_schema_extra={"minimum": 0, "maximum": GRAPH_CONTEXT_MAX_TOKENS, "multipleOf": GRAPH_CONTEXT_STEP}),
]
ModelName = Annotated[Text, Field(max_length=200)]
Opaque = Annotated[Any, AfterValidator(_opaque)]


class Strict(Schema):
    model_config = ConfigDict(extra="forbid")


# --- requests --------------------------------------------------------------------------------------------------------


class SettingsIn(Strict):
    """Settings to change; what is left out stays as it is."""

    graph_context_tokens: Budget = Field(None, description="Tokens of prior knowledge that the chat may start with.")
    model: ModelName | None = Field(None, description="Stored as it is.")
    thinking: Opaque = Field(None, description="Stored as it is.")
    interactive_tools: list[Annotated[Text, Field(min_length=1, max_length=200)]] | None = Field(
        None, max_length=50, description="Tools that ask the learner something, beside those of the server's settings."
    )

    def given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class ChatIn(Strict):
    """A chat to begin."""

    id: UUID | None = Field(None, description="An id of the client's choice: then beginning twice begins one chat.")
    learner: LearnerName | None = Field(None, description="Whose chat it is. Needed with a staff token only.")
    title: Annotated[Text, Field(max_length=500)] = ""
    settings: SettingsIn = Field(default_factory=SettingsIn)


class ExtractIn(Strict):
    """Whether to read while enough is due, or all the rest, and what reads; left out, what is set up."""

    mode: Literal["due", "rest"] = "due"
    worker: Text | None = Field(None, description="rules, llm, or another that is installed.")
    model: Text | None = Field(None, description="Of the worker llm: the name of one of the models that staff set up.")


class RereadIn(Strict):
    """What to read again: one message by its id, or the positions from and to; nothing given is the whole chat."""

    first: int | None = Field(None, alias="from", ge=1, strict=True)
    last: int | None = Field(None, alias="to", ge=1, strict=True)
    message_id: Text | None = None


class TurnIn(Strict):
    """The turn that is about to begin."""

    turn: Annotated[Text, Field(max_length=200)] = Field(
        "",
        description="The client's own name of this turn: a repeated request under the same one gets the same answer.",
    )


class AckIn(Strict):
    """Which steer the model was given."""

    steer_id: UUID


class ContextIn(Strict):
    """A topic, as the first message of a chat would give it."""

    topic: Annotated[Text, AfterValidator(not_blank), Field(json_schema_extra=NOT_BLANK)]
    learner: LearnerName | None = None
    budget: Budget = 1024


class PropositionQuery(Strict):
    """Which propositions to list."""

    learner: LearnerName | None = None
    q: Annotated[Text, Field(max_length=500)] = Field("", description="Text that the claim contains, in any case.")
    mode: Literal["text", "meaning"] = Field(
        "text", description="How q is searched: as a text, or by meaning within one learner's graph, nearest first."
    )
    kind: Literal[*Kind.values] | None = None
    level: Literal[*Level.values, "none"] | None = Field(None, description="The level of the latest live evidence.")
    state: Literal[*STATES] | None = Field(
        None, description="`no_evidence`: live, and none of its evidence still stands."
    )
    chat: UUID | None = Field(None, description="Only what has evidence in this chat.")
    cursor: Annotated[Text, Field(max_length=200)] | None = Field(None, description="next_cursor of the page before.")
    limit: int = Field(50, ge=1, le=200)


PART = {"required": ["type"], "properties": {"type": {"type": "string"}}}


# --- answers ---------------------------------------------------------------------------------------------------------


class UIMessage(Schema):
    """An AI SDK UIMessage; its parts are kept as they are."""

    id: str = Field(min_length=1, max_length=200)
    role: Literal["system", "user", "assistant"]
    parts: list[Annotated[dict[str, Any], Field(json_schema_extra=PART)]]
    metadata: dict[str, Any] | None = Field(
        None,
        description="Kept as it is. A whole number `version` or a time `updatedAt` in it says which of two contents is newer.",
    )


class SettingsOut(Schema):
    graph_context_tokens: int
    model: str | None
    thinking: Any
    interactive_tools: list[str] | None


class ChatOut(Schema):
    id: UUID
    learner: str
    title: str
    source: str
    settings: SettingsOut
    started_at: str | None
    finished_at: str | None
    created_at: str
    updated_at: str


class TranscriptOut(ChatOut):
    messages: list[UIMessage]


class PutOut(Schema):
    """What became of each message, by id. ``moved`` only changed their place; ``stale`` were older than what is stored."""

    chat_id: UUID
    added: list[str]
    changed: list[str]
    moved: list[str]
    unchanged: list[str]
    stale: list[str]


class MessageCoverageOut(Schema):
    id: str
    position: int
    role: str
    tokens: int
    state: Literal["covered", "uncovered", "reopened", "parked", "unsettled", "empty", "in_flight"]
    fingerprint: str


class CoverageOut(Schema):
    chat_id: UUID
    total_tokens: int
    covered_tokens: int
    uncovered_tokens: int
    chunk_tokens: int
    due: bool
    messages: list[MessageCoverageOut]


class RunOut(Schema):
    id: UUID
    chat_id: UUID
    mode: Literal["due", "rest"]
    status: Literal["queued", "running", "succeeded", "failed", "aborted"]
    worker: str
    model: str = Field(description="The model that was asked for by name; empty for the default one.")
    attempt: int
    error: str
    abort_requested: bool = Field(description="It was told to stop; while it is running, it stops at its next step.")
    following: Literal["due", "rest"] | None = Field(
        description="What was asked for since it was told to stop: the mode of the run that starts when it has stopped."
    )
    queued_at: str
    started_at: str | None
    finished_at: str | None


class FinishOut(Schema):
    run: RunOut | None = Field(description="The run that reads the chat; null while too little is uncovered.")


class ExtractOut(Schema):
    run: RunOut


class AbortOut(Schema):
    aborted: bool = Field(description="Whether there was a run to abort.")


class RereadOut(Schema):
    chat_id: UUID
    messages: int = Field(description="Covered messages that will be read again by the next run.")
    tokens: int
    copies: int = Field(description="Those of them that were not named: later messages with the same content.")
    releases: int = Field(description="Lines appended to the ledger.")
    waiting: int = Field(description="Named messages that are not covered anyway.")


class MessageFate(Schema):
    """Propositions that had live evidence in the message."""

    kept: int = Field(description="Have live evidence elsewhere.")
    out_of_retrieval: int = Field(description="Have no live evidence left; they return if their source does.")


class ChatFate(MessageFate):
    """Propositions that had evidence in the chat."""

    removed: int = Field(description="Had no other evidence and are gone.")
    forgotten: int = Field(
        description="Were forgotten and had no other evidence: a mark without text stays, so that they are not learned again."
    )


class MessageDeleted(Schema):
    chat_id: UUID
    message_id: str
    propositions: MessageFate


class ChatDeleted(Schema):
    chat_id: UUID
    messages: int
    propositions: ChatFate


class ContextItem(Schema):
    proposition_id: UUID
    text: str
    level: Literal[*Level.values] | None
    similarity: float
    tokens: int


class ContextOut(Schema):
    tokens: int
    count: int
    budget: int
    items: list[ContextItem]
    block: str


class SteerOut(Schema):
    id: UUID
    text: str = Field(description="The exact block, to be put before the model as it is.")
    tokens: int
    count: int


class TurnOut(Schema):
    steer: SteerOut | None


class AckOut(Schema):
    steer_id: UUID
    status: Literal["delivered"]
    delivered_at: str


class ChatContextOut(ContextOut):
    status: Literal["none", "preparing", "ready", "offered", "delivered", "empty", "failed"]
    reason: str = Field(description="Why there is no block, where there is none.")


class InstanceOut(Schema):
    chat_id: UUID | None
    message_id: str | None
    document_id: str | None
    extraction_id: str | None
    fingerprint: str | None
    part: int
    char_start: int
    char_end: int
    quote: str
    level: Literal[*Level.values] | None
    speaker: str
    occurred_at: str | None
    batch_id: UUID | None
    live: bool


class LinkOut(Schema):
    """How the proposition stands to another of the same learner."""

    type: Literal[*WORDS]
    proposition_id: UUID


class PropositionOut(Schema):
    id: UUID
    learner: str
    text: str
    kind: Literal[*Kind.values]
    level: Literal[*Level.values] | None
    state: Literal[*Proposition.State.values]
    similarity: float | None = Field(None, description="Cosine to q; there with mode=meaning only.")
    instances: list[InstanceOut]
    links: list[LinkOut]


class PropositionPage(Schema):
    items: list[PropositionOut]
    next_cursor: str | None


class ProblemOut(Schema):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str | None = None
    errors: list[dict[str, Any]] | None = Field(
        None, description="Per flaw: in, path, message, and allowed where it helps."
    )

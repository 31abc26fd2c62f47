"""The four tools as a model sees them: names, descriptions, and schemas that refuse what they do not name."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from extraction.exploring import tools as bounds
from extraction.exploring.features import EXTRACT_WORKER, enabled_tools
from extraction.exploring.tools import ExploreTools, ToolRefused
from graphctx.models import Kind, Level

QUERY_CHARACTERS = 500
QUOTE_CHARACTERS = 2000
ID_CHARACTERS = 40
READING = ("search_evidence", "read_evidence")
DATA = "chat_data"
"""The key under which a tool result holds what people and programs wrote."""
_ID = "An evidence id exactly as the overview, the index or a tool result shows it."


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("NUL characters cannot be stored")
    return text


Text = Annotated[str, AfterValidator(_storable)]
EvidenceId = Annotated[str, Field(max_length=ID_CHARACTERS)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchEvidence(_Arguments):
    """Find passages by words. Returns ids, speakers, summaries and the matching snippet, best first; an empty query
    lists everything in order. next_offset, when there is one, continues the list."""

    query: Text = Field(max_length=QUERY_CHARACTERS, description="Words to look for; any of them may match.")
    kind: Literal[bounds.EVIDENCE_KINDS] | None = Field(None, description="Only entries of this kind.")
    limit: int | None = Field(None, ge=1, le=bounds.SEARCH_MAXIMUM, description="How many results; 20 if left out.")
    offset: int | None = Field(None, ge=0, description="Where to go on: the next_offset of the call before.")


class ReadEvidence(_Arguments):
    """Read one entry by its id, or all entries from one position to another. A long text ends at next_offset: read on
    with char_offset. Give either evidence_id or from and to."""

    evidence_id: EvidenceId | None = Field(None, description=_ID)
    char_offset: int | None = Field(None, ge=0, description="Only with evidence_id: the character to start at.")
    from_: int | None = Field(None, alias="from", ge=1, description="The position of the first message to read.")
    to: int | None = Field(None, ge=1, description="The position of the last message to read.")
    max_items: int | None = Field(None, ge=1, le=bounds.READ_MAXIMUM, description="How many entries; 10 if left out.")


class StageCandidate(_Arguments):
    """Stage one claim worth keeping. One call is one claim; the same call again changes nothing."""

    kind: Literal[tuple(Kind.values)] = Field(description="What kind of claim it is.")
    claim: Text = Field(
        min_length=1,
        max_length=bounds.CLAIM_CHARACTERS,
        description="The claim; it stands alone, in the chat's language.",
    )
    why_useful: Text = Field(
        min_length=1, max_length=bounds.WHY_CHARACTERS, description="What a later chat does better for knowing it."
    )
    evidence_ids: list[EvidenceId] = Field(
        min_length=1,
        max_length=bounds.EVIDENCE_IDS,
        description="Ids of the entries that support the claim, each once.",
    )
    quote: Text | None = Field(
        None, min_length=1, max_length=QUOTE_CHARACTERS, description="The supporting words, copied from the evidence."
    )
    staleness: Text | None = Field(
        None, max_length=bounds.STALENESS_CHARACTERS, description="For a working_assumption: what would show it is off."
    )
    understanding: Literal[tuple(Level.values)] | None = Field(
        None, description="For a fact: where the learner stands on it."
    )


class FinishExtraction(_Arguments):
    """End the work on this part of the chat. Nothing can be staged after it."""

    staged_count: int = Field(ge=0, le=bounds.CANDIDATES, description="How many claims were staged.")
    reason: Text | None = Field(
        None,
        max_length=bounds.WHY_CHARACTERS,
        description="Why it is complete; with 0 claims, why nothing is worth keeping.",
    )


_ARGUMENTS: dict[str, type[_Arguments]] = {
    "search_evidence": SearchEvidence,
    "read_evidence": ReadEvidence,
    "stage_candidate": StageCandidate,
    "finish_extraction": FinishExtraction,
}


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """One tool for the wire."""

    name: str
    description: str
    schema: dict[str, Any]


def offered_tools() -> list[ToolSchema]:
    """What the features enabled for the extract worker contribute, in their order; nothing else is ever sent."""
    return [
        ToolSchema(name, " ".join((_ARGUMENTS[name].__doc__ or "").split()), _schema(_ARGUMENTS[name]))
        for name in enabled_tools(EXTRACT_WORKER)
    ]


def _schema(arguments: type[_Arguments]) -> dict[str, Any]:
    """JSON Schema with ``additionalProperties: false``. Optional means left out: small models cope badly with unions."""
    schema = arguments.model_json_schema(by_alias=True)
    return {
        "type": "object",
        "properties": {name: _flat(value) for name, value in schema["properties"].items()},
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key not in {"anyOf", "default", "title"}}
    return {**(choices[0] if choices else {}), **kept}


def call_tool(tools: ExploreTools, name: str, raw: str | dict[str, Any] | None) -> dict[str, Any]:
    """Check a model's arguments and call the tool; what was read from the chat comes back marked as data.

    Raises ToolRefused, always counted, and nothing is written then.
    """
    try:
        arguments = _checked(name, raw)
    except ToolRefused:
        tools.calls[name] += 1
        tools.refusals += 1
        raise
    answer = getattr(tools, name)(**arguments)
    return {DATA: answer} if name in READING else answer


def _checked(name: str, raw: str | dict[str, Any] | None) -> dict[str, Any]:
    given = raw or {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ToolRefused(f"the arguments of {name} are not valid JSON ({error}); send one JSON object") from None
    if not isinstance(given, dict):
        raise ToolRefused(f"the arguments of {name} must be one JSON object, not {type(given).__name__}")
    arguments = _ARGUMENTS[name]
    required = _schema(arguments)["required"]
    # Many models send every argument and leave empty what they do not mean.
    given = {key: value for key, value in given.items() if key in required or value not in ("", None)}
    try:
        checked = arguments.model_validate(given)
    except ValidationError as error:
        raise ToolRefused(_complaint(name, error)) from None
    return checked.model_dump(exclude_none=True)


def _complaint(name: str, error: ValidationError) -> str:
    takes = ", ".join(_schema(_ARGUMENTS[name])["properties"])
    complaints = []
    for one in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        where = ".".join(str(step) for step in one["loc"])[:80]
        if one["type"] == "extra_forbidden":
            complaints.append(f"unknown argument {where!r}")
        else:
            complaints.append(f"{where}: {one['msg'][0].lower()}{one['msg'][1:]}")
    return f"{'; '.join(complaints)}. {name} takes: {takes}"

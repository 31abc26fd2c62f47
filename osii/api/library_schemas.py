"""Bodies and answers of the routes of the document library."""

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema

from extraction.documents.services import POLICIES
from osii.library.plan import STATES
from osii.library.requests import MAX_LISTED, MODES
from osii.library.staleness import STALE_REASONS
from osii.models import ProcessingItem, ProcessingRun, Step

from .schemas import LearnerName, Strict, Text

Name = Annotated[Text, Field(max_length=200)]
Path = Annotated[Text, Field(min_length=1, max_length=4096)]
Pattern = Annotated[Text, Field(min_length=1, max_length=200)]
Flag = Annotated[bool, Field(strict=True)]
FileId = Annotated[Text, Field(max_length=80)]


# --- requests --------------------------------------------------------------------------------------------------------


class ScopeIn(Strict):
    """Which documents: every condition that is given must hold, and at least one must be given."""

    all: bool | None = Field(None, strict=True)
    folder: Path | None = Field(None, description="Documents that were seen under this folder.")
    collection: Name | None = Field(None, description="Its id or its name.")
    file_ids: list[FileId] | None = Field(None, max_length=MAX_LISTED)
    types: list[Pattern] | None = Field(None, max_length=100, description="Media types, with `*` and `?`: `text/*`.")
    names: list[Pattern] | None = Field(None, max_length=100, description="File names, with `*` and `?`: `*.md`.")
    learner: LearnerName | None = None
    stale: list[Literal[*STALE_REASONS]] | None = Field(None, description="Stale for one of these reasons.")
    failed: bool | None = Field(
        None, strict=True, description="Only those at which a step of this request failed last."
    )


class OperationsIn(Strict):
    """What to do, and to which documents: `queue_paths` or `scope`."""

    queue_paths: list[Path] | None = Field(
        None,
        max_length=MAX_LISTED,
        description="Files and folders. Of an intake, what to add, under the source roots; of a library run, documents seen there.",
    )
    scope: ScopeIn | None = None
    workflow: Literal[*ProcessingRun.Workflow.values] = "library"
    learner: LearnerName | None = Field(None, description="Whose documents an intake adds; a new name makes a learner.")
    run_extraction: Flag = False
    extract_mode: Literal[*MODES] = "missing"
    extraction_policy: Literal[*POLICIES] = "make_primary"
    extractor_name: Name | None = Field(None, description='Left out or "auto": by the table of rules.')
    force: Annotated[Flag, Field(description="With reprocess: also what this extractor has made already.")] = False
    build_chunks: Flag = False
    build_embeddings: Annotated[Flag, Field(description="Chunks too, where they are missing.")] = False
    synthesizer_name: Name | None = Field(None, description='A method; "default" is the chosen one.')
    enricher_name: Name | None = Field(None, description='A method; "default" is the chosen one.')
    build_propositions: Annotated[Flag, Field(description="Into the graph of each document's learner.")] = False

    def asked(self) -> dict[str, Any]:
        """In the form that `Request.of` reads."""
        names = set(OperationsIn.model_fields)
        return self.model_dump(include=names, exclude_none=True)


class RunIn(OperationsIn):
    submission: UUID | None = Field(None, description="Sent again under the same id, it is the same run.")
    plan_id: Name | None = Field(None, description="The plan that was looked at: 409 when the library changed since.")


class PlannedIn(OperationsIn):
    """Which documents of a plan to list."""

    step: Literal[*Step.values] | None = Field(None, description="Left out: of the run as a whole.")
    state: Literal[*STATES, "missing"] = "blocked"
    reason: Name | None = None
    offset: int = Field(0, ge=0, le=10_000_000)
    limit: int = Field(50, ge=1, le=500)


class ExtractionIn(Strict):
    """Upgrade extraction of one document."""

    extractor_name: Name = "auto"
    extraction_policy: Literal[*POLICIES] = "make_primary"
    force: Annotated[Flag, Field(description="Also when this extractor has made a version already.")] = False


class PrimaryIn(Strict):
    """What the caller saw, and why the version is to be in force."""

    expected_primary_id: Name | None = Field(
        None, description="The primary that was seen; null for none. Left out, whatever is primary now is replaced."
    )
    reason: Annotated[Text, Field(max_length=2000)] = ""


class RunsQuery(Strict):
    status: Literal[*ProcessingRun.Status.values, "active"] | None = None
    cursor: Name | None = None
    limit: int = Field(20, ge=1, le=100)


class ItemsQuery(Strict):
    status: Literal[*ProcessingItem.Status.values] | None = None
    offset: int = Field(0, ge=0, le=10_000_000)
    limit: int = Field(50, ge=1, le=500)


class ObjectsQuery(Strict):
    """Which documents to list."""

    q: Annotated[Text, Field(max_length=200)] = Field("", description="Part of the file's name, in any case.")
    learner: LearnerName | None = None
    type: Pattern | None = Field(None, description="Media type, with `*` and `?`.")
    collection: Name | None = None
    folder: Path | None = None
    extracted: bool | None = Field(None, description="Only with a text in force, or only without.")
    cursor: Annotated[Text, Field(max_length=300)] | None = Field(None, description="next_cursor of the page before.")
    limit: int = Field(50, ge=1, le=200)


class TextQuery(Strict):
    extraction_id: Name | None = Field(None, description="Left out: the primary.")
    offset: int = Field(0, ge=0, le=10**12, description="In characters.")
    limit: int = Field(200_000, ge=1, le=2_000_000, description="In characters.")


class RowsQuery(Strict):
    extraction_id: Name | None = Field(None, description="Left out: the primary.")
    offset: int = Field(0, ge=0, le=10**9)
    limit: int = Field(500, ge=1, le=5000)


# --- answers ---------------------------------------------------------------------------------------------------------


class StepReason(Schema):
    state: Literal["missing", "stale", "blocked"]
    reason: str
    count: int


class StepPlanOut(Schema):
    """One step over all documents in scope: eligible (missing and stale), current and blocked make up all of them."""

    id: Literal[*Step.values]
    label: str
    method: str
    method_version: str
    eligible_count: int
    missing_count: int
    stale_count: int
    current_count: int
    blocked_count: int
    in_progress_count: int = Field(description="Documents that wait for this step, or are in it, in active runs.")
    reasons: list[StepReason]
    not_ready: str | None = Field(description="Why the method cannot run here.")
    estimated_seconds: list[float] | None = Field(
        description="[least, most] for one worker, at the pace of the latest."
    )
    estimated_tokens: list[int] | None = Field(
        None, description="[least, most] that a language model reads and writes, by what the latest documents needed."
    )
    estimated_cost: list[str] | None = Field(
        None,
        description="[least, most] of what that costs, in the currency of the prices; null where one is not known.",
    )


class ProcessingPlanOut(Schema):
    matched_count: int
    unique_document_count: int
    extracted_count: int
    missing_extraction_count: int
    eligible_count: int = Field(description="At least one step is eligible.")
    current_count: int
    blocked_count: int = Field(description="No step is eligible, and one is blocked.")
    steps: list[StepPlanOut]


class ExtractorPlanOut(Schema):
    extension: str | None
    extractor: str
    count: int


class PreviewOut(Schema):
    plan_id: str
    matched_count: int
    total_size: int
    sample: list[dict[str, Any]]
    processing_plan: ProcessingPlanOut
    extractor_plan: list[ExtractorPlanOut]


class ResolveOut(Schema):
    preview: PreviewOut


class PlannedOut(Schema):
    items: list[dict[str, Any]] = Field(
        description="file_id, filename, mime, size_bytes; state and reason, or states by step."
    )
    total: int


class ProgressOut(Schema):
    total: int = Field(description="Without the blocked ones.")
    done: int
    queued: int
    running: int
    succeeded: int
    failed: int
    blocked: int
    cancelled: int
    rate_per_minute: float | None
    eta_seconds: list[float] | None
    heartbeat_at: str | None
    workers: list[str]


class ProcessingRunOut(Schema):
    id: UUID
    status: Literal[*ProcessingRun.Status.values]
    workflow: Literal[*ProcessingRun.Workflow.values]
    steps: list[str]
    actor: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    cancel_requested: bool
    error: str
    resolved_count: int = Field(description="Documents that the run does something to.")
    progress: ProgressOut


class RunDetailOut(ProcessingRunOut):
    request: dict[str, Any]
    operations: list[dict[str, Any]]
    preview: dict[str, Any] = Field(description="The plan as it was when the run was made.")
    step_counts: dict[str, dict[str, int]]


class RunPage(Schema):
    items: list[ProcessingRunOut]
    next_cursor: str | None


class RunStepOut(Schema):
    step: str
    status: str
    error: str
    extraction_id: str | None
    output_id: UUID | None
    started_at: str
    finished_at: str | None


class RunItemOut(Schema):
    position: int
    file_id: str | None
    filename: str | None
    path: str | None
    status: Literal[*ProcessingItem.Status.values]
    error: str
    planned: list[str]
    blocked: dict[str, str]
    attempt: int
    worker: str
    heartbeat_at: str | None
    started_at: str | None
    finished_at: str | None
    steps: list[RunStepOut]


class RunItemPage(Schema):
    items: list[RunItemOut]
    total: int


class RetryOut(ProcessingRunOut):
    retried: int


class ObjectOut(Schema):
    file_id: str
    filename: str
    mime: str
    size_bytes: int
    learner: str | None
    primary_id: str | None
    extractor: str | None
    text_chars: int | None
    added_at: str


class ObjectPage(Schema):
    items: list[ObjectOut]
    next_cursor: str | None


class ObjectDetailOut(Schema):
    file_id: str
    meta: dict[str, Any]
    processing: dict[str, Any]
    enrichments: list[dict[str, Any]]


class RowsOut(Schema):
    file_id: str
    extraction_id: str
    rows: list[dict[str, Any]]
    next_offset: int | None


class TextOut(Schema):
    file_id: str
    extraction_id: str
    text: str
    char_start: int
    char_end: int
    total_chars: int


class SynthesesOut(Schema):
    file_id: str
    syntheses: list[dict[str, Any]]


class ExtractionsOut(Schema):
    file_id: str
    primary_id: str | None
    variants: list[dict[str, Any]]


class PromotedOut(Schema):
    file_id: str
    primary_id: str
    before_id: str | None
    changed: bool
    actor: str
    reason: str
    created_at: str
    stale_outputs: int = Field(description="Outputs of the former primary: kept, and stale from now on.")


class ArtifactOut(Schema):
    name: str
    size_bytes: int
    mime: str


class ArtifactsOut(Schema):
    file_id: str
    extraction_id: str
    artifacts: list[ArtifactOut]

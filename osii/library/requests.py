"""What is asked of the library: which operations, for which documents. The fields are the API's; every front uses them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from coverage.view import MalformedParts, check_storable
from extraction.documents.errors import DocumentError
from extraction.documents.extractors import registry
from extraction.documents.ids import is_file_id
from extraction.documents.services import MAKE_PRIMARY, POLICIES, SAVE_VARIANT

from . import methods, staleness
from .models import OutputKind
from .run_models import ProcessingRun, Step

MISSING, REPROCESS = MODES = ("missing", "reprocess")
MAX_LISTED = 10_000
"""Documents or paths that one request names; a collection or a folder names more."""

CHOSEN = "default"
"""As a method's name: the one that is chosen for the kind."""


class BadRequest(Exception):
    """A field is wrong. ``field`` is its path in the request, ``allowed`` what it may be where that is a list."""

    def __init__(self, field: str, message: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.allowed = allowed


class Conflict(Exception):
    """It cannot be done as things are: nothing is eligible, operations exclude each other, or the library changed."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents: all conditions that are set must hold. None set is nobody's wish, so ``all`` says it."""

    all: bool = False
    folder: str = ""
    collection: str = ""  # id or name
    file_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()  # patterns of media types: "text/*"
    names: tuple[str, ...] = ()  # patterns of file names: "*.md"
    learner: str = ""
    stale: tuple[str, ...] = ()  # reasons
    failed: bool = False  # only those at which a step of this request failed last

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str = "scope") -> Self:
        """Raises BadRequest for an unknown field, a wrong type, or no condition at all."""
        known = {one.name: one for one in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise BadRequest(f"{where}.{name}", "there is no such condition", tuple(known))
            if value is not None:
                values[name] = _typed(value, known[name].default, f"{where}.{name}")
        made = cls(**values)
        made.check(where)
        return made

    def check(self, where: str) -> None:
        for position, file_id in enumerate(self.file_ids):
            if not is_file_id(file_id):
                raise BadRequest(f"{where}.file_ids[{position}]", f"{file_id[:80]!r} is not a document's id")
        for position, reason in enumerate(self.stale):
            if reason not in staleness.STALE_REASONS:
                raise BadRequest(f"{where}.stale[{position}]", f"{reason!r} is no reason", staleness.STALE_REASONS)
        if not any(asdict(self).values()):
            raise BadRequest(where, 'name the documents, or say {"all": true}')

    def to_dict(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items() if value
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What to do, and to which documents. ``None`` as a method's name means that this kind is not asked for."""

    scope: Scope = field(default_factory=Scope)
    workflow: str = ProcessingRun.Workflow.LIBRARY
    queue_paths: tuple[str, ...] = ()
    learner: str = ""  # whose documents an intake adds
    run_extraction: bool = False
    extract_mode: str = MISSING
    extraction_policy: str = MAKE_PRIMARY
    extractor_name: str = registry.AUTO
    force: bool = False  # reprocess also what this extractor has made already
    build_chunks: bool = False
    build_embeddings: bool = False
    synthesizer_name: str | None = None
    enricher_name: str | None = None
    build_propositions: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """From the API's fields. Raises BadRequest for what is wrong with one, Conflict for what excludes itself."""
        known = {one.name: one for one in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise BadRequest(name, "there is no such field", tuple(known))
            if value is None or name == "scope":
                continue
            default = "" if name in {"synthesizer_name", "enricher_name"} else known[name].default
            values[name] = _typed(value, default, name)
        for name in ("synthesizer_name", "enricher_name"):
            if values.get(name) in {"", "none"}:
                del values[name]
        if given.get("scope") is not None:
            if not isinstance(given["scope"], Mapping):
                raise BadRequest("scope", "must be an object")
            values["scope"] = Scope.of(given["scope"])
        made = cls(**values)
        made.check()
        return made

    def check(self) -> None:
        _one_of("workflow", self.workflow, tuple(ProcessingRun.Workflow.values))
        _one_of("extract_mode", self.extract_mode, MODES)
        _one_of("extraction_policy", self.extraction_policy, POLICIES)
        _one_of("extractor_name", self.extractor_name, (registry.AUTO, *registry.extractors()))
        for name, kind, method in (
            ("synthesizer_name", OutputKind.SYNTHESIS, self.synthesizer_name),
            ("enricher_name", OutputKind.ENRICHMENT, self.enricher_name),
        ):
            if method is not None:
                _one_of(name, method, (CHOSEN, *methods.methods(kind)))
        if not (self.queue_paths or self.scope.to_dict()):
            raise BadRequest("scope", 'name the documents by scope or queue_paths, or say {"all": true}')
        if not self.steps():
            raise BadRequest(
                "", "no operation is asked for: run_extraction, build_chunks, build_embeddings, synthesizer_name, "
                "enricher_name or build_propositions"
            )  # fmt: skip
        if self.workflow == ProcessingRun.Workflow.INTAKE and not self.queue_paths:
            raise BadRequest("queue_paths", "an intake needs the paths of what it adds")
        if self.run_extraction and self.extraction_policy == SAVE_VARIANT and len(self.downstream()) > 0:
            raise Conflict(
                "another version that is not primary has no outputs: save_variant goes without downstream work "
                f"({', '.join(self.downstream())})"
            )

    def steps(self) -> tuple[str, ...]:
        """The steps that are asked for, in the order in which they are done."""
        return ((Step.EXTRACT.value,) if self.run_extraction else ()) + self.downstream()

    def downstream(self) -> tuple[str, ...]:
        """Steps that are made of a primary. Embeddings are of chunks, so these come with them."""
        asked = {
            Step.CHUNKS: self.build_chunks or self.build_embeddings,
            Step.EMBEDDINGS: self.build_embeddings,
            Step.SYNTHESIS: self.synthesizer_name is not None,
            Step.ENRICHMENT: self.enricher_name is not None,
            Step.PROPOSITIONS: self.build_propositions,
        }
        return tuple(step.value for step, wanted in asked.items() if wanted)

    def wanted(self) -> dict[str, methods.Wanted]:
        """What each downstream step must make, by step. Raises BadRequest when there is no method for one."""
        names = {Step.SYNTHESIS.value: self.synthesizer_name, Step.ENRICHMENT.value: self.enricher_name}
        found = {}
        for step in self.downstream():
            name = names.get(step)
            try:
                found[step] = methods.wanted(step, None if name == CHOSEN else name)
            except DocumentError as error:
                raise BadRequest(_FIELDS[step], str(error)) from None
        return found

    def to_dict(self) -> dict[str, Any]:
        """In the API's fields, without what was left at its default."""
        blank = Request()
        shown = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "scope"}
        kept = {name: value for name, value in shown.items() if value != getattr(blank, name)}
        if self.queue_paths:
            kept["queue_paths"] = list(self.queue_paths)
        return kept | {"workflow": self.workflow} | ({"scope": scope} if (scope := self.scope.to_dict()) else {})

    def canonical(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))


_FIELDS = {
    "chunks": "build_chunks",
    "embeddings": "build_embeddings",
    "synthesis": "synthesizer_name",
    "enrichment": "enricher_name",
    "propositions": "build_propositions",
}


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise BadRequest(name, f"is {value!r}, but must be one of {', '.join(allowed)}", allowed)


def _typed(value: Any, default: Any, where: str) -> Any:
    """The value in the type of the field's default: lists become tuples of texts."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise BadRequest(where, "must be true or false")
        return value
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple):
            raise BadRequest(where, "must be a list of texts")
        if len(value) > MAX_LISTED:
            raise BadRequest(
                where, f"names {len(value):,}; at most {MAX_LISTED:,} fit (a folder or collection takes more)"
            )
        return tuple(dict.fromkeys(_text(one, f"{where}[{place}]") for place, one in enumerate(value)))
    return _text(value, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(where, "must be a text")
    try:
        check_storable(value, "")
    except MalformedParts as error:
        raise BadRequest(where, str(error).removeprefix(": ")) from None
    return value

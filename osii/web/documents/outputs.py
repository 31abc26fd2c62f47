"""The Outputs tab: what was made of a document, by kind and method, each current or stale with its reason."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from extraction.documents.errors import DocumentError
from extraction.models import Document
from osii.library import methods, staleness
from osii.library.methods import Wanted
from osii.models import Chunk, Output, OutputKind
from osii.web.access import PageRequest
from osii.web.paging import page_of

OUTPUTS_PER_PAGE = 50
CHUNKS_PER_PAGE = 50
OLD = "old"
"""The state of an output that a newer one of the same method has taken the place of, or that is of another version."""
KEYWORDS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class MethodRow:
    """What one method has made of the document as it stands; ``output`` is the newest it made, ``error`` why it last failed."""

    kind: str
    method: str
    label: str
    chosen: bool
    state: str
    reason: str
    error: str = ""
    output: Output | None = None


@dataclass(frozen=True, slots=True)
class OutputRow:
    output: Output
    state: str
    reason: str = ""


@dataclass(slots=True)
class States:
    """Of one document: what is wanted by (kind, method), and the state and reason of each."""

    wanted: dict[tuple[str, str], Wanted] = field(default_factory=dict)
    states: dict[tuple[str, str], staleness.Standing] = field(default_factory=dict)


def states(document: Document) -> States:
    """Of every method that there is; its outputs are read in one statement."""
    found = States()
    for kind, name in methods.registry():
        try:
            found.wanted[kind, name] = methods.wanted(kind, name)
        except DocumentError as error:  # its options in the settings are not allowed any more
            found.states[kind, name] = staleness.Standing(staleness.BLOCKED, str(error))
    found.states |= staleness.of_document(document, found.wanted)
    return found


def context(request: PageRequest, document: Document) -> dict[str, Any]:
    """The methods with their states, every output, and the one that the URL names in full."""
    now = states(document)
    rows = document.outputs.defer("text", "content").select_related("source_extraction", "space")
    page = page_of(request, rows, OUTPUTS_PER_PAGE)
    return {
        "methods": method_rows(document, now),
        "page": page,
        "outputs": [output_row(output, document, now) for output in page.object_list],
        **_opened(request, document, now),
    }


def method_rows(document: Document, now: States, kind: str | None = None) -> list[MethodRow]:
    """What each method has made of the document, of one kind or of all."""
    newest = {
        (output.kind, output.method): output
        for output in document.outputs.filter(status=Output.Status.SUCCEEDED)
        .defer("text", "content")
        .order_by("kind", "method", "-created_at", "-id")
        .distinct("kind", "method")
    }
    kinds = OutputKind.values if kind is None else [kind]
    chosen = {one: methods.chosen(one) for one in kinds}
    return [
        MethodRow(one, name, method.label, chosen[one] == name, *now.states[one, name], newest.get((one, name)))
        for (one, name), method in methods.registry().items()
        if one in chosen
    ]


def output_row(output: Output, document: Document, now: States) -> OutputRow:
    """An output with its state: current, stale (why), failed, or old when the document has a newer one that is current."""
    if output.status == Output.Status.FAILED:
        return OutputRow(output, "failed", output.error)
    wanted = now.wanted.get((output.kind, output.method))
    state, reason, _ = now.states.get((output.kind, output.method), (OLD, "this method is not installed any more", ""))
    if wanted is not None and _is_current(output, document, wanted):
        return OutputRow(output, staleness.STALE if state == staleness.STALE else staleness.CURRENT, reason)
    if output.source_extraction_id != document.primary_id:
        return OutputRow(output, staleness.STALE, staleness.EXTRACTION_CHANGED)
    return OutputRow(output, staleness.STALE, _difference(output, wanted) if wanted else reason)


def _is_current(output: Output, document: Document, wanted: Wanted) -> bool:
    return output.source_extraction_id == document.primary_id and not _difference(output, wanted)


def _difference(output: Output, wanted: Wanted) -> str:
    """The first thing by which an output differs from what is wanted now; "" when nothing does."""
    compared = (
        (output.method_version, wanted.method_version, staleness.METHOD_CHANGED),
        (output.options_hash, wanted.options_hash, staleness.OPTIONS_CHANGED),
        (output.prompt_version, wanted.prompt_version, staleness.PROMPT_CHANGED),
        (output.space_id, wanted.space_id, staleness.SPACE_CHANGED),
    )
    if wanted.unready:  # what it would make cannot be told here
        compared = compared[:2]
    return next((reason for is_now, is_wanted, reason in compared if is_now != is_wanted), "")


def _opened(request: PageRequest, document: Document, now: States) -> dict[str, Any]:
    """The output that ``?output=`` names, with what it holds."""
    try:
        chosen = UUID(request.GET.get("output", ""))
    except ValueError:
        return {}
    output = document.outputs.select_related("source_extraction", "space").filter(pk=chosen).first()
    if output is None:
        return {"output_missing": True}
    found: dict[str, Any] = {"opened": output_row(output, document, now)}
    if output.kind == OutputKind.CHUNKS:
        rows = Chunk.objects.filter(output=output).defer("terms").order_by("chunk_index")
        found["chunk_page"] = page_of(request, rows, CHUNKS_PER_PAGE, name="chunks")
    content = output.content if isinstance(output.content, dict) else {}
    found["figures"] = [
        (name, value) for name, value in (output.counts or {}).items() if isinstance(value, int | float)
    ]
    found["lists"], found["facts"] = _content(content)
    return found


def _content(content: dict[str, Any]) -> tuple[list[tuple[str, list[Any]]], list[tuple[str, Any]]]:
    """(lists, single values) of an output's content, in a form that a template can show whatever the method."""
    lists, facts = [], []
    for name, value in content.items():
        title = name.replace("_", " ")
        if isinstance(value, list):
            lists.append((title, [_entry(one) for one in value[:KEYWORDS_SHOWN]]))
        elif isinstance(value, str | int | float | bool) or value is None:
            facts.append((title, "none" if value is None else value))
        else:
            lists.append((title, [f"{key}: {one}" for key, one in list(value.items())[:KEYWORDS_SHOWN]]))
    return [one for one in lists if one[1]], facts


def _entry(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    words = next((value[name] for name in ("text", "word", "keyword", "name", "term") if name in value), None)
    if words is None:
        return ", ".join(f"{key} {one}" for key, one in value.items())
    count = value.get("count")
    return f"{words} ({count}×)" if isinstance(count, int) and count > 1 else str(words)

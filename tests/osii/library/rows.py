"""Documents, versions and runs for tests of the library, as rows without files where no files are looked at."""

import hashlib
import random
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from coverage.ids import new_id
from coverage.services import get_or_create_learner
from extraction.documents.ids import new_extraction_id
from extraction.models import Document, DocumentSource, ExtractionVersion, Promotion
from osii.library import methods
from osii.library.methods import Wanted
from osii.models import Output, ProcessingItem, ProcessingRun


def document(name: str = "notes.md", *, path: str = "", **more: Any) -> Document:
    """A document with one source and no text."""
    path = path or f"/files/{name}"
    values = {"filename": name, "mime": "text/markdown", "size_bytes": 1000}
    file_id = f"sha256-{hashlib.sha256(path.encode()).hexdigest()}"
    made = Document.objects.create(file_id=file_id, **(values | more))
    DocumentSource.objects.create(document=made, path=path)
    return made


def version(
    of: Document, extractor: str = "text", *, primary: bool = True, error: str = "", **more: Any
) -> ExtractionVersion:
    """A version of the document, in force unless it failed or is not to be."""
    values: dict[str, Any] = {
        "extractor": extractor,
        "extractor_version": "1",
        "status": "failed" if error else "succeeded",
    }
    if not error:
        values |= {"text_sha256": "0" * 64, "text_chars": 400}
    made = ExtractionVersion.objects.create(
        id=new_extraction_id(extractor), document=of, error=error, **(values | more)
    )
    if primary and not error:
        Promotion.objects.create(document=of, before_id=of.primary_id, after=made, actor="tests")
        of.primary = made
        of.save(update_fields=("primary",))
    return made


def output(of: ExtractionVersion, wanted: Wanted, **more: Any) -> Output:
    """An output of the version as it is wanted, but for ``more``."""
    values = {
        "kind": wanted.kind, "method": wanted.method, "method_version": wanted.method_version,
        "options": dict(wanted.options), "options_hash": wanted.options_hash, "prompt_version": wanted.prompt_version,
        "space_id": wanted.space_id, "status": "succeeded",
    }  # fmt: skip
    return Output.objects.create(document_id=of.document_id, source_extraction=of, **(values | more))


def run(*documents: Document, steps: tuple[str, ...] = ("synthesis",), **more: Any) -> ProcessingRun:
    """A queued run with one item for each document."""
    made = ProcessingRun.objects.create(actor="tests", operations=[{"id": step} for step in steps], **more)
    ProcessingItem.objects.bulk_create(
        ProcessingItem(run=made, position=n, document=one, steps=list(steps)) for n, one in enumerate(documents, 1)
    )
    return made


def claimed(item: ProcessingItem) -> None:
    """The item as somebody's who holds its lease."""
    ProcessingItem.objects.filter(pk=item.pk).update(
        status="running", attempt=1, attempt_token=new_id(), lease_expires_at=timezone.now()
    )


def all_documents() -> QuerySet[Document]:
    return Document.objects.all()


def any_library(chance: random.Random) -> None:
    """Documents in whatever states there are: with and without texts, learners, failures, outputs of all kinds."""
    learner, made = get_or_create_learner("Ada"), []
    for number in range(60):
        one = document(
            f"{number}.{chance.choice(['md', 'bin'])}", learner=chance.choice([None, learner]),
            mime=chance.choice(["text/markdown", "application/octet-stream"]),
        )  # fmt: skip
        versions = [version(one, chance.choice(["text", "other"])) for _ in range(chance.randrange(3))]
        if chance.random() < 0.2:
            version(one, error="no_text: nothing in it")
        for kind in ("chunks", "enrichment", "propositions"):
            for one_version in chance.sample(versions, chance.randrange(len(versions) + 1)):
                other = chance.choice(["method_version", "options_hash", "prompt_version", "", ""])
                output(one_version, methods.wanted(kind), **({other: "else"} if other else {}))
        if made and chance.random() < 0.15:
            path = made[-1].sources.first().path
            DocumentSource.objects.create(document=one, path=path, replaces=made[-1])
        made.append(one)

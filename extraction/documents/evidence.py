"""Live evidence in documents: an instance is live while its quote stands in the document's primary text.

Evaluated inside the transaction that moves the primary, so a reader never sees a claim whose evidence is gone.
"""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db.models import F

from coverage.models import Learner
from graphctx.links import refresh_states
from graphctx.models import Instance

from ..models import Document
from .bundle import TEXT
from .errors import StoreError
from .store import library_store


def stand(file_id: str, instances: Sequence[Instance]) -> list[bool]:
    """Whether each of a document's instances (saved or not) stands in its primary text; a withdrawn one never does.

    Raises StoreError.
    """
    if not instances:
        return []
    text = _primary_text(file_id)
    return [instance.withdrawn_at is None and instance.quote in text for instance in instances]


def learners_of(file_id: str) -> set[UUID]:
    """Primary keys of the learners whose graphs have evidence from the document, and of its own."""
    own = Document.objects.filter(pk=file_id, learner__isnull=False).values_list("learner", flat=True)
    evidence = Instance.objects.filter(document_id=file_id).order_by()
    return {*own, *evidence.values_list("proposition__learner", flat=True).distinct()}


def refresh(file_id: str) -> int:
    """Re-evaluate the document's evidence after its primary moved; returns how many instances changed.

    The caller holds the transaction that moved it, and the locks of `learners_of`.
    """
    instances = list(Instance.objects.filter(document_id=file_id))
    changed = [one for one, stands in zip(instances, stand(file_id, instances), strict=True) if one.live != stands]
    for instance in changed:
        instance.live = not instance.live
    if changed:
        Instance.objects.bulk_update(changed, ["live"], batch_size=500)
        touched = {instance.proposition_id for instance in changed}
        refresh_states(touched)
        learners = Learner.objects.filter(propositions__in=touched).values("pk")
        Learner.objects.filter(pk__in=learners).update(graph_revision=F("graph_revision") + 1)
    return len(changed)


def check() -> Iterator[str]:
    """Evidence whose ``live`` is not what the primary text says, one line each."""
    ids = Instance.objects.exclude(document_id="").order_by().values_list("document_id", flat=True).distinct()
    for file_id in list(ids):
        instances = list(Instance.objects.filter(document_id=file_id))
        try:
            standing = stand(file_id, instances)
        except StoreError as error:
            yield str(error)
            continue
        for instance, stands in zip(instances, standing, strict=True):
            if instance.live != stands:
                yield f"instance {instance.pk}: live is {instance.live}, but its quote {_says(stands=stands)} {file_id}"


def _says(*, stands: bool) -> str:
    return "stands in the primary text of" if stands else "does not stand in the primary text of"


def _primary_text(file_id: str) -> str:
    """The text in force; "" when there is none, or when it is missing or damaged (then nothing can be seen to stand).

    Raises StoreError where this process cannot read it now: that says nothing of what stands in it.
    """
    primary = Document.objects.filter(pk=file_id).values_list("primary", flat=True).first()
    if primary is None:
        return ""
    try:
        return (library_store().version_dir(file_id, primary) / TEXT).read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return ""
    except OSError as error:
        raise StoreError("store_unusable", f"the text of {file_id} cannot be read: {error.strerror}") from error

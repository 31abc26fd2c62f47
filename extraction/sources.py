"""What a batch was read from, a chat or a document: its locks, the evidence that it gives and whether that stands."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.db.models import QuerySet

from coverage.models import Learner
from coverage.services import lock_chat
from graphctx import evidence as in_chats
from graphctx import following
from graphctx.models import Instance

from .documents import evidence as in_documents
from .models import Batch, Candidate, Document


class NoLearner(ValueError):
    """The document has no learner (any more), so there is no graph that it could feed."""


class Source(Protocol):
    """A chat or a document, as the merge sees it."""

    def lock_learner(self) -> Learner:
        """Lock the source and its learner, in the order of docs/locks.md, until the transaction ends."""

    def instances(self) -> QuerySet[Instance]: ...

    def candidates(self) -> QuerySet[Candidate]: ...

    def stand(self, instances: Sequence[Instance]) -> list[bool]:
        """Whether the quote of each stands in the source as it is now."""

    def evidence(self, candidate: Candidate, proposition_id: UUID, item: Mapping[str, Any]) -> Instance:
        """The instance (unsaved) that one item of a candidate's evidence is for a proposition."""

    def link(self, learner: Learner, positions: Collection[int], batch: UUID | None) -> None:
        """Link propositions that follow each other around these positions of new evidence."""

    def unlink(self, proposition_id: UUID, batch: UUID, by: UUID) -> None:
        """Take such links back, where the proposition has no evidence in the source any more."""


def source_of(batch: Batch) -> Source:
    return FromDocument(batch.document_id, batch.extraction_id) if batch.document_id else FromChat(batch.chat_id)


class FromChat:
    def __init__(self, chat_id: UUID) -> None:
        self.chat_id = chat_id

    def lock_learner(self) -> Learner:
        chat = lock_chat(self.chat_id)
        return Learner.objects.select_for_update(no_key=True).get(pk=chat.learner_id)

    def instances(self) -> QuerySet[Instance]:
        return Instance.objects.filter(chat=self.chat_id)

    def candidates(self) -> QuerySet[Candidate]:
        return Candidate.objects.filter(batch__chat=self.chat_id)

    def stand(self, instances: Sequence[Instance]) -> list[bool]:
        return in_chats.stand(self.chat_id, instances)

    def evidence(self, candidate: Candidate, proposition_id: UUID, item: Mapping[str, Any]) -> Instance:
        return Instance(
            chat_id=self.chat_id,
            message_id=item["message_id"],
            position=item["position"],
            level=candidate.understanding,
            **_common(candidate, proposition_id, item),
        )

    def link(self, learner: Learner, positions: Collection[int], batch: UUID | None) -> None:
        following.link_consecutive(learner, self.chat_id, positions, batch)

    def unlink(self, proposition_id: UUID, batch: UUID, by: UUID) -> None:
        following.unlink(self.chat_id, proposition_id, batch, by)


class FromDocument:
    """A document's text shows nothing of what its learner understands: its evidence has no level and no order of talk."""

    def __init__(self, file_id: str, extraction_id: str) -> None:
        self.file_id = file_id
        self.extraction_id = extraction_id

    def lock_learner(self) -> Learner:
        learner_id = Document.objects.values_list("learner", flat=True).get(pk=self.file_id)
        if learner_id is None:
            raise NoLearner("the document has no learner any more, so there is no graph that it could feed")
        learner = Learner.objects.select_for_update(no_key=True).get(pk=learner_id)
        Document.objects.select_for_update(no_key=True).get(pk=self.file_id)
        return learner

    def instances(self) -> QuerySet[Instance]:
        return Instance.objects.filter(document_id=self.file_id)

    def candidates(self) -> QuerySet[Candidate]:
        return Candidate.objects.filter(batch__document=self.file_id)

    def stand(self, instances: Sequence[Instance]) -> list[bool]:
        return in_documents.stand(self.file_id, instances)

    def evidence(self, candidate: Candidate, proposition_id: UUID, item: Mapping[str, Any]) -> Instance:
        return Instance(
            document_id=self.file_id, extraction_id=self.extraction_id, **_common(candidate, proposition_id, item)
        )

    def link(self, learner: Learner, positions: Collection[int], batch: UUID | None) -> None:
        """Nothing: a text is no talk in which one thing is said after another."""

    def unlink(self, proposition_id: UUID, batch: UUID, by: UUID) -> None:
        """Nothing was linked."""


def _common(candidate: Candidate, proposition_id: UUID, item: Mapping[str, Any]) -> dict[str, Any]:
    said_at = item["said_at"]
    return {
        "proposition_id": proposition_id,
        "fingerprint": item["fingerprint"],
        "part": item["part"],
        "char_start": item["char_start"],
        "char_end": item["char_end"],
        "quote": item["quote"] or item["excerpt"],
        "speaker": item["speaker"],
        "occurred_at": datetime.fromisoformat(said_at) if isinstance(said_at, str) else None,
        "batch": candidate.batch_id,
    }

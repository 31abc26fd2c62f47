"""Starting what a preview showed: one processing run for the documents, one import for the chats among the files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from django.contrib.auth.models import User

from osii.imports import services as chat_imports
from osii.library import intake, runs
from osii.library.requests import Conflict, Request
from osii.models import ChatImport, ProcessingRun

from .foreseeing import foresee
from .staging import StagedFile, Upload, save


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What was started. ``again``: the same submission had started it before."""

    run: ProcessingRun | None
    chats: ChatImport | None
    again: bool = False


def confirm(fields: dict[str, Any], by: User, submission: UUID, upload: Upload | None) -> Confirmed:
    """Start the run of an intake's ``fields`` and the import of its chats. ``submission`` sent again starts nothing more.

    Raises BadRequest, Conflict (also when there is nothing to add), OSError.
    """
    request = Request.of(fields)
    chats_submission = _beside(submission)
    there = ProcessingRun.objects.filter(submission=submission).first()
    chats = ChatImport.objects.filter(submission=chats_submission).first()
    if there is not None or chats is not None:
        return Confirmed(there, chats, again=True)
    found = foresee(intake.candidates(request.queue_paths, request.extractor_name), request.learner)
    if not found.to_add and not found.chats:
        raise Conflict("none of these files can be added")
    chats = _import_chats(found.paths("chats"), request.learner, by, chats_submission)
    if not found.to_add:
        return Confirmed(None, chats)
    run, made = runs.create(request, actor=by.get_username(), submission=submission)
    if upload is not None:
        upload.runs.append(str(run.pk))
        save(upload)
    return Confirmed(run, chats, again=not made)


def chats_beside(run: ProcessingRun) -> ChatImport | None:
    """The import of the chats among the files of an intake's ``run``, if there were any. One query."""
    return ChatImport.objects.filter(submission=_beside(run.submission)).first()


def _beside(submission: UUID) -> UUID:
    return uuid5(submission, "chats")


def _import_chats(paths: list[str], learner: str, by: User, submission: UUID) -> ChatImport | None:
    if not paths:
        return None
    files = [StagedFile(Path(path)) for path in paths]
    return chat_imports.create(files, learner=learner, dry_run=False, by=by, submission=submission)[0]

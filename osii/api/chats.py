"""Routes of chats: begin, store, finish, read, see what was read, delete."""

from dataclasses import asdict
from uuid import UUID

from django.http import HttpResponse
from ninja import Router

from coverage.models import Chat, Message
from extraction import erasure, repair, services
from extraction.selectors import chat_coverage
from graphctx import delivery
from graphctx.models import Steer

from . import schemas, shapes, uimessages, writes
from .auth import ApiRequest, find_chat, find_learner
from .bodies import read_json
from .openapi import message_body, problems
from .problems import Problem, field_error
from .shapes import reply

router = Router(tags=["chats"])


@router.post(
    "", response={201: schemas.ChatOut, 200: schemas.ChatOut, **problems(403, 409, body=True)}, summary="Begin a chat"
)
def begin_chat(request: ApiRequest, body: schemas.ChatIn) -> HttpResponse:
    """With an `id`, beginning again finds the same chat (200) and changes nothing. A staff token names the learner; a new
    name makes a learner."""
    learner = find_learner(request, body.learner, make=True)
    try:
        chat, made = writes.begin_chat(learner, body.id, body.title, body.settings.given())
    except Chat.DoesNotExist:
        raise Problem(409, f"The id {body.id} cannot be used; choose another.") from None
    return reply(shapes.chat(chat), 201 if made else 200)


@router.get("/{chat_id}", response={200: schemas.TranscriptOut, **problems(404)}, summary="Read a chat")
def read_chat(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """Its settings and its messages in order, their parts as they were stored."""
    return reply(shapes.transcript(find_chat(request, chat_id)))


@router.delete("/{chat_id}", response={200: schemas.ChatDeleted, **problems(404)}, summary="Erase a chat")
def erase_chat(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """With everything that was read from it. A proposition that has no evidence elsewhere goes too."""
    messages, fate = erasure.erase_chat(find_chat(request, chat_id).pk)
    return reply({"chat_id": str(chat_id), "messages": messages, "propositions": shapes.chat_fate(fate)})


@router.put(
    "/{chat_id}/settings",
    response={200: schemas.SettingsOut, **problems(404, 409, body=True)},
    summary="Change a chat's settings",
)
def change_settings(request: ApiRequest, chat_id: UUID, body: schemas.SettingsIn) -> HttpResponse:
    """What is left out stays. `graph_context_tokens` is fixed once the first message exists."""
    find_chat(request, chat_id)
    try:
        chat = writes.change_settings(chat_id, body.given())
    except writes.BudgetFixed:
        detail = "graph_context_tokens is fixed once the first message exists."
        raise Problem(409, detail, errors=[field_error("graph_context_tokens", detail)]) from None
    return reply(shapes.settings(chat))


@router.put(
    "/{chat_id}/messages",
    response={200: schemas.PutOut, **problems(404, body=True)},
    summary="Store messages",
    openapi_extra=message_body(),
)
def store_messages(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """Insert or update messages by their id: a list of UIMessages, or the object that the AI SDK hands to `onFinish`.

    May be repeated, and may arrive late: content older than what is stored is not taken (`stale`). A higher
    `metadata.version`, else a later `metadata.updatedAt`, is newer; without either, a message that still streams never
    replaces a settled one, nor a tool call without an output the same call with one; else the last write wins.
    """
    find_chat(request, chat_id)
    body = read_json(request)
    messages = uimessages.incoming_messages(body)
    try:
        result = writes.store_messages(chat_id, messages)
    except ValueError:
        uimessages.refuse_flawed(body, messages)
        raise
    return reply(shapes.put(chat_id, result))


@router.delete(
    "/{chat_id}/messages/{path:message_id}",
    response={200: schemas.MessageDeleted, **problems(404)},
    summary="Delete a message",
)
def delete_message(request: ApiRequest, chat_id: UUID, message_id: schemas.Text) -> HttpResponse:
    """Its coverage is released: if it returns, it is read again."""
    find_chat(request, chat_id)
    try:
        fate = erasure.delete_message(chat_id, message_id)
    except Message.DoesNotExist:
        raise Problem(404, f"The chat has no message {message_id!r}.") from None
    return reply({"chat_id": str(chat_id), "message_id": message_id, "propositions": shapes.message_fate(fate)})


@router.post("/{chat_id}/finish", response={200: schemas.FinishOut, **problems(404)}, summary="A turn is over")
def finish(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """What still streams is taken as it stands, and a run starts if enough is uncovered. Only this starts one by itself."""
    find_chat(request, chat_id)
    return reply({"run": shapes.run(services.finish_chat(chat_id))})


@router.get("/{chat_id}/coverage", response={200: schemas.CoverageOut, **problems(404)}, summary="What was read")
def coverage(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """Tokens are characters divided by four."""
    return reply(chat_coverage(find_chat(request, chat_id).pk))


@router.post(
    "/{chat_id}/extract", response={202: schemas.ExtractOut, **problems(403, 404, body=True)}, summary="Read it now"
)
def extract(request: ApiRequest, chat_id: UUID, body: schemas.ExtractIn = schemas.ExtractIn()) -> HttpResponse:  # noqa: B008 - immutable
    """Joins the run that is active, if there is one; "rest" makes it read all. After one that stops, another starts. What reads is for staff to choose."""
    find_chat(request, chat_id)
    if (body.worker or body.model) and not request.auth.staff:
        raise Problem(403, "Which worker and model read a chat is for staff to choose; leave them out.")
    try:
        run = services.request_run(chat_id, body.mode, body.worker, body.model or "")
    except ValueError as error:
        raise Problem(422, f"{error}.") from None
    return reply({"run": shapes.run(run)}, 202)


@router.post(
    "/{chat_id}/reread", response={200: schemas.RereadOut, **problems(404, body=True)}, summary="Have it read again"
)
def reread(request: ApiRequest, chat_id: UUID, body: schemas.RereadIn = schemas.RereadIn()) -> HttpResponse:  # noqa: B008 - immutable
    """Coverage is released, nothing is deleted, no run starts: `extract` does. Equal messages that follow open too."""
    find_chat(request, chat_id)
    try:
        effect = repair.request_reread(chat_id, repair.Scope(body.first, body.last, body.message_id))
    except ValueError as error:
        raise Problem(422, f"{error}.") from None
    return reply({"chat_id": str(chat_id), **asdict(effect)})


@router.post("/{chat_id}/abort", response={200: schemas.AbortOut, **problems(404)}, summary="Stop reading")
def abort(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """The batch in flight is lost and stays uncovered; what was read before stays."""
    find_chat(request, chat_id)
    return reply({"aborted": services.abort_run(chat_id)})


@router.post("/{chat_id}/turn", response={200: schemas.TurnOut, **problems(404, body=True)}, summary="Before a turn")
def turn(request: ApiRequest, chat_id: UUID, body: schemas.TurnIn = schemas.TurnIn()) -> HttpResponse:  # noqa: B008 - immutable
    """The steer that this turn's model is to be given, once. Answers at once: null while it is being prepared, while a
    question waits for its answer, and while another turn holds the offer. Acknowledge it, else it is offered again."""
    return reply({"steer": shapes.offer(delivery.turn(find_chat(request, chat_id), body.turn))})


@router.post(
    "/{chat_id}/steer/ack",
    response={200: schemas.AckOut, **problems(404, 409, body=True)},
    summary="The model was given the steer",
)
def acknowledge(request: ApiRequest, chat_id: UUID, body: schemas.AckIn) -> HttpResponse:
    """From then on it is never offered again, and its marker stands in the transcript. May be repeated."""
    find_chat(request, chat_id)
    try:
        steer = delivery.acknowledge(chat_id, body.steer_id).steer
    except Steer.DoesNotExist:
        raise Problem(404, f"The chat has no steer {body.steer_id}.") from None
    except delivery.NotOffered as error:
        raise Problem(409, f"It cannot be acknowledged: {error}.") from None
    return reply({"steer_id": str(steer.pk), "status": steer.status, "delivered_at": shapes.moment(steer.delivered_at)})


@router.get("/{chat_id}/context", response={200: schemas.ChatContextOut, **problems(404)}, summary="The chat's context")
def chat_context(request: ApiRequest, chat_id: UUID) -> HttpResponse:
    """The block of prior knowledge that was prepared when the chat began."""
    chat = find_chat(request, chat_id)
    return reply(shapes.chat_context(chat, Steer.objects.filter(chat=chat).first()))

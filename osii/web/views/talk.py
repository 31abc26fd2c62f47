"""The built-in chat: begin one, say something, and be answered, streamed or after a reload."""

import json
from collections.abc import Callable, Iterator
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from coverage.ids import new_id
from coverage.models import GRAPH_CONTEXT_DEFAULT, GRAPH_CONTEXT_MAX_TOKENS, Chat
from coverage.services import get_or_create_learner
from osii.permissions import SEE_CHATS, TALK
from osii.talk import events, quizzes, turns, writing
from osii.talk.state import SETTING
from osii.web.access import PageRequest, get_chat, staff_action, staff_page
from osii.web.talk import recent_talks, shown
from osii.web.talk_forms import BeginForm, SayForm, usual_tutor

STREAM = "text/event-stream"
PLAY = "#play"
"""Where the page of a chat that has just begun lets the tutor speak; without a script the tutor has spoken by then."""


@require_safe
@staff_page(SEE_CHATS)
def talk(request: PageRequest) -> HttpResponse:
    """The form that begins a chat, and the latest chats to go on with."""
    first = {"learner": request.GET.get("learner"), "tokens": GRAPH_CONTEXT_DEFAULT, "tutor": usual_tutor()}
    form = BeginForm(initial={"chat_id": new_id(), **first})
    return render(request, "talk/talk_page.html", _begin_context(form))


@require_POST
@staff_action(TALK, SEE_CHATS)
def talk_begin(request: PageRequest) -> HttpResponse:
    """Begin the chat with its topic. The same form twice begins it once."""
    form = BeginForm(request.POST)
    if not form.is_valid():
        return render(request, "talk/talk_page.html", _begin_context(form), status=422)
    given = form.cleaned_data
    try:
        learner = get_or_create_learner(form.learner_name())
        tutor, model = form.chosen_tutor()
        chat = writing.begin(learner, given["chat_id"], given["topic"], given["tokens"], tutor, model)
    except writing.WentOn as refused:
        form.add_error(None, str(refused))
        form.data = form.data.copy()
        form.data["chat_id"] = str(new_id())
        return render(request, "talk/talk_page.html", _begin_context(form), status=409)
    if request.POST.get("script"):
        return redirect(reverse("talk-chat", args=[chat.pk]) + PLAY)
    return _played(request, chat)


def _begin_context(form: BeginForm) -> dict[str, object]:
    return {"form": form, "recent": recent_talks(), "most": GRAPH_CONTEXT_MAX_TOKENS, "budget": _budget(form)}


def _budget(form: BeginForm) -> int:
    value = str(form["tokens"].value())
    return int(value) if value.isascii() and value.isdigit() else GRAPH_CONTEXT_DEFAULT


@require_safe
@staff_page(SEE_CHATS)
def talk_chat(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """The conversation; for htmx its fragment."""
    return _show(request, _talk_or_404(chat_id))


@require_POST
@staff_action(TALK, SEE_CHATS)
def talk_say(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """Say something: ``text`` after the message ``after``. Then the tutor answers."""
    return _said(request, _talk_or_404(chat_id), writing.say)


@require_POST
@staff_action(TALK, SEE_CHATS)
def talk_answer(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """Answer the question of the message ``after`` with ``text``, or ``unknown``. Then the tutor goes on."""
    return _said(request, _talk_or_404(chat_id), writing.answer)


@require_POST
@staff_action(TALK, SEE_CHATS)
def talk_reply(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """Let the tutor answer what it has not answered yet."""
    chat = _talk_or_404(chat_id)
    return _streamed(chat) if _wants_stream(request) else _played(request, chat)


def _said(request: PageRequest, chat: Chat, write: Callable[[UUID, str, str], None]) -> HttpResponse:
    given = request.POST.copy()
    if given.get("unknown"):
        given["text"] = quizzes.NOT_KNOWN
    form = SayForm(given)
    problem, status = "", 200
    if form.is_valid():
        try:
            write(chat.pk, form.cleaned_data["after"], form.cleaned_data["text"])
        except writing.WentOn as refused:
            problem, status = str(refused), 409
    else:
        problem, status = " ".join(error for errors in form.errors.values() for error in errors), 422
    if _wants_stream(request):
        return _stream([_event("refused", reason=problem)]) if problem else _streamed(chat)
    if problem:
        messages.error(request, problem)
        return _show(request, chat, status=status, kept=given.get("text", ""))
    return _played(request, chat)


def _played(request: PageRequest, chat: Chat) -> HttpResponse:
    """Play the turn to its end, then show the page."""
    *_, last = turns.play(chat.pk)
    if isinstance(last, events.Failed):
        messages.error(request, f"The tutor gave no answer: {last.reason}.")
    elif isinstance(last, events.Busy):
        messages.info(
            request, "The tutor is answering already, perhaps in another tab. Load the page again in a moment."
        )
    return redirect(reverse("talk-chat", args=[chat.pk]) + "#last")


def _streamed(chat: Chat) -> StreamingHttpResponse:
    return _stream(_events(chat.pk))


def _events(chat_id: UUID) -> Iterator[str]:
    """The turn as server-sent events: text, then one of done, failed, busy."""
    yield ": the turn begins\n\n"
    for event in turns.play(chat_id):
        match event:
            case events.Said(text):
                yield _event("text", text=text) if text else ": the turn is under way\n\n"
            case events.Failed(reason):
                yield _event("failed", reason=f"The tutor gave no answer: {reason}.")
            case events.Busy():
                yield _event("busy")
            case events.Done():
                yield _event("done")


def _event(name: str, **data: str) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _stream(events: object) -> StreamingHttpResponse:
    # A proxy that gathers the answer before it passes it on would show it all at once.
    return StreamingHttpResponse(events, content_type=STREAM, headers={"X-Accel-Buffering": "no"})


def _wants_stream(request: PageRequest) -> bool:
    return STREAM in request.headers.get("Accept", "")


def _show(request: PageRequest, chat: Chat, *, status: int = 200, kept: str = "") -> HttpResponse:
    template = "talk/talk_live.html" if request.htmx else "talk/talk_chat_page.html"
    response = render(request, template, shown(chat) | {"kept": kept}, status=status)
    patch_vary_headers(response, ("Accept",))
    return response


def _talk_or_404(chat_id: UUID) -> Chat:
    chat = get_chat(chat_id)
    if SETTING not in chat.settings:
        raise Http404("This chat was held in another client.")
    return chat

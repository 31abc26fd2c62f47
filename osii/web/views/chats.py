"""The chats list, a chat's page with its live state, and what can be done to a chat."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from coverage import summaries
from coverage.models import Chat, Message
from extraction import services
from extraction.models import Run
from extraction.selectors import coverage_of_chats
from graphctx import steers
from graphctx.models import Steer
from osii.permissions import SEE_CHATS
from osii.web import readers, selectors
from osii.web.access import PageRequest, get_chat, staff_action, staff_page
from osii.web.bulk import offer
from osii.web.bulk_actions import CHATS
from osii.web.chat_list import BY_TIME, ChatFilter, with_coverage
from osii.web.listing import render_list
from osii.web.live import ChatState, page_of_messages, read_state, state_context
from osii.web.paging import page_of
from osii.web.readings import readings
from osii.web.steers import steer_card
from osii.web.transcript import blocks


@require_safe
@staff_page(SEE_CHATS)
def chats(request: PageRequest) -> HttpResponse:
    rows, missing = summaries.listed()
    chosen = ChatFilter(request.GET, rows)
    page = page_of(request, chosen.qs)
    untimed = chosen.chosen().get("sort", "") in BY_TIME and any(row.last_said_at is None for row in page.object_list)
    page.object_list = with_coverage(page.object_list)
    context = {
        "page": page,
        "missing": missing,
        "untimed": untimed,
        "bulk": offer(CHATS, request.user),
        **chosen.context(),
    }
    return render_list(request, "chats/chats_page.html", "chats/chat_table.html", context)


@require_safe
@staff_page(SEE_CHATS)
def chat(request: PageRequest, chat_id: UUID) -> HttpResponse:
    row = get_chat(chat_id)
    state = read_state(row)
    page = page_of_messages(request, row, state)
    context = {
        **_page_context(row, state, page),
        "shelved": Message.objects.filter(chat=row, position__isnull=True).count(),
        "card": steer_card(row),
    }
    return render(request, "chats/chat_page.html", context)


def _page_context(row: Chat, state: ChatState, page: Page) -> dict[str, Any]:
    return {"chat": row, "page": page, **state_context(state)} | {"transcript": _transcript(row.pk, page)}


def _transcript(chat_id: UUID, page: Page) -> list[dict[str, Any]]:
    """The page's messages with their state, when they were read, and their blocks."""
    messages_of = selectors.messages_by_pk(page.object_list)
    read = readings(chat_id, page.object_list)
    shown = []
    for row in page.object_list:
        message = messages_of.get(row.pk)
        if message is not None:
            shown.append(
                {
                    "message": message,
                    "state": row.state,
                    "reading": read.get(row.message_id),
                    "blocks": blocks(message.role, message.parts),
                }
            )
    return shown


@require_safe
@staff_page(SEE_CHATS)
def chat_live(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """The state's fragments for htmx; 204 while nothing changed since ``seen``. Without htmx: the page itself."""
    row = get_chat(chat_id)
    if not request.htmx:
        return redirect("chat", chat_id=chat_id)
    state = read_state(row)
    if state.active_run and request.GET.get("seen") == state.token:
        return HttpResponse(status=204)
    page = page_of_messages(request, row, state)
    read = readings(row.pk, page.object_list)
    context = {
        "chat": row,
        "page": page,
        "states": [(one, read.get(one.message_id)) for one in page.object_list],
        "is_fragment": True,
        **state_context(state),
    }
    return render(request, "chats/chat_live_response.html", context)


@require_POST
@staff_action("extraction.add_run")
def chat_extract(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """Start a run: ``mode`` due or rest, ``reader`` one of ``osii.web.readers``."""
    row = get_chat(chat_id)
    mode = request.POST.get("mode", "")
    if mode not in Run.Mode.values:
        messages.error(request, f"Choose what to extract: {' or '.join(Run.Mode.labels)}.")
        return redirect("chat", chat_id=chat_id)
    (coverage,) = coverage_of_chats([row.pk])
    if not coverage["uncovered_tokens"]:
        messages.info(
            request,
            "Nothing is uncovered: every message with content has been read. “Read again” has it read anew.",
        )
    elif mode == Run.Mode.DUE and not coverage["due"]:
        messages.info(request, "Nothing is due yet. “Extract the rest” reads what there is.")
    else:
        try:
            run = services.request_run(row.pk, mode, *readers.chosen(request.POST.get("reader", "")))
        except ValueError as error:
            messages.error(request, f"Nothing was started: {error}.")
        else:
            messages.success(request, _requested(run))
    return redirect("chat", chat_id=chat_id)


@require_POST
@staff_action("graphctx.change_steer")
def chat_steer(request: PageRequest, chat_id: UUID) -> HttpResponse:
    """Have the chat's steer prepared once more."""
    row = get_chat(chat_id)
    try:
        steers.again(row.pk, request.user.get_username())
        messages.success(request, "The steer is being prepared once more.")
    except steers.CannotRepeat as error:
        messages.error(request, f"The steer stays as it is: {error}.")
    except Steer.DoesNotExist:
        messages.error(request, "This chat has no steer: it was imported, or had begun before one could be made.")
    return redirect("chat", chat_id=chat_id)


def _requested(run: Run) -> str:
    if run.following:
        return f"The run was told to stop. One for {_reads(run.following['mode'])} starts when it has."
    return f"The run that reads {_reads(run.mode)}, by {f'{run.worker} {run.model}'.strip()}, is {run.status}."


def _reads(mode: str) -> str:
    return "the rest" if mode == Run.Mode.REST else "what is due"


@require_POST
@staff_action("extraction.change_run")
def chat_abort(request: PageRequest, chat_id: UUID) -> HttpResponse:
    row = get_chat(chat_id)
    if services.abort_run(row.pk):
        waits = Run.objects.filter(chat=row, status=Run.Status.RUNNING).exists()
        said = "Abort requested. Batches that ended are kept; the one in flight is not." if waits else "Run aborted."
        messages.success(request, said)
    else:
        messages.info(request, "No run is active.")
    return redirect("chat", chat_id=chat_id)

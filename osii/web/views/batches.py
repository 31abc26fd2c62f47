"""A chat's batches, and one batch with what came of it."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from extraction import services
from extraction.models import Batch
from extraction.prompts import prompts_in_force
from extraction.selectors import batch_history
from extraction.spending import total_use, with_batch_costs
from osii.permissions import SEE_BATCHES, SEE_CHATS, SEE_DOCUMENTS, Needs
from osii.web import selectors
from osii.web.access import PageRequest, get_batch, get_chat, staff_action, staff_page
from osii.web.chat_list import BatchFilter
from osii.web.listing import render_list
from osii.web.paging import page_of


@require_safe
@staff_page(SEE_BATCHES, SEE_CHATS)
def chat_batches(request: PageRequest, chat_id: UUID) -> HttpResponse:
    row = get_chat(chat_id)
    chosen = BatchFilter(request.GET, batch_history(row.pk))
    page = page_of(request, chosen.qs)
    page.object_list = with_batch_costs(selectors.add_outcomes(page.object_list))
    context = {"chat": row, "page": page, "batches": page.object_list, **chosen.context()}
    return render_list(request, "chats/batches_page.html", "chats/batch_list.html", context)


@require_safe
@staff_page(SEE_BATCHES, one_of=(SEE_CHATS, SEE_DOCUMENTS))
def batch(request: PageRequest, batch_id: UUID) -> HttpResponse:
    """With what its chat or its document is seen: it quotes that."""
    row = get_batch(batch_id)
    Needs((SEE_DOCUMENTS if row.document_id else SEE_CHATS,)).require(request.user)
    candidates = list(selectors.batch_candidates(row))
    read = list(row.messages.all())
    where = selectors.positions((row.chat_id, message.message_id) for message in read)
    for message in read:
        message.position_now = where.get((row.chat_id, message.message_id))
    context = {
        "batch": row,
        "chat": row.chat,
        "candidates": candidates,
        "batch_messages": read,
        "use": total_use(row.uses.all()),
        "prompt_now": prompts_in_force().get(row.worker, ("", ""))[0],
    }
    return render(request, "chats/batch_page.html", context)


@require_POST
@staff_action("extraction.change_batch")
def batch_retry(request: PageRequest, batch_id: UUID) -> HttpResponse:
    row = get_batch(batch_id)
    if row.status == Batch.Status.PARKED and services.retry_parked([row.pk]):
        messages.success(request, f"Messages {row.first_position}–{row.last_position} will be read again.")
    else:
        messages.info(request, f"This batch is not parked: it is {row.get_status_display()}.")
    return _back(row)


@require_POST
@staff_action("extraction.change_batch")
def batch_split(request: PageRequest, batch_id: UUID) -> HttpResponse:
    row = get_batch(batch_id)
    if services.split_parked([row.pk]):
        messages.success(
            request, f"Messages {row.first_position}–{row.last_position} will be read again as two smaller batches."
        )
    elif row.status == Batch.Status.PARKED:
        messages.info(request, "This batch holds a single message; no message is ever split. Retry it instead.")
    else:
        messages.info(request, f"This batch is not parked: it is {row.get_status_display()}.")
    return _back(row)


def _back(row: Batch) -> HttpResponse:
    return redirect("document", row.document_id) if row.document_id else redirect("chat", chat_id=row.chat_id)

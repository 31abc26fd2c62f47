"""Finding things by their titles and ids: what the search shows above the passages. The lists' own filters, newest first.

A fixed number of queries. Each is answered from an index of its own (trigrams of titles, names and texts; the keys).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.urls import reverse

from coverage.models import Chat, Learner
from extraction.models import Document, Run
from graphctx.models import Proposition
from osii import propositions
from osii.models import ChatImport, ProcessingRun
from osii.permissions import IMPORT, SEE_CHATS, SEE_DOCUMENTS, SEE_LIBRARY, SEE_PROPOSITIONS, SEE_RUNS

from . import activity_list
from .documents.listing import named
from .import_forms import NAMES

SHOWN = 5
CHATS_OF_RUNS = 200
"""Runs are looked for in so many of the chats with the title, the latest ones."""
LONGEST = 200
"""What is longer is no part of a title."""
ID = re.compile(r"[0-9a-f-]{8,36}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Things:
    """One kind of what was found: at most SHOWN rows; ``more`` leads to the list that has the others, if there are any."""

    name: str
    icon: str
    template: str
    rows: Sequence[Any]
    more: str = ""


def find(q: str, learner: Learner | None = None, may: Callable[[str], bool] = lambda _: True) -> list[Things]:
    """What has ``q`` in its title, name or text, or an id that begins with it; of a learner, if one is given.

    ``may`` tells of a permission whether it is held: what may not be seen is not looked for.
    """
    q = q.strip()
    if not q or len(q) > LONGEST:
        return []
    ids = id_range(q)
    found = []
    if may(SEE_CHATS):
        found.append(_chats(q, ids, learner))
    if may(SEE_PROPOSITIONS):
        found.append(_propositions(q, ids, learner))
    if may(SEE_DOCUMENTS):
        found.append(_documents(q, learner))
    return [*found, _runs(q, ids, learner, may)]


def id_range(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin with ``text``; None when it is no beginning of one, or less than eight digits."""
    digits = text.replace("-", "")
    if not ID.fullmatch(text) or not 8 <= len(digits) <= 32:
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def _by_id(ids: tuple[UUID, UUID] | None) -> Q:
    return Q(pk__range=ids) if ids else Q(pk__in=())


def _of(learner: Learner | None, field: str = "learner") -> Q:
    return Q(**{field: learner}) if learner else Q()


def _things(
    name: str, icon: str, template: str, rows: Sequence[Any], listing: str, q: str, learner: Learner | None
) -> Things:
    query = urlencode({"q": q} | ({"learner": learner.pk} if learner else {}))
    more = f"{reverse(listing)}?{query}" if len(rows) > SHOWN else ""
    return Things(name, icon, f"search/{template}.html", rows[:SHOWN], more)


def _chats_with(q: str, ids: tuple[UUID, UUID] | None, learner: Learner | None) -> QuerySet[Chat]:
    named = Q(title__icontains=q) | Q(external_id__icontains=q) | _by_id(ids)
    return Chat.objects.filter(named, _of(learner)).order_by("-updated_at", "id")


def _chats(q: str, ids: tuple[UUID, UUID] | None, learner: Learner | None) -> Things:
    rows = list(_chats_with(q, ids, learner).select_related("learner")[: SHOWN + 1])
    return _things("Chats", "chat-left-text", "chat_found", rows, "chats", q, learner)


def _propositions(q: str, ids: tuple[UUID, UUID] | None, learner: Learner | None) -> Things:
    found = Proposition.objects.filter(Q(text__icontains=q) | _by_id(ids), _of(learner))
    rows = list(found.select_related("learner").order_by(*propositions.ORDERS["newest"])[: SHOWN + 1])
    return _things("Propositions", "lightbulb", "proposition_found", rows, "propositions", q, learner)


def _documents(q: str, learner: Learner | None) -> Things:
    found = Document.objects.filter(_of(learner), pk__in=named(q)).order_by("-added_at", "file_id")
    rows = list(found.select_related("learner")[: SHOWN + 1])
    return _things("Documents", "file-earmark-text", "document_found", rows, "documents", q, learner)


def _runs(q: str, ids: tuple[UUID, UUID] | None, learner: Learner | None, may: Callable[[str], bool]) -> Things:
    kinds: dict[str, QuerySet[Any]] = {}
    if may(SEE_CHATS) and may(SEE_RUNS):
        chats = list(_chats_with(q, ids, learner).values_list("pk", flat=True)[:CHATS_OF_RUNS])
        of_chats = Q(chat__in=chats) | _by_id(ids) & _of(learner, "chat__learner")
        kinds[activity_list.CHAT] = Run.objects.filter(of_chats)
    if all(map(may, SEE_LIBRARY)):
        named_so = activity_list.titled(q) | _by_id(ids)
        kinds[activity_list.PROCESSING] = ProcessingRun.objects.filter(named_so, _of(learner))
    if may(IMPORT):
        name = {"learner": learner.name} if learner else {}
        kinds[activity_list.IMPORT] = ChatImport.objects.alias(names=NAMES).filter(
            Q(names__icontains=q) | _by_id(ids), **name
        )
    return Things("Runs", "clock-history", "search/run_found.html", activity_list.newest(kinds, SHOWN))

"""The graph view's data: propositions and the chats they came from, joined by links and by evidence, within a bound.

The drawing (as JSON) and the table show the same ``Graph``. A fixed number of queries, whatever the size.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.urls import reverse

from coverage.models import Chat
from graphctx.models import Instance, Level, Proposition
from osii.links import Relation, links_of
from osii.propositions import detailed, ids_in_order

from .statuses import status_of

NODES = 150
"""As many as one answer holds; more are fetched around a node."""

PROPOSITIONS = 110
"""As many of them are propositions, so that their chats find a place."""

LABEL = 60


@dataclass(slots=True)
class Node:
    """One proposition of the graph with what joins it to others. ``hidden`` links lead to propositions that are not here."""

    proposition: Proposition
    relations: list[tuple[Relation, Proposition]] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """``total`` counts the propositions that could be shown; ``focus`` is the id of the node in the middle, if any."""

    nodes: Sequence[Node]
    chats: Sequence[Chat]
    contributions: dict[tuple[UUID, UUID], int]
    total: int
    focus: str = ""

    @property
    def size(self) -> int:
        return len(self.nodes) + len(self.chats)


def graph_of(rows: QuerySet[Proposition]) -> Graph:
    """The newest of ``rows`` and the chats that gave most evidence for them."""
    return _graph(list(ids_in_order(rows)[:PROPOSITIONS]), rows.count())


def graph_around(row: Proposition) -> Graph:
    """A proposition, what it is linked with, and the chats of all of them; its own chats come first."""
    others = list(dict.fromkeys(relation.other for relation in links_of([row])[row.pk]))
    ids = [row.pk, *others[: PROPOSITIONS - 1]]
    return _graph(ids, 1 + len(others), focus=f"p:{row.pk}", first=row.pk)


def graph_of_chat(chat: Chat) -> Graph:
    """A chat and the newest of what it gave evidence for. Other chats are left out: they are one step away."""
    rows = Proposition.objects.filter(pk__in=_evidence().filter(chat=chat).values("proposition"))
    return _graph(list(ids_in_order(rows)[:PROPOSITIONS]), rows.count(), focus=f"c:{chat.pk}", only=chat)


def _evidence() -> QuerySet[Instance]:
    return Instance.objects.filter(withdrawn_at__isnull=True).order_by()


def _graph(
    ids: list[UUID], total: int, *, focus: str = "", first: UUID | None = None, only: Chat | None = None
) -> Graph:
    nodes = {row.pk: Node(row) for row in detailed(ids)}
    given = _evidence().filter(proposition__in=list(nodes), chat__isnull=False)
    if only:
        given = given.filter(chat=only)
    counted = given.values_list("chat", "proposition").annotate(pieces=Count("pk"))
    pieces = {(chat, proposition): count for chat, proposition, count in counted}
    chats = _chats(pieces, NODES - len(nodes), first)
    for key, relations in links_of(nodes).items():
        here = [(relation, nodes[relation.other].proposition) for relation in relations if relation.other in nodes]
        nodes[key].relations, nodes[key].hidden = here, len(relations) - len(here)
    contributions = {pair: count for pair, count in pieces.items() if pair[0] in chats}
    for chat, proposition in contributions:
        nodes[proposition].chats.append(chats[chat])
    shown = [*chats.values()] if chats or only is None else [only]
    return Graph(list(nodes.values()), shown, contributions, total, focus)


def _chats(pieces: dict[tuple[UUID, UUID], int], most: int, first: UUID | None) -> dict[UUID, Chat]:
    """The chats with most evidence, those of the proposition ``first`` before the others."""
    weight: Counter[UUID] = Counter()
    for (chat, _proposition), count in pieces.items():
        weight[chat] += count
    order = sorted(weight, key=lambda chat: ((chat, first) not in pieces, -weight[chat], chat))[:most]
    found = Chat.objects.in_bulk(order)
    return {chat: found[chat] for chat in order if chat in found}


def as_json(graph: Graph) -> dict[str, Any]:
    """What the drawing reads: nodes, edges, and how much of the whole this is."""
    return {
        "nodes": [*map(_proposition, graph.nodes), *map(_chat, graph.chats)],
        "edges": [*_links(graph), *_contributions(graph)],
        "focus": graph.focus,
        "total": graph.total,
        "shown": len(graph.nodes),
    }


def _proposition(node: Node) -> dict[str, Any]:
    row = node.proposition
    state = row.state if row.state != Proposition.State.LIVE or row.has_evidence else "no_evidence"
    level = Level(row.latest_level).label if row.latest_level else ""
    return {
        "id": f"p:{row.pk}",
        "type": "proposition",
        "text": row.text,
        "label": f"{_short(row.text)}{f' [{level}]' if level else ''}",
        "kind": row.kind,
        "kind_word": row.get_kind_display(),
        "level": level,
        "state": state,
        "state_word": status_of("flag" if state == "no_evidence" else "proposition", state).word,
        "evidence": row.instance_count,
        "more": node.hidden,
        "url": reverse("proposition", args=[row.pk]),
        "around": f"{reverse('graph-data')}?proposition={row.pk}",
        "centre": f"{reverse('graph')}?proposition={row.pk}",
    }


def _chat(chat: Chat) -> dict[str, Any]:
    title = chat.title or "Untitled chat"
    return {
        "id": f"c:{chat.pk}",
        "type": "chat",
        "text": title,
        "label": _short(title),
        "kind": "chat",
        "kind_word": "chat",
        "url": reverse("chat", args=[chat.pk]),
        "around": f"{reverse('graph-data')}?chat={chat.pk}",
        "centre": f"{reverse('graph')}?chat={chat.pk}",
    }


def _short(text: str) -> str:
    return text if len(text) <= LABEL else f"{text[: LABEL - 1].rstrip()}…"


def _links(graph: Graph) -> list[dict[str, Any]]:
    """Each link once, from its source; links between two that are not neighbours of one answer come with another."""
    return [
        _edge(f"p:{node.proposition.pk}", f"p:{other.pk}", relation.word)
        for node in graph.nodes
        for relation, other in node.relations
        if relation.outgoing
    ]


def _contributions(graph: Graph) -> list[dict[str, Any]]:
    return [_edge(f"c:{chat}", f"p:{proposition}", "gave") for chat, proposition in graph.contributions]


def _edge(source: str, target: str, word: str) -> dict[str, Any]:
    return {"id": f"{source} {word} {target}", "source": source, "target": target, "type": word}


def chats_with_counts(graph: Graph) -> list[tuple[Chat, int]]:
    """Each chat with how many of the propositions shown it gave evidence for."""
    counts: defaultdict[UUID, int] = defaultdict(int)
    for chat, _proposition in graph.contributions:
        counts[chat] += 1
    return [(chat, counts[chat.pk]) for chat in graph.chats]

"""The graph view's data: propositions, the chats and documents they came from, joined by links and by evidence, within a bound.

The drawing (as JSON) and the table show the same ``Graph``. A fixed number of queries, whatever the size.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.urls import reverse

from coverage.models import Chat
from coverage.words import shown_title
from extraction.models import Document
from graphctx.models import Instance, Level, Proposition
from osii.links import Relation, links_of
from osii.propositions import detailed, ids_in_order

from .statuses import status_of

NODES = 150
"""As many as one answer holds; more are fetched around a node."""

PROPOSITIONS = 110
"""As many of them are propositions, so that their sources find a place."""

LABEL = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A chat or a document (``kind``) that gave evidence."""

    kind: str
    key: UUID | str
    title: str

    @property
    def node(self) -> str:
        return node_id(self.kind, self.key)

    @property
    def url(self) -> str:
        return reverse(self.kind, args=[self.key])

    @property
    def centre(self) -> str:
        return f"{reverse('graph')}?{self.kind}={self.key}"

    @property
    def around(self) -> str:
        return f"{reverse('graph-data')}?{self.kind}={self.key}"


def node_id(kind: str, key: UUID | str) -> str:
    """``p:``, ``c:`` or ``d:`` and the id of what the node stands for."""
    return f"{kind[0]}:{key}"


@dataclass(slots=True)
class Node:
    """One proposition of the graph with what joins it to others. ``hidden`` links lead to propositions that are not here."""

    proposition: Proposition
    relations: list[tuple[Relation, Proposition]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """``total`` counts the propositions that could be shown; ``focus`` is the id of the node in the middle, if any.

    ``contributions`` counts the pieces of evidence by node of the source and proposition; ``unnamed`` sources are left out.
    """

    nodes: Sequence[Node]
    sources: Sequence[Source]
    contributions: dict[tuple[str, UUID], int]
    total: int
    unnamed: int = 0
    focus: str = ""

    @property
    def size(self) -> int:
        return len(self.nodes) + len(self.sources)

    @property
    def chats(self) -> list[Source]:
        return [source for source in self.sources if source.kind == "chat"]

    @property
    def documents(self) -> list[Source]:
        return [source for source in self.sources if source.kind == "document"]


def graph_of(rows: QuerySet[Proposition]) -> Graph:
    """The newest of ``rows`` and the chats and documents that gave most evidence for them."""
    return _graph(list(ids_in_order(rows)[:PROPOSITIONS]), rows.count())


def graph_around(row: Proposition) -> Graph:
    """A proposition, what it is linked with, and the sources of all of them; its own come first."""
    others = list(dict.fromkeys(relation.other for relation in links_of([row])[row.pk]))
    ids = [row.pk, *others[: PROPOSITIONS - 1]]
    return _graph(ids, 1 + len(others), focus=node_id("proposition", row.pk), first=row.pk)


def graph_of_chat(chat: Chat) -> Graph:
    """A chat and the newest of what it gave evidence for. Other sources are left out: they are one step away."""
    rows = Proposition.objects.filter(pk__in=_evidence().filter(chat=chat).values("proposition"))
    return _graph_of_source(_of_chat(chat.pk, chat.title), rows)


def graph_of_document(document: Document) -> Graph:
    """The same of a document; of its learner's propositions, for learners never meet."""
    given = _evidence().filter(document_id=document.pk).values("proposition")
    rows = Proposition.objects.filter(pk__in=given, learner=document.learner)
    return _graph_of_source(_of_document(document.pk, document.filename), rows)


def _graph_of_source(source: Source, rows: QuerySet[Proposition]) -> Graph:
    ids = list(ids_in_order(rows)[:PROPOSITIONS])
    return _graph(ids, rows.count(), focus=source.node, only=source)


def _of_chat(key: UUID, title: str) -> Source:
    return Source("chat", key, shown_title(title, key))


def _of_document(key: str, filename: str) -> Source:
    return Source("document", key, filename)


def _evidence() -> QuerySet[Instance]:
    return Instance.objects.filter(withdrawn_at__isnull=True).order_by()


def _graph(
    ids: list[UUID], total: int, *, focus: str = "", first: UUID | None = None, only: Source | None = None
) -> Graph:
    nodes = {row.pk: Node(row) for row in detailed(ids)}
    pieces = _pieces(nodes, only)
    order, room = _in_order(pieces, first), NODES - len(nodes)
    sources = _sources(order[:room])
    for key, relations in links_of(nodes).items():
        here = [(relation, nodes[relation.other].proposition) for relation in relations if relation.other in nodes]
        nodes[key].relations, nodes[key].hidden = here, len(relations) - len(here)
    contributions = {pair: count for pair, count in pieces.items() if pair[0] in sources}
    for source, proposition in contributions:
        nodes[proposition].sources.append(sources[source])
    shown = [*sources.values()] if sources or only is None else [only]
    return Graph(list(nodes.values()), shown, contributions, total, max(0, len(order) - room), focus)


def _pieces(propositions: Iterable[UUID], only: Source | None) -> dict[tuple[str, UUID], int]:
    """How many pieces of evidence each source gave for each of the propositions, by the source's node."""
    given = _evidence().filter(proposition__in=list(propositions))
    if only:
        given = given.filter(**{"chat" if only.kind == "chat" else "document_id": only.key})
    counted = given.values_list("chat", "document_id", "proposition").annotate(pieces=Count("pk"))
    return {
        (node_id("chat", chat) if chat else node_id("document", document), proposition): count
        for chat, document, proposition, count in counted
    }


def _in_order(pieces: dict[tuple[str, UUID], int], first: UUID | None) -> list[str]:
    """Those that gave most evidence, the sources of the proposition ``first`` before the others."""
    weight: Counter[str] = Counter()
    for (source, _proposition), count in pieces.items():
        weight[source] += count
    return sorted(weight, key=lambda source: ((source, first) not in pieces, -weight[source], source))


def _sources(nodes: list[str]) -> dict[str, Source]:
    """What the nodes stand for, in their order; two queries."""
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for node in nodes:
        keys[node[0]].append(node[2:])
    chats = Chat.objects.filter(pk__in=keys["c"]).order_by().values_list("pk", "title")
    documents = Document.objects.filter(pk__in=keys["d"]).order_by().values_list("pk", "filename")
    made = [*(_of_chat(*row) for row in chats), *(_of_document(*row) for row in documents)]
    found = {source.node: source for source in made}
    return {node: found[node] for node in nodes if node in found}


def as_json(graph: Graph) -> dict[str, Any]:
    """What the drawing reads: nodes, edges, and how much of the whole this is."""
    return {
        "nodes": [*map(_proposition, graph.nodes), *map(_source, graph.sources)],
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


def _source(source: Source) -> dict[str, Any]:
    return {
        "id": source.node,
        "type": source.kind,
        "text": source.title,
        "label": _short(source.title),
        "kind": source.kind,
        "kind_word": source.kind,
        "url": source.url,
        "around": source.around,
        "centre": source.centre,
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
    return [_edge(source, f"p:{proposition}", "gave") for source, proposition in graph.contributions]


def _edge(source: str, target: str, word: str) -> dict[str, Any]:
    return {"id": f"{source} {word} {target}", "source": source, "target": target, "type": word}


def sources_with_counts(graph: Graph) -> list[tuple[Source, int]]:
    """Each chat and document with how many of the propositions shown it gave evidence for."""
    counts = Counter(source for source, _proposition in graph.contributions)
    return [(source, counts[source.node]) for source in graph.sources]

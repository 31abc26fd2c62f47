"""The active path through a ChatGPT conversation's tree of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .values import parse_time, printable

_REPAIR = "what the path reaches was imported; export the conversation again for the rest"


@dataclass(slots=True)
class Path:
    """Node ids from the root to the active leaf, and (reason, remedy) of what is wrong with the tree."""

    nodes: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def active_path(mapping: Mapping[str, Any], current_node: Any) -> Path:
    """Walk from ``current_node`` back to the root.

    Without a current node the newest leaf is taken. Circles, parents that are missing and nodes that are not objects
    end the walk and are reported; what was reached by then is the path.
    """
    path = Path()
    parents = _parents(mapping)
    node_id = current_node
    if current_node is not None and not _is_node(mapping, current_node):
        path.problems.append(
            (f"its current node {_shown(current_node)} is not in the conversation", "the newest branch was taken")
        )
        node_id = None
    if node_id is None:
        node_id = _newest_leaf(mapping, parents)
    seen: set[str] = set()
    while node_id is not None:
        if not _is_node(mapping, node_id):
            path.problems.append((f"the node {_shown(node_id)} that comes before is missing", _REPAIR))
            break
        if node_id in seen:
            path.problems.append((f"its nodes run in a circle at {_shown(node_id)}", _REPAIR))
            break
        seen.add(node_id)
        path.nodes.append(node_id)
        node_id = parents.get(node_id)
    path.nodes.reverse()
    return path


def _is_node(mapping: Mapping[str, Any], node_id: Any) -> bool:
    return isinstance(node_id, str) and isinstance(mapping.get(node_id), dict)


def _parents(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The parent of each node; where a node does not name it, the node that lists it as a child."""
    named: dict[str, Any] = {}
    listed: dict[str, Any] = {}
    for node_id, node in mapping.items():
        if isinstance(node, dict):
            for child in _children(node):
                listed.setdefault(child, node_id)
            if node.get("parent") is not None:
                named[node_id] = node["parent"]
    return listed | named


def _children(node: Mapping[str, Any]) -> list[str]:
    children = node.get("children")
    return [child for child in children if isinstance(child, str)] if isinstance(children, list) else []


def _newest_leaf(mapping: Mapping[str, Any], parents: Mapping[str, Any]) -> str | None:
    """The leaf whose message is the latest; of equals, the one that the export lists last."""
    inner = {parent for parent in parents.values() if isinstance(parent, str)}
    nodes = [node_id for node_id in mapping if _is_node(mapping, node_id)]
    leaves = [node_id for node_id in nodes if node_id not in inner] or nodes
    return max(enumerate(leaves), key=lambda leaf: (_time(mapping[leaf[1]]), leaf[0]), default=(0, None))[1]


def _time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    moment = parse_time(message.get("create_time")) if isinstance(message, dict) else None
    return moment.timestamp() if moment else 0.0


def _shown(node_id: Any) -> str:
    return repr(printable(str(node_id)[:60]))

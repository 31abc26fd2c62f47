"""Is anything known against the locked versions? One question to the open database of advisories, OSV.

Who cannot reach it is told so, and goes on: a machine without the network can be checked for everything else.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OSV = "https://api.osv.dev"
SECONDS = 15
ACCEPTED: dict[str, str] = {}
"""Ids of advisories that do not touch us, or that nothing mends yet, each with its reason."""


class CannotAsk(Exception):
    """The database was not reached, or its answer cannot be read; one line."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """One that is known of a locked version."""

    package: str
    version: str
    id: str
    summary: str
    # The versions that mend it, in the order of the advisory; none when there is none yet.
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        remedy = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no version mends it yet"
        return f"{self.package} {self.version}: {self.id} ({self.summary or 'no summary'}); {remedy}"


def known(packages: Mapping[str, str], base: str = OSV) -> list[Advisory]:
    """The advisories of these versions by name, without the accepted ones. Raises CannotAsk."""
    asked = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages.items()]
    results = _ask(f"{base}/v1/querybatch", {"queries": asked}).get("results")
    if not isinstance(results, list) or len(results) != len(packages):
        raise CannotAsk("it answered something else than one result for each package")
    found = []
    for (name, version), result in zip(packages.items(), results, strict=True):
        for each in result.get("vulns") or ():
            told = _ask(f"{base}/v1/vulns/{urllib.parse.quote(each['id'], safe='')}")
            ids = {told["id"], *told.get("aliases", ())}
            if not told.get("withdrawn") and not ids & ACCEPTED.keys():
                found.append(Advisory(name, version, told["id"], told.get("summary", ""), _fixed(told, name)))
    return found


def _fixed(told: Mapping[str, Any], name: str) -> tuple[str, ...]:
    versions = [
        event["fixed"]
        for affected in told.get("affected", ())
        if _plain(affected.get("package", {}).get("name", "")) == _plain(name)
        for reach in affected.get("ranges", ())
        if reach.get("type") == "ECOSYSTEM"
        for event in reach.get("events", ())
        if "fixed" in event
    ]
    return tuple(dict.fromkeys(versions))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _ask(address: str, body: object = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            answer = json.load(response)
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise CannotAsk(str(reason)) from None
    if not isinstance(answer, dict):
        raise CannotAsk("its answer is no object")
    return answer

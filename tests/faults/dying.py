"""Does one thing to a document library and is killed on the way: ``python -m tests.faults.dying PLACE ACTION ARGUMENTS``.

PLACE is "before" or "after" and a function, as ``after:extraction.documents.store:Store.place_version``: when it is called
the process kills itself with SIGKILL, before it runs or once it has.
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def die_at(place: str) -> None:
    when, module, path = place.split(":")
    owner: Any = importlib.import_module(module)
    *owners, name = path.split(".")
    for part in owners:
        owner = getattr(owner, part)
    original = getattr(owner, name)

    def dying(*arguments: Any, **values: Any) -> Any:
        if when == "after":
            original(*arguments, **values)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


def main(place: str, action: str, arguments: list[Any]) -> None:
    import django

    django.setup()
    from extraction.documents import services

    actions: dict[str, Callable[..., Any]] = {
        "add": services.add_file,
        "extract": services.extract,
        "promote": services.promote,
        "rollback": services.rollback,
        "remove_document": services.remove_document,
        "remove_versions": services.remove_versions,
        "reconcile": lambda: list(services.reconcile_all()),
    }
    die_at(place)
    actions[action](*arguments)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))

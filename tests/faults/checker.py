"""Proves the invariants of one installation, again and again without starting anew: ``python -m tests.faults.checker``.

Each line on its standard input is answered with one line of JSON: what `check_invariants` found.
"""

import json
import sys


def main() -> None:
    import django

    django.setup()
    from django.db import close_old_connections, connection
    from django.db.utils import Error

    from osii.invariants import violations

    for _ in sys.stdin:
        close_old_connections()
        try:
            found = {room: lines for room, lines in violations().items() if lines}
        except Error as error:  # a database that has just come back: the caller asks again
            connection.close()
            found = {"checker": [f"{type(error).__name__}: {error}"]}
        print(json.dumps(found), flush=True)  # noqa: T201 - read by who asked


if __name__ == "__main__":
    main()

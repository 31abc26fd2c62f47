"""`make lint` runs this: licences of the locked packages, and advisories known of their versions; exit 1 for either.

`--must-ask` fails also when the database of advisories cannot be asked, for whoever releases.
"""

import argparse
import sys

from . import advisories, licences
from .locked import packages


def main(arguments: list[str], base: str = advisories.OSV) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__)
    parser.add_argument("--must-ask", action="store_true", help="fail when the advisories cannot be asked for")
    options = parser.parse_args(arguments)
    locked = packages()
    bad = licences.problems(locked)
    try:
        found = [str(one) for one in advisories.known(locked, base)]
    except advisories.CannotAsk as error:
        told = f"Advisories: {base} cannot be asked ({error}); {len(locked)} locked versions were NOT compared"
        sys.stderr.write(f"{told}\n")
        found = ["the advisories could not be asked for"] if options.must_ask else []
    else:
        sys.stdout.write(f"Advisories: {len(locked)} locked versions compared, {len(found)} known\n")
    for line in bad + found:
        sys.stderr.write(f"error: {line}\n")
    sys.stdout.write(f"Licences: {len(locked)} packages, {len(licences.EXCEPTIONS)} exceptions with reasons\n")
    return int(bool(bad or found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

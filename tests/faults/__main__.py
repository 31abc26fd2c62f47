"""`make faults`: random faults under load, round after round, with the seeds that repeat them."""

import argparse
import os
import random
import signal
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make faults",
        description="Kill, freeze, flood and starve every part of an installation under load, and prove what must hold.",
    )
    parser.add_argument("--rounds", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", help="repeats a schedule; the rounds are SEED-0, SEED-1, …")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first round's number (default 0)")
    parser.add_argument("--seconds", type=float, default=6, help="how long the load of a round lasts (default 6)")
    parser.add_argument("--faults", type=int, default=4, help="faults in a round (default 4)")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first round that fails")
    given = parser.parse_args()

    os.environ["OSII_HOME"] = os.environ.get("OSII_HOME") or "var/test"
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")
    django.setup()
    from .rounds import installed

    seed = given.seed or f"{random.SystemRandom().randrange(10**6):06}"
    print(f'{given.rounds} rounds from seed {seed}; repeat them with ARGS="--seed {seed}"', flush=True)  # noqa: T201

    def tell(line: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)  # noqa: T201

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # everything is stopped and removed then, too
    failed = 0
    with installed(tell) as rounds:
        for number in range(given.first, given.first + given.rounds):
            try:
                wrong = rounds.run(f"{seed}-{number}", seconds=given.seconds, faults=given.faults)
            except TimeoutError as error:
                wrong = [str(error)]
            for line in wrong:
                tell(f"  WRONG {line}")
            if wrong:
                failed += 1
                rounds.keep(f"{seed}-{number}")
                if not given.go_on:
                    break
    tell(f"{failed} rounds failed" if failed else f"all {given.rounds} rounds passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

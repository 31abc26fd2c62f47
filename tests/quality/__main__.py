"""`python -m tests.quality`: how well a worker extracts, on the labelled set; see docs/quality.md."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")


def main() -> int:
    """Print the figures; 1 with one line if they cannot be had.

    A batch in which a worker fails counts as one in which it found nothing, and is told on stderr.
    """
    given = _arguments().parse_args()
    import django

    django.setup()
    from extraction.workers import WorkerUnavailable
    from tests.quality.excerpts import HALVES, load

    if given.show and not any(one.name == given.show for one in load("tuning")):
        sys.stderr.write(f"error: the tuning half has no excerpt {given.show!r}; held-out ones are not shown\n")
        return 1
    try:
        found = _found(given)
    except (WorkerUnavailable, ValueError) as error:
        sys.stderr.write(f"\nerror: {error}\n")
        return 1
    if given.show:
        for worker, judged in found.items():
            _show(worker, next(one for one in judged if one.excerpt.name == given.show))
    elif given.json:
        print(json.dumps({name: _as_json(judged) for name, judged in found.items()}, indent=2))  # noqa: T201
    else:
        for worker, judged in found.items():
            for half in HALVES:
                _print(worker, half, [one for one in judged if one.excerpt.half == half])
    return 0


def _found(given: argparse.Namespace) -> dict[str, list]:
    """The judged excerpts by worker; raises what `get_worker` raises."""
    from tests.quality.excerpts import load

    row = _named(given.model) if given.model else None
    with _database():
        if row is not None:
            row.save(force_insert=True)
        default = ["llm"] if given.model else ["rules", *(["llm"] if _endpoint_is_set() else [])]
        excerpts = load("tuning" if given.show else None)
        return {worker: _judge(worker, excerpts, given.model) for worker in given.worker or default}


def _named(name: str) -> Any:
    """The admin's model of this name, from the configured database; raises ValueError where there is none."""
    from django.db import ProgrammingError

    from extraction.llm.choice import ENVIRONMENT, model_names
    from extraction.models import LanguageModel
    from osii import embedded

    embedded.ensure()
    try:
        row = LanguageModel.objects.filter(name=name).first()
        if row is None and name != ENVIRONMENT:
            raise ValueError(f"there is no model {name!r}; known: {', '.join(model_names()) or 'none'}")
    except ProgrammingError:
        raise ValueError("this database holds no models yet: run `manage.py up`, and add one in the admin") from None
    return row


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--worker", action="append", help="rules or llm; both where an endpoint is set")
    parser.add_argument("--model", metavar="NAME", default="", help="measure llm with this model of the admin")
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument(
        "--show", metavar="NAME", help="hits, false claims and misses of one excerpt of the tuning half"
    )
    return parser


def _endpoint_is_set() -> bool:
    from extraction.workers import WorkerUnavailable, get_worker

    try:
        get_worker("llm")
    except WorkerUnavailable:
        return False
    return True


@contextmanager
def _database() -> Iterator[None]:
    from benchmarks.scratch import scratch_database
    from osii import embedded

    embedded.ensure()
    with scratch_database():
        yield


def _judge(worker: str, excerpts: list, model: str) -> list:
    from extraction.workers import BatchFailed, get_worker
    from tests.quality.matching import judge
    from tests.quality.running import judged

    found = []
    for number, excerpt in enumerate(excerpts, start=1):
        sys.stderr.write(f"\r{worker}: {number} of {len(excerpts)}")
        try:
            found.append(judged(excerpt, get_worker(worker, model if worker == "llm" else "")))
        except BatchFailed as error:
            sys.stderr.write(f"\n{excerpt.name}: {error}\n")
            found.append(judge(excerpt, []))
    sys.stderr.write("\n")
    return found


def _languages(judged: list) -> dict[str, list]:
    codes = sorted({one.excerpt.language for one in judged}, key=lambda code: (code != "en", code))
    return {code: [one for one in judged if one.excerpt.language == code] for code in codes}


def _print(worker: str, half: str, judged: list) -> None:
    from tests.quality.scoring import forbidden, table

    for language, some in _languages(judged).items():
        print(  # noqa: T201
            f"\n{worker}, {half}, {language}: {len(some)} excerpts, {forbidden(some)} forbidden claims staged, "
            f"{sum(len(one.other_kind) for one in some)} right but for kind or level"
        )
        print(f"{'kind':20}{'hits':>6}{'false':>7}{'missed':>8}  precision (95 %)     recall (95 %)        F1")  # noqa: T201
        for kind, score in table(some).items():
            print(_line(kind, score))  # noqa: T201


def _line(kind: str, score: object) -> str:
    from tests.quality.scoring import Score, wilson

    assert isinstance(score, Score)

    def cell(value: float | None, interval: tuple[float, float] | None = None) -> str:
        text = "–" if value is None else f"{value:.2f}"
        return text if interval is None else f"{text} ({interval[0]:.2f}–{interval[1]:.2f})"

    precision = cell(score.precision, wilson(score.hits, score.hits + score.false))
    recall = cell(score.recall, wilson(score.hits, score.hits + score.missed))
    return f"{kind:20}{score.hits:6}{score.false:7}{score.missed:8}  {precision:20} {recall:20} {cell(score.f1)}"


def _as_json(judged: list) -> dict:
    from tests.quality.excerpts import HALVES
    from tests.quality.scoring import forbidden, table

    halves = {half: [one for one in judged if one.excerpt.half == half] for half in HALVES}
    return {
        half: {
            language: {
                "excerpts": len(those),
                "forbidden": forbidden(those),
                "kinds": {kind: score.as_json() for kind, score in table(those).items()},
            }
            for language, those in _languages(some).items()
        }
        for half, some in halves.items()
    }


def _show(worker: str, one: object) -> None:
    from tests.quality.matching import Judged

    assert isinstance(one, Judged)
    near = dict(one.other_kind)
    lines = [f"{worker}: {one.excerpt.name}"]
    lines += [f"  hit      {claim.kind}: {claim.text} [{claim.level}]" for claim, _ in one.hits]
    lines += [
        f"  false    {claim.kind}: {claim.text} [{claim.level}] ({'wants ' + str(near[claim]) if claim in near else why})"
        for claim, why in one.false
    ]
    lines += [f"  neutral  {claim.kind}: {claim.text}" for claim in one.neutral]
    lines += [f"  missed   {'|'.join(label.kinds)}: {label.has} {label.level or ''}" for label in one.missed]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

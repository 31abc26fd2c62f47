"""`/metrics` for Prometheus: gauges that are derived from the database and Redis when they are asked for.

Nothing is counted up in a process, so every web server answers the same and a restart loses nothing. What happened is told
of the last hour or day. No label holds anything of anybody's data.
"""

import contextlib
import hmac
import ipaddress
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import django_rq
import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, Min, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from rq import Worker

from coverage import summaries
from extraction.models import Batch, ExtractionVersion, ModelUse, Run
from graphctx.models import Steer
from osii.care import backups
from osii.models import ChatImport, ProcessingItem, ProcessingStep

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEPT_SECONDS = 5.0
FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Proto", "Via")
SILENCE_SECONDS = 90

# Words in the error of a batch, and the reason that they stand for; the first that fits.
REASONS = (
    ("too long for the model", "too_long"),
    ("did not finish within", "time_limit"),
    ("filtered", "filtered"),
    ("cut off", "answer_cut_off"),
    ("no usable answer", "unusable_answer"),
    ("without finish_extraction", "not_finished"),
    ("works, but not with this batch", "endpoint_refuses"),
)

DURATIONS = """
SELECT percentile_cont(ARRAY[0.5, 0.95, 1]) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM finished_at - created_at)), count(*)
FROM extraction_batch WHERE finished_at > %s AND status = 'succeeded' AND attempt = 1
"""

Family = GaugeMetricFamily


def metrics(request: HttpRequest) -> HttpResponse:
    """With OSII_METRICS_TOKEN for whoever sends it as bearer token; without, for this machine alone."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
    if not allowed(request):
        needs_token = bool(settings.OSII_METRICS_TOKEN)
        headers = {"WWW-Authenticate": 'Bearer realm="osii metrics"'} if needs_token else {}
        return HttpResponse(
            "Not for you.\n", status=401 if needs_token else 403, content_type="text/plain", headers=headers
        )
    return HttpResponse(page.text(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def allowed(request: HttpRequest) -> bool:
    """A proxy on this machine makes everybody come from it: what was forwarded is not local."""
    if settings.OSII_METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            token.strip().encode(errors="replace"), settings.OSII_METRICS_TOKEN.encode()
        )
    if settings.OSII_PROXIES or any(name in request.headers for name in FORWARDED):
        return False
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    return False


class Derived:
    """The collector: each part is asked by itself, so that one that is away hides no other."""

    def collect(self) -> Iterator[Family]:
        up = Family("osii_part_up", "Whether the part answered.", labels=["part"])
        for part, families, faults in (
            ("database", of_database, (DatabaseError, InterfaceError)),
            ("redis", of_queues, (redis.RedisError,)),
        ):
            try:
                found = list(families())
            except faults:
                up.add_metric([part], 0)
                if part == "database":
                    connection.close()
            else:
                up.add_metric([part], 1)
                yield from found
        yield up
        if (last := backups.last()) is not None:
            yield Family(
                "osii_last_backup_timestamp_seconds",
                "When the last backup from this home was made.",
                value=datetime.fromisoformat(last["made_at"]).timestamp(),
            )


def of_queues() -> Iterator[Family]:
    waiting = Family("osii_queue_jobs", "Jobs that wait.", labels=["queue"])
    failed = Family("osii_queue_failed_jobs", "Jobs that failed and are remembered.", labels=["queue"])
    alive = Family("osii_workers", "Workers with a heartbeat in the last 90 seconds.", labels=["queue"])
    now = timezone.now()
    for name in settings.RQ_QUEUES:
        queue = django_rq.get_queue(name)
        waiting.add_metric([name], queue.count)
        failed.add_metric([name], queue.failed_job_registry.get_job_count(cleanup=False))
        beats = [
            worker.last_heartbeat for worker in Worker.all(connection=queue.connection) if name in worker.queue_names()
        ]
        alive.add_metric([name], sum((now - beat).total_seconds() < SILENCE_SECONDS for beat in beats if beat))
    yield from (waiting, failed, alive)


def of_database() -> Iterator[Family]:
    yield from _chats()
    yield from _runs()
    yield from _batches()
    yield _failures()
    yield from _models()
    items = ProcessingItem.objects.filter(status__in=ProcessingItem.OPEN)
    yield _by("osii_processing_items", "Documents that wait or are processed.", "status", items)


def _chats() -> Iterable[Family]:
    rows, missing = summaries.listed()
    told = rows.aggregate(uncovered=Sum("uncovered_tokens"), tokens=Sum("tokens"))
    return (
        Family("osii_tokens", "Tokens of all chats.", value=told["tokens"] or 0),
        Family("osii_uncovered_tokens", "Tokens of all chats that were not read.", value=told["uncovered"] or 0),
        Family("osii_chats_not_counted", "Chats missing in both, just after very much has changed.", value=missing),
    )


def _runs() -> Iterable[Family]:
    active = Run.objects.filter(status__in=Run.ACTIVE)
    since = active.filter(status=Run.Status.QUEUED).aggregate(first=Min("queued_at"))["first"]
    wait = (timezone.now() - since).total_seconds() if since else 0
    return (
        _by("osii_runs", "Runs over chats that wait or run.", "status", active),
        Family("osii_run_oldest_wait_seconds", "How long the oldest waiting run has waited.", value=max(0, wait)),
    )


def _batches() -> Iterator[Family]:
    with connection.cursor() as cursor:
        cursor.execute(DURATIONS, [timezone.now() - HOUR])
        quantiles, _count = cursor.fetchone()
    seconds = Family("osii_batch_seconds", "From begin to end, of batches of the last hour.", labels=["quantile"])
    for name, value in zip(("0.5", "0.95", "1"), quantiles or (), strict=False):
        seconds.add_metric([name], float(value))
    yield seconds
    ended = Batch.objects.filter(finished_at__gt=timezone.now() - HOUR)
    yield _by("osii_batches_last_hour", "Batches that ended in the last hour.", "status", ended)
    parked = Batch.objects.filter(status=Batch.Status.PARKED).count()
    yield Family("osii_batches_parked", "Batches that wait for somebody to look.", value=parked)


def _failures() -> Family:
    since = timezone.now() - HOUR
    family = Family("osii_failures_last_hour", "What failed in the last hour, by reason.", labels=["of", "reason"])
    counted: dict[tuple[str, str], int] = {}
    bad = Batch.objects.filter(finished_at__gt=since, status__in=(Batch.Status.FAILED, Batch.Status.PARKED))
    for error in bad.values_list("error", flat=True).iterator():
        key = ("batch", next((reason for words, reason in REASONS if words in error), "other"))
        counted[key] = counted.get(key, 0) + 1
    versions = ExtractionVersion.objects.filter(created_at__gt=since, status=ExtractionVersion.Status.FAILED)
    for error in versions.values_list("error", flat=True).iterator():
        code = error.partition(":")[0]
        key = ("extraction", code if code.isidentifier() and len(code) <= 40 else "other")
        counted[key] = counted.get(key, 0) + 1
    for what, found in (
        ("processing", _failed_steps(since)),
        ("steer", _failed_steers(since)),
        ("import", _failed_imports(since)),
    ):
        counted |= {(what, reason): count for reason, count in found}
    for (what, reason), count in sorted(counted.items()):
        family.add_metric([what, reason], count)
    return family


def _failed_steps(since: datetime) -> Iterable[tuple[str, int]]:
    """By step; the reasons of extractions are told by themselves."""
    bad = ProcessingStep.objects.filter(finished_at__gt=since, status=ProcessingStep.Status.FAILED)
    return bad.order_by().values_list("step").annotate(count=Count("pk"))


def _failed_steers(since: datetime) -> Iterable[tuple[str, int]]:
    count = Steer.objects.filter(status=Steer.Status.FAILED, created_at__gt=since).count()
    return [("not_prepared", count)] if count else []


def _failed_imports(since: datetime) -> Iterable[tuple[str, int]]:
    count = ChatImport.objects.filter(status=ChatImport.Status.FAILED, finished_at__gt=since).count()
    return [("failed", count)] if count else []


def _models() -> Iterable[Family]:
    cost = Family("osii_model_cost_last_day", "Known cost of the last 24 hours.", labels=["model", "currency"])
    uses = Family("osii_model_uses_last_day", "Attempts that asked a model in the last 24 hours.", labels=["model"])
    lately = ModelUse.objects.filter(created_at__gt=timezone.now() - DAY).order_by()
    for row in lately.values("model__name").annotate(paid=Sum("cost"), uses=Count("pk")):
        name = str(row["model__name"] or "unknown")
        uses.add_metric([name], row["uses"])
        if row["paid"] is not None:
            cost.add_metric([name, settings.OSII_CURRENCY], float(row["paid"]))
    return (cost, uses)


def _by(name: str, text: str, column: str, rows: QuerySet) -> Family:
    family = Family(name, text, labels=[column])
    for value, count in rows.order_by().values_list(column).annotate(count=Count("pk")):
        family.add_metric([value], count)
    return family


class Page:
    """The text of the page; asked by many, it is derived once in five seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text, self._due = b"", 0.0

    def text(self) -> bytes:
        with self._lock:
            if time.monotonic() >= self._due:
                registry = CollectorRegistry(auto_describe=False)
                registry.register(Derived())
                self._text = generate_latest(registry)
                self._due = time.monotonic() + KEPT_SECONDS
            return self._text


page = Page()

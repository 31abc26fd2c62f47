"""What `manage.py doctor` looks at: each check answers with a state, what it found, and what to do about it."""

import importlib.util
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import django_rq
import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone
from rq import Worker

from coverage.words import counted
from extraction.documents import isolation
from osii import embedded, env, services

State = Literal["ok", "warn", "fail"]

LEAST_POSTGRES = 150000  # NULLS NOT DISTINCT, which keeps evidence from being doubled
LEAST_VECTOR = (0, 8)  # iterative index scans
LEAST_REDIS = (6, 2)
WORKER_SILENCE = 90  # seconds without a heartbeat after which a worker counts as gone
DISK_WARN, DISK_FAIL = 2 * 10**9, 2 * 10**8  # bytes


@dataclass(frozen=True)
class Finding:
    """`advice` says what to do; it is empty when all is well."""

    name: str
    state: State
    detail: str
    advice: str = ""


def examine(*, probe_model: bool = False, model: str = "") -> Iterator[Finding]:
    """All findings, in the order in which a person would fix them. ``probe_model`` also asks the language model, the
    default one or ``model``.
    """
    yield python()
    yield home()
    yield disk()
    yield from servers()
    yield extractors()
    yield embedder()
    yield llm()
    yield file_types()
    if probe_model:
        yield tool_calls(model)


def python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}")


def home() -> Finding:
    path = settings.OSII_HOME
    try:
        embedded.make_home()
        for directory in (path, path / "store"):
            if directory.exists():
                with tempfile.TemporaryFile(dir=directory):
                    pass
    except OSError as error:
        advice = "give this user the right to write there, or set OSII_HOME to another directory"
        return Finding("OSII_HOME", "fail", f"{path} cannot be written ({error.strerror})", advice)
    return Finding("OSII_HOME", "ok", f"{path} can be written")


def disk() -> Finding:
    free = shutil.disk_usage(settings.OSII_HOME).free
    detail = f"{free / 1e9:.1f} GB free at {settings.OSII_HOME}"
    if free < DISK_WARN:
        return Finding("Disk", "fail" if free < DISK_FAIL else "warn", detail, "free some space, or move OSII_HOME")
    return Finding("Disk", "ok", detail)


def extractors() -> Finding:
    contained = isolation.probe()
    if contained.network and contained.processes:
        return Finding("Extractors", "ok", "run without network, under limits, and leave no process behind")
    advice = (
        "let this user make namespaces (sysctl kernel.unprivileged_userns_clone=1, or on Ubuntu "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container --cap-add SYS_ADMIN), or read only files you trust"
    )
    return Finding("Extractors", "warn", "run under limits, but this system lets them use the network", advice)


def servers() -> Iterator[Finding]:
    try:
        embedded.ensure()
    except embedded.EmbeddedError as error:
        yield Finding("Embedded servers", "fail", str(error), "see the named log file")
        return
    yield from database()
    yield from queues()


def database() -> Iterator[Finding]:
    url = env.mask(embedded.database_url())
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        yield Finding("PostgreSQL", "fail", *split(services.database_line(error)))
        return
    version = connection.pg_version
    known = f"{version // 10000}.{version % 10000} at {url}"
    if version < LEAST_POSTGRES:
        yield Finding("PostgreSQL", "fail", known, "upgrade it to 15 or newer")
    else:
        yield Finding("PostgreSQL", "ok", known)
    yield vector()
    yield migrations()
    yield space()
    yield searching()


def vector() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'")
        available, installed = cursor.fetchone() or (None, None)
    if available is None:
        return Finding("pgvector", "fail", "not on the server", 'install the package "pgvector" for this PostgreSQL')
    version = installed or available
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_VECTOR:
        return Finding(
            "pgvector", "fail", version, "upgrade pgvector to 0.8 or newer, then ALTER EXTENSION vector UPDATE"
        )
    if installed is None:
        advice = "manage.py migrate creates it; if that is refused, an administrator runs CREATE EXTENSION vector"
        return Finding("pgvector", "warn", f"{version} is available, not yet created in this database", advice)
    return Finding("pgvector", "ok", version)


def migrations() -> Finding:
    pending = services.pending_migrations()
    if not pending:
        return Finding("Migrations", "ok", "all applied")
    if services.POSTGRES in embedded.needed():
        return Finding("Migrations", "warn", f"{len(pending)} pending", "the next command applies them")
    return Finding("Migrations", "fail", f"{len(pending)} pending", "run manage.py migrate")


def space() -> Finding:
    """Whether the graph's vectors belong to the configured embedder; loads no weights and writes nothing."""
    from graphctx.embedding import EmbeddingError, SpaceMismatch, get_embedder
    from graphctx.models import EmbeddingSpace

    if services.pending_migrations():
        return Finding("Embedding space", "warn", "not known while migrations are pending")
    active = EmbeddingSpace.objects.filter(active=True).first()
    if active is None:
        return Finding("Embedding space", "ok", "none yet: the first text makes it")
    try:
        spec = get_embedder().spec
    except EmbeddingError:
        return Finding("Embedding space", "warn", f"{active.name}; the configured embedder cannot be used")
    if active.stamp != spec.stamp:
        return Finding("Embedding space", "fail", *split(str(SpaceMismatch(active, spec))))
    return Finding("Embedding space", "ok", f"{active.name}, {active.dimension} dimensions")


def searching() -> Finding:
    """What a search does without: extensions that were not there, or not allowed, when the migrations ran."""
    from osii.library.search.extensions import uses

    if services.pending_migrations():
        return Finding("Search", "warn", "not known while migrations are pending")
    found = uses()
    lacks = [] if found.accents else ["words with accents are found with their accents only"]
    lacks += [] if found.trigrams else ["identifiers and names of documents are found by reading all of them"]
    if not lacks:
        return Finding("Search", "ok", "accents do not matter, identifiers and names of documents have an index")
    missing = " and ".join(
        name for name, there in (("unaccent", found.accents), ("pg_trgm", found.trigrams)) if not there
    )
    advice = f"have an administrator run CREATE EXTENSION for {missing}, then run manage.py search --build-index"
    return Finding("Search", "warn", "; ".join(lacks), advice)


def queues() -> Iterator[Finding]:
    try:
        version = services.check_redis()
    except redis.RedisError as error:
        yield Finding("Redis", "fail", *split(services.redis_line(error)))
        return
    known = f"speaks as {version} at {env.mask(embedded.redis_url())}"
    if tuple(int(part) for part in version.split(".")[:2]) < LEAST_REDIS:
        yield Finding("Redis", "fail", known, "upgrade it to 6.2 or newer")
        return
    yield Finding("Redis", "ok", known)
    for queue in settings.RQ_QUEUES:
        yield workers(queue)


def workers(queue: str) -> Finding:
    connected = django_rq.get_connection(queue)
    seen = [worker for worker in Worker.all(connection=connected) if queue in worker.queue_names()]
    ages = [(timezone.now() - worker.last_heartbeat).total_seconds() for worker in seen if worker.last_heartbeat]
    alive = [age for age in ages if age < WORKER_SILENCE]
    waiting = django_rq.get_queue(queue).count
    detail = f"{len(alive)} alive, {counted(waiting, 'job')} waiting"
    name = f"Workers of {queue}"
    if not alive:
        advice = f"start them with manage.py up, or one with manage.py work {queue}"
        return Finding(name, "warn", detail, advice)
    return Finding(name, "ok", f"{detail}, last heartbeat {min(ages):.0f} s ago")


def embedder() -> Finding:
    """Whether the model is there; the libraries that run it are looked for, not loaded."""
    from graphctx.embedding import EmbeddingError, get_embedder

    name = settings.OSII_EMBEDDER
    missing = [m for m in ("torch", "sentence_transformers") if importlib.util.find_spec(m) is None]
    if missing and name not in ("hashing", "endpoint"):
        return Finding(
            "Embedding model", "fail", f"{name} needs {', '.join(missing)}", "install the requirements again"
        )
    try:
        spec = get_embedder().spec
    except EmbeddingError as error:
        return Finding("Embedding model", "fail", *split(str(error)))
    return Finding("Embedding model", "ok", f"{spec.name}, {spec.dimension} dimensions")


def llm() -> Finding:
    """The model that is used where none is named, and which others may be."""
    from extraction.llm.choice import choose, model_names
    from extraction.workers import WorkerUnavailable

    wanted = settings.EXTRACTION_WORKER == "llm"
    bad: State = "fail" if wanted else "warn"
    try:
        choice = choose()
    except DatabaseError:
        return Finding("Language model", bad, "the models in the admin cannot be read", "put the database right first")
    except WorkerUnavailable:
        advice = (
            "set OSII_LLM_MODEL, OSII_LLM_API_KEY and, for your own server, OSII_LLM_BASE_URL, or add one in the admin"
        )
        if wanted:
            return Finding("Language model", "fail", "EXTRACTION_WORKER is llm, but no model is named", advice)
        return Finding(
            "Language model", "ok", f"none: chats are read by the offline rules worker{_named(model_names())}"
        )
    where = env.mask(choice.base_url) or "its provider's own address"
    detail = f"{choice.model} ({choice.provider}) at {where}, named {choice.name}{_named(model_names(), choice.name)}"
    if missing := choice.missing():
        return Finding("Language model", bad, detail, missing)
    return Finding("Language model", "ok", detail)


def file_types() -> Finding:
    """Which extractors can run; the libraries they read files with are looked for, not loaded."""
    from extraction.documents.extractors import registry

    described = registry.described()
    ready = [extractor["name"] for extractor in described if not extractor["missing"]]
    lacking = [f"{extractor['name']}: {extractor['missing']}" for extractor in described if extractor["missing"]]
    detail = f"{len(ready)} of {len(described)} extractors ready: {', '.join(ready)}"
    if not lacking:
        return Finding("File types", "ok", detail)
    # Text recognition needs one engine of two; the system's is the faster and better one.
    spare = {"tesseract", "rapidocr"} & set(ready)
    needed = [line for line in lacking if not (spare and line.startswith(("tesseract:", "rapidocr:")))]
    return Finding("File types", "warn" if needed else "ok", detail, "; ".join(needed or lacking))


def _named(names: list[str], used: str = "") -> str:
    others = [name for name in names if name != used]
    return f"; may be named: {', '.join(others)}" if others else ""


def tool_calls(model: str = "") -> Finding:
    """Whether a language model answers, and calls a tool when it is asked to: two short requests."""
    from extraction.llm.choice import choose
    from extraction.workers import WorkerUnavailable

    name = "Tool calls"
    try:
        endpoint = choose(model).endpoint()
        from extraction.llm.probe import check

        called = check(endpoint)
    except WorkerUnavailable as error:
        return Finding(name, "fail", str(error), "see docs/connect-a-model.md")
    return Finding(name, "ok", f"{endpoint.model} called {called} and took its result")


def split(line: str) -> tuple[str, str]:
    """A line "what is wrong: what to do" as detail and advice."""
    detail, _, advice = line.rpartition(": ")
    return (detail, advice) if detail else (line, "")

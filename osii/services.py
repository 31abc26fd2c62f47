"""The database and Redis as a command finds them: reachable or not, tables up to date or not, and what to do."""

from pathlib import Path

import redis
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from osii import console, embedded, env

MIGRATION_LOCK = 0x05110001  # any number, as long as nothing else in the database uses it
# Classes of SQLSTATE: the server ended the connection, or lacks disk, memory or connections.
BROKEN_OFF, NO_ROOM = ("08", "57P"), "53"
POSTGRES, VALKEY = "PostgreSQL", "Valkey"


def prepare(*, migrate: bool) -> None:
    """Start embedded servers and, where the database is embedded, bring its tables up to date.

    A database that was given by URL belongs to its operator: `manage.py migrate` or `manage.py up` changes it.
    """
    embedded.ensure()
    if not apps.ready:
        import django

        django.setup()
    connection.ensure_connection()
    if not migrate:
        return
    if POSTGRES in embedded.needed():
        migrate_if_pending()
    elif pending := pending_migrations():
        raise ImproperlyConfigured(
            f"the database at {env.mask(embedded.database_url())} lacks {len(pending)} migrations: "
            "run manage.py migrate (once after each upgrade), or manage.py up, which does it"
        )


def pending_migrations() -> list[tuple[str, str]]:
    """(app, name) of migrations on disk that the database has not seen; cheap, because it imports none of them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
        applied = set()
        if cursor.fetchone()[0]:
            cursor.execute("SELECT app, name FROM django_migrations")
            applied = set(cursor.fetchall())
    found = []
    for config in apps.get_app_configs():
        directory = Path(config.path) / "migrations"
        found += [(config.label, file.stem) for file in sorted(directory.glob("[!_]*.py"))]
    return [migration for migration in found if migration not in applied]


def migrate_if_pending() -> int:
    """Apply pending migrations, one process at a time; returns how many there were."""
    if not pending_migrations():
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            count = len(pending_migrations())
            if count:
                console.note(f"Bringing the database up to date ({count} migrations)")
                call_command("migrate", verbosity=0, interactive=False)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
    return count


def check_redis() -> str:
    """The Redis version that the server speaks as; raises redis.RedisError when it does not answer."""
    with redis.Redis.from_url(str(settings.RQ_QUEUES["chats"]["URL"])) as client:
        return client.info("server")["redis_version"]


def explain(error: BaseException) -> str | None:
    """One line for a server that cannot be reached or used, with what to do; None for any other error."""
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return redis_line(error)
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    text = str(error).strip()
    if 'extension "vector"' in text:
        return (
            "the database has no pgvector, and this role may not create it: "
            'have an administrator run CREATE EXTENSION vector in it (package "pgvector" on the server)'
        )
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    if not reachable():
        return database_line(error)
    return _answers_again(error)


def _answers_again(error: BaseException) -> str | None:
    """What stopped a command although the database takes connections now; None for what is not about the server."""
    state = getattr(error.__cause__, "sqlstate", None)
    if state is None or state.startswith(BROKEN_OFF):
        return f"the connection to PostgreSQL broke off ({reason(error)}), and it answers again: run the command again"
    if state.startswith(NO_ROOM):
        return f"PostgreSQL has no room to go on ({reason(error)}): free disk space or memory on its machine, then run the command again"
    return None


def reachable() -> bool:
    """Whether a new connection to the database works now: other operational errors are not about reachability."""
    try:
        connection.close()
        connection.ensure_connection()
    except DatabaseError:
        return False
    return True


def database_line(error: BaseException) -> str:
    url = env.mask(embedded.database_url())
    if POSTGRES in embedded.needed():
        return f"the embedded PostgreSQL at {url} does not answer ({reason(error)}): see {settings.OSII_HOME / 'logs'}"
    return (
        f"PostgreSQL at {url} cannot be used ({reason(error)}): start it, correct DATABASE_URL, "
        "or unset DATABASE_URL to use the embedded one"
    )


def redis_line(error: BaseException) -> str:
    url = env.mask(embedded.redis_url())
    if VALKEY in embedded.needed():
        return f"the embedded Valkey at {url} does not answer ({reason(error)}): see {settings.OSII_HOME / 'logs'}"
    return (
        f"Redis at {url} cannot be used ({reason(error)}): start it, correct REDIS_URL, "
        "or unset REDIS_URL to use the embedded one"
    )


def reason(error: BaseException) -> str:
    """The first line of a driver's message: the further ones are hints that do not fit into one line."""
    lines = str(error).strip().splitlines()
    line = lines[0].strip() if lines else type(error).__name__
    return line.removeprefix("connection failed: ").removeprefix("connection is bad: ").rstrip(".")

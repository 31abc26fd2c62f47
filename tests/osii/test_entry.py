"""What a person meets at the command line: servers that are not there, exit statuses, pipes."""

import os
import subprocess
import sys

import psycopg
import pytest
from django.db import DatabaseError, OperationalError

from osii import embedded, services
from osii.entry import asks_for_help, command_name
from osii.settings import BASE_DIR
from tests.environment import SLOT

NOWHERE = {
    "DATABASE_URL": "postgresql://me:hunter2@127.0.0.1:1/osii",
    "REDIS_URL": "redis://:hunter2@127.0.0.1:1/0",
}


def manage(*arguments, **variables):
    command = [sys.executable, str(BASE_DIR / "manage.py"), *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | variables, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("argv", "name"), [(["manage.py"], ""), (["manage.py", "--help"], ""), (["manage.py", "up", "-v2"], "up")]
)
def test_command_name(argv, name):
    assert command_name(argv) == name


def test_help_needs_no_server():
    assert asks_for_help(["manage.py", "up", "--help"])
    done = manage("doctor", "--help", **NOWHERE)
    assert done.returncode == 0
    assert "Check each part" in done.stdout


def test_unreachable_database_is_one_line_without_the_password():
    done = manage("showmigrations", **NOWHERE)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "postgresql://me:***@127.0.0.1:1/osii" in done.stderr
    assert "Connection refused" in done.stderr
    assert "correct DATABASE_URL" in done.stderr


def test_unreachable_redis_is_one_line_without_the_password(child_environment):
    done = manage("work", "chats", **child_environment | {"REDIS_URL": NOWHERE["REDIS_URL"]})
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "redis://:***@127.0.0.1:1/0" in done.stderr
    assert "correct REDIS_URL" in done.stderr


@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="makes a role and a database on the embedded server")
def test_a_role_that_may_not_create_pgvector_is_told_who_may(servers, rq_url):
    """On a managed server an administrator creates the extension first."""
    name = f"plain_{SLOT}"
    with psycopg.connect(embedded.database_url(), autocommit=True) as connection:
        for statement in (
            f"DROP DATABASE IF EXISTS {name}",
            f"DROP ROLE IF EXISTS {name}",
            f"CREATE ROLE {name} LOGIN",
            f"CREATE DATABASE {name} OWNER {name}",
        ):
            connection.execute(statement)
        url = embedded.database_url().replace("osii@/osii?", f"{name}@/{name}?")
        done = manage("migrate", DATABASE_URL=url, REDIS_URL=rq_url)
        connection.execute(f"DROP DATABASE {name}")
        connection.execute(f"DROP ROLE {name}")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "have an administrator run CREATE EXTENSION vector" in done.stderr


def test_doctor_names_each_unreachable_server():
    done = manage("doctor", "--json", **NOWHERE)
    assert done.returncode == 1
    assert '"healthy": false' in done.stdout
    assert "hunter2" not in done.stdout + done.stderr
    assert "correct DATABASE_URL" in done.stdout
    assert "correct REDIS_URL" in done.stdout


def test_doctor_is_satisfied_with_working_parts(child_environment):
    done = manage("doctor", **child_environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All required parts work." in done.stdout
    assert "start them with manage.py up" in done.stdout  # no worker runs


def test_an_unknown_command_has_exit_status_1():
    done = manage("nonesuch")
    assert done.returncode == 1
    assert "Unknown command" in done.stderr


def test_a_reader_that_has_gone_is_no_traceback(child_environment):
    command = f"'{sys.executable}' '{BASE_DIR / 'manage.py'}' doctor | true"
    done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True, env=child_environment)
    assert "Traceback" not in done.stderr


def test_a_terminal_that_is_not_utf_8_shows_escapes():
    done = manage("doctor", **NOWHERE, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "\\u2192 start it" in done.stdout


LOST = """
import os, signal, sys, time, weakref
from osii import entry

class Thing: ...

entry._end_on_signals()
thing = Thing()
gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
try:
    del thing  # the exit is raised in the callback, where Python only reports it
    print("lost", flush=True)
    time.sleep(20)
finally:
    time.sleep(1.2)  # what is being cleaned up is not interrupted
    print("cleaned up", flush=True)
"""


def test_a_signal_whose_exit_is_lost_in_a_callback_still_ends_the_command():
    done = subprocess.run([sys.executable, "-c", LOST], check=False, capture_output=True, text=True, cwd=BASE_DIR)
    assert done.stdout == "lost\ncleaned up\n"
    assert "Exception ignored" in done.stderr
    assert done.returncode == 143


def failed(error: psycopg.Error, kind: type[DatabaseError] = OperationalError) -> DatabaseError:
    """What Django makes of a driver's error."""
    made = kind(*error.args)
    made.__cause__ = error
    return made


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (psycopg.errors.DiskFull("could not extend file: No space left on device"), "free disk space"),
        (psycopg.errors.TooManyConnections("too many clients already"), "no room to go on"),
        (psycopg.errors.AdminShutdown("terminating connection"), "run the command again"),
        (psycopg.OperationalError("the connection is lost"), "run the command again"),
        (psycopg.errors.ProgramLimitExceeded("string too long"), None),
    ],
)
def test_what_stopped_a_command_on_a_server_that_answers(error, advice):
    line = services.explain(failed(error))
    assert (line is None) if advice is None else (advice in line and str(error) in line)

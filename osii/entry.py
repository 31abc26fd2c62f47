"""What happens around every management command: servers up, tables up to date, errors in one line.

A person who types a command on a fresh clone gets its result without a step before it, and a wrong setting or an
unreachable server answers with one line that says what to do.
"""

import io
import os
import signal
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured

NO_DATABASE = {
    "",
    "help",
    "version",
    "check",
    "makemigrations",
    "optimizemigration",
    "startapp",
    "startproject",
    "makemessages",
    "compilemessages",
    "collectstatic",
    "findstatic",
    "diffsettings",
    "sendtestemail",
    "reference",
}
RAISED_AGAIN_SECONDS = 0.5
# These look after the servers and tables themselves, or must see them as they are.
OWN_START = {"up", "doctor"}
NO_MIGRATION = {
    "migrate",
    "showmigrations",
    "sqlmigrate",
    "sqlflush",
    "dbshell",
    "inspectdb",
    "flush",
    "work",
    "test",
    "restore",
}
# Everything else waits for the end of a restore.
DURING_RESTORE = {"restore", "doctor", "dbshell"}


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "osii.settings")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that is not UTF-8 shows escapes
            stream.reconfigure(errors="backslashreplace")
    from osii import embedded

    try:
        _run(list(argv))
    except ImproperlyConfigured as error:
        return _stop(str(error))
    except embedded.EmbeddedError as error:
        return _stop(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone (`| head`); a second error at interpreter exit is avoided by closing quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # a signal that asked for the end was heard
    return 0


def _run(argv: list[str]) -> None:
    from django.conf import settings
    from django.core.management import execute_from_command_line

    settings.INSTALLED_APPS  # noqa: B018  a wrong setting stops here, before anything starts
    name = command_name(argv)
    if name in NO_DATABASE or asks_for_help(argv):
        execute_from_command_line(argv)
        return
    _end_on_signals()
    from osii import services
    from osii.care import marker

    if name not in DURING_RESTORE:
        marker.refuse_to_start()
    try:
        if name not in OWN_START:
            services.prepare(migrate=name not in NO_MIGRATION)
        execute_from_command_line(argv)
    except Exception as error:
        line = services.explain(error)
        if line is None or "--traceback" in argv:
            raise
        raise SystemExit(_stop(line)) from None


def command_name(argv: Sequence[str]) -> str:
    return argv[1] if len(argv) > 1 and not argv[1].startswith("-") else ""


def asks_for_help(argv: Sequence[str]) -> bool:
    return any(argument in {"-h", "--help", "--version"} for argument in argv[1:])


def _end_on_signals() -> None:
    """Leave through Python's own exit, so that the share in the embedded servers is given back.

    An exit that is raised while Python runs a finaliser or a weak reference's callback is lost: it is raised again until
    it is heard.
    """
    asked: list[int] = []

    def end(received: int, _frame: object) -> None:
        if received != signal.SIGALRM:
            asked.append(received)
        if isinstance(sys.exc_info()[1], SystemExit):
            return  # on the way out
        signal.setitimer(signal.ITIMER_REAL, RAISED_AGAIN_SECONDS)
        sys.exit(128 + asked[0])

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
            signal.signal(signal.SIGALRM, end)


def _stop(line: str) -> int:
    sys.stderr.write(f"error: {line}\n")
    return 1

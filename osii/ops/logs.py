"""Log lines: plain for people or JSON for machines. Each names the request or job it belongs to; none holds a secret.

Imported by the settings, so nothing of Django's is needed here.
"""

import contextlib
import json
import logging
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

MASK = "***"
LEAST = 6
"""A shorter value is no secret, and would be found in too many words."""
NAMES = re.compile(r"(_API_KEY|PASSWORD|SECRET|SECRET_KEY|TOKEN)$")
ADDRESSES = ("DATABASE_URL", "REDIS_URL", "OSII_LLM_BASE_URL", "OSII_EMBEDDINGS_BASE_URL")

PATTERNS = (
    (re.compile(r"\b(Bearer|Basic)\s+[^\s\"',;]+", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\bosii_[a-z0-9]{8}_[A-Za-z0-9_-]{43}"), MASK),
    (re.compile(r"\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/?#@]*:)[^\s/?#@]+@", re.IGNORECASE), rf"\1{MASK}@"),
    (
        re.compile(
            r"((?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|x-api-key|authorization|csrfmiddlewaretoken"
            r"|sessionid|osii_session|osii_csrf)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&)}\]]+",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    # What PostgreSQL says of a row that it refused: its values, which may be anybody's words.
    (re.compile(r"(\bDETAIL:\s+).*?(?=\n[A-Z]{4,}:|\n\s*\n|\nTraceback|\Z)", re.DOTALL), rf"\1{MASK}"),
)

_context: ContextVar[dict[str, str] | None] = ContextVar("osii_log_context", default=None)


@contextlib.contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Within it every line that this thread logs carries these fields: request, job, run, …"""
    token = _context.set((_context.get() or {}) | {name: str(value) for name, value in fields.items() if value})
    try:
        yield
    finally:
        _context.reset(token)


def fields() -> dict[str, str]:
    return _context.get() or {}


class Secrets:
    """Covers secrets in a text: the values that this process was given, and what looks like one."""

    def __init__(self) -> None:
        self._values: list[str] = []
        self.learn(*_of_environment())

    def learn(self, *values: str) -> None:
        """Cover these values from now on, the longest first: one may begin with another."""
        known = {*self._values, *(value for value in values if len(value) >= LEAST)}
        self._values = sorted(known, key=len, reverse=True)

    def cover(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        for pattern, instead in PATTERNS:
            text = pattern.sub(instead, text)
        return text


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if NAMES.search(name):
            yield value.strip()
        elif name in ADDRESSES:
            with contextlib.suppress(ValueError):
                yield unquote(urlsplit(value).password or "")


secrets = Secrets()


_BREAKING = (*range(127, 160), 0x2028, 0x2029)
_UNSEEN = {code: repr(chr(code))[1:-1] for code in (*range(32), *_BREAKING) if chr(code) != "\t"}
_UNSEEN_IN_JSON = {code: f"\\u{code:04x}" for code in _BREAKING}
"""What ends a line or steers a terminal, and how it is written instead. JSON writes out what comes before a blank by itself."""


class Plain(logging.Formatter):
    """`time level logger: message [request=… run=…]` in one line, whatever a path or a name in it holds, then the traceback."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}{where}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        record.where = "".join(f" [{name}={value}]" for name, value in fields().items())
        return secrets.cover(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:
        return secrets.cover(super().formatMessage(record)).translate(_UNSEEN)


class Json(logging.Formatter):
    """One JSON object per line: time, level, logger, message, process, the fields of the context, and exception."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": secrets.cover(record.getMessage()),
            "process": record.process,
            **fields(),
        }
        if record.exc_info:
            told["exception"] = secrets.cover(self.formatException(record.exc_info))
        return json.dumps(told, ensure_ascii=False).translate(_UNSEEN_IN_JSON)


FORMATS = {"plain": "osii.ops.logs.Plain", "json": "osii.ops.logs.Json"}


def configuration(form: str, **more: Any) -> dict[str, Any]:
    """What `logging.config` takes: every logger writes to stderr in this form. ``more`` are further loggers."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": FORMATS[form]}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            # These would otherwise bring handlers of their own, which know no secrets.
            "rq.worker": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
            **more,
        },
    }

"""What `manage.py doctor --production` looks at beside the parts: what matters once others reach this installation."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db import DatabaseError

from coverage.words import counted
from osii import embedded, services
from osii.care import backups
from osii.health import Finding

LATE, TOO_LATE = timedelta(hours=26), timedelta(days=8)
LOCAL = {"localhost", "127.0.0.1", "[::1]"}
MOST_TOLD = 3


def examine() -> Iterator[Finding]:
    yield debug()
    yield https()
    yield hosts()
    yield secret_key()
    yield private()
    yield deployment()
    yield backup()
    yield accounts()
    yield embedder()
    yield metrics()
    yield servers()


def debug() -> Finding:
    if settings.DEBUG:
        return Finding("Debug mode", "fail", "on: error pages show code and settings", "unset DEBUG")
    return Finding("Debug mode", "ok", "off")


def https() -> Finding:
    if settings.OSII_HTTPS:
        return Finding(
            "HTTPS",
            "ok",
            f"cookies and redirects for HTTPS alone, behind {counted(settings.OSII_PROXIES, 'proxy', 'proxies')}",
        )
    advice = "put a proxy with TLS in front, have it set X-Forwarded-Proto and X-Forwarded-For, and set OSII_HTTPS=1"
    return Finding("HTTPS", "fail", "off: passwords and tokens would travel in the clear", advice)


def hosts() -> Finding:
    allowed = set(settings.ALLOWED_HOSTS)
    if "*" in allowed:
        return Finding("Host names", "fail", "every name is accepted", "name yours in ALLOWED_HOSTS")
    if allowed <= LOCAL:
        return Finding(
            "Host names", "fail", "only this machine's own", "name the host that others use in ALLOWED_HOSTS"
        )
    return Finding("Host names", "ok", ", ".join(sorted(allowed)))


def secret_key() -> Finding:
    key = settings.SECRET_KEY
    if len(key) < 50 or len(set(key)) < 5:
        advice = "unset SECRET_KEY, and one is generated, or give 50 random characters"
        return Finding("Secret key", "fail", f"{len(key)} characters are too few, or too much alike", advice)
    kept = settings.OSII_HOME / "secret_key"
    if kept.exists() and stat.S_IMODE(kept.stat().st_mode) & 0o077:
        return Finding("Secret key", "fail", f"others can read {kept}", f"chmod 600 {kept}")
    return Finding("Secret key", "ok", f"{len(key)} characters")


def private() -> Finding:
    """The home itself may be passed through by the database's user; the store and uploads are this user's alone."""
    for name in ("store", "uploads"):
        path = settings.OSII_HOME / name
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            return Finding("Private files", "fail", f"others can enter {path}", f"chmod 700 {path}")
    if os.geteuid() == 0:
        return Finding(
            "Private files", "warn", "OSII runs as root", "run it as a user of its own, as deploy/systemd does"
        )
    return Finding("Private files", "ok", "store and uploads are this user's alone")


def deployment() -> Finding:
    """Django's own deployment check."""
    found = [message for message in checks.run_checks(include_deployment_checks=True) if not message.is_silenced()]
    told = [message for message in found if message.level >= checks.WARNING]
    if not told:
        return Finding("Deployment check", "ok", "no issue")
    names = "; ".join(f"{message.id}: {message.msg.split('. ')[0]}" for message in told[:MOST_TOLD])
    return Finding(
        "Deployment check", "warn", f"{counted(len(told), 'issue')}: {names}", "run manage.py check --deploy"
    )


def backup() -> Finding:
    last = backups.last()
    if last is None:
        return Finding("Backup", "fail", "none was made from this home", "run manage.py backup FOLDER, every day")
    age = datetime.now(UTC) - datetime.fromisoformat(last["made_at"])
    detail = f"the last one is {age.total_seconds() / 3600:.0f} h old: {last['file']}"
    if age > LATE:
        return Finding("Backup", "fail" if age > TOO_LATE else "warn", detail, "run manage.py backup FOLDER, every day")
    return Finding("Backup", "ok", detail)


def accounts() -> Finding:
    if settings.OSII_ADMIN_PASSWORD:
        detail = "OSII_ADMIN_PASSWORD is still set, and is needed for the first start only"
        return Finding("Accounts", "warn", detail, "unset it")
    try:
        users = get_user_model().objects.filter(is_active=True)
        staff, supers = users.filter(is_staff=True).count(), users.filter(is_superuser=True).count()
    except DatabaseError:
        return Finding("Accounts", "warn", "cannot be read", "put the database right first")
    if not settings.OSII_LOGIN_ATTEMPTS:
        return Finding("Accounts", "fail", "failed logins have no limit", "unset OSII_LOGIN_ATTEMPTS")
    return Finding("Accounts", "ok", f"{staff} staff, {supers} of them superusers; failed logins are limited")


def embedder() -> Finding:
    if settings.OSII_EMBEDDER == "hashing":
        detail = "hashing compares letters, not meanings: it is for tests"
        return Finding("Meaning", "warn", detail, "unset OSII_EMBEDDER, and run backfill_embeddings")
    return Finding("Meaning", "ok", settings.OSII_EMBEDDER)


def metrics() -> Finding:
    if settings.OSII_METRICS_TOKEN:
        return Finding("Metrics", "ok", "for whoever has the token")
    return Finding("Metrics", "ok", "closed behind a proxy" if settings.OSII_PROXIES else "for this machine alone")


def servers() -> Finding:
    """Embedded servers are for one machine."""
    inside = embedded.needed()
    if services.POSTGRES in inside:
        detail = f"{' and '.join(inside)} embedded: good for one machine"
        return Finding("Servers", "ok", detail, "for several, set DATABASE_URL and REDIS_URL")
    return Finding("Servers", "ok", "your own")

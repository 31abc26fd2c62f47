"""Servers, databases and queues for the tests. Tests that need none start none."""

import os
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit, urlunsplit

import pytest
import redis
from django.conf import settings
from django.db import connections

from osii import embedded
from tests.environment import SLOT


@pytest.fixture(scope="session")
def servers() -> None:
    """Embedded servers are up for the session, or the given URLs are used."""
    embedded.ensure()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """Each test process has a database of its own, whatever else runs on this machine."""
    connections.databases["default"].setdefault("TEST", {})["NAME"] = f"test_osii_{SLOT}"


@pytest.fixture(scope="session", autouse=True)
def _emptied_quickly() -> Iterator[None]:
    from tests import emptying  # only once the models are loaded

    with pytest.MonkeyPatch.context() as patch:
        emptying.install(patch.setattr)
        yield


@pytest.fixture(scope="session")
def rq_url() -> str:
    """This test process's own Redis database. With REDIS_URL given, tests flush its databases 1 to 15."""
    given = os.environ.get("REDIS_URL")
    if not given:
        return embedded.redis_url(SLOT)
    number = 1 + (SLOT - 1) % 15
    address = given.partition("?")[0]
    return f"{address}?db={number}"


@pytest.fixture(scope="session", autouse=True)
def _own_queues(rq_url: str) -> None:
    for queue in settings.RQ_QUEUES.values():
        queue["URL"] = rq_url
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def rq_connection(servers: None, rq_url: str) -> Iterator[redis.Redis]:
    """An empty Redis database behind the project's queues."""
    with redis.Redis.from_url(rq_url) as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.fixture
def child_environment(transactional_db: None, rq_url: str) -> dict[str, str]:
    """The environment in which a child process sees this test's database, queues and settings."""
    name = connections["default"].settings_dict["NAME"]
    database = urlsplit(embedded.database_url())._replace(path=f"/{name}")
    return os.environ | {"DATABASE_URL": urlunsplit(database), "REDIS_URL": rq_url}


@pytest.fixture
def manage(child_environment: dict[str, str]) -> Callable[..., list[str]]:
    """The command line that runs a management command as a child process: `manage("work", "chats")`."""
    return lambda *arguments: [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]

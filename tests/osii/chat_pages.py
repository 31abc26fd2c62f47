"""What the tests of the chats' pages share: who looks, and as what htmx asks."""

import pytest
from django.test import Client

from tests.osii import rows

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "results"}
EXTRACT = ("add_run", "change_run", "change_batch")


@pytest.fixture(autouse=True)
def redis_of_this_test(rq_connection) -> None:
    """Queued runs look at the workers."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(rows.staff_user(*EXTRACT))
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(rows.staff_user())
    return client

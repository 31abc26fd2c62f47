"""What every request meets, whatever route it asks for: headers, tokens of forms, sizes, redirects."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import TooManyFieldsSent
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from osii.ops import requests
from osii.web.access import _to_login
from tests.osii.security.routes import every_route

ROUTES = every_route()
# The body is read by the view, when it knows who sent it; the view then checks the token itself.
READ_LATE = {"/intake/upload/", "/imports/create/"}
FORMS = [route for route in ROUTES if not route.path.startswith("/api/") and route.path not in READ_LATE]
ELSEWHERE = ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http:evil.example")


@pytest.fixture
def root(db: None, rq_connection: Any) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root", password="pw"))
    return client


# --- Headers ---


def unsafe_headers(response: HttpResponse) -> Iterator[str]:
    parts = [part.split() for part in response.get("Content-Security-Policy", "").split(";") if part.strip()]
    policy = {name: set(sources) for name, *sources in parts}
    for name in ("default-src", "frame-ancestors", "base-uri", "form-action"):
        if name not in policy:
            yield f"the policy has no {name}"
    for name, sources in policy.items():
        if name != "img-src" and sources - {"'self'", "'none'"}:
            yield f"{name} {sorted(sources)}"
    if response.get("X-Content-Type-Options") != "nosniff":
        yield "types are guessed"


def test_every_answer_has_a_strict_policy_and_none_is_a_failure(root: Client) -> None:
    paths = [*(route.path for route in ROUTES), *("/healthz", "/readyz", "/metrics", "/nowhere/", "/api/nowhere")]
    found: dict[str, list[str]] = {}
    for path in [*paths, "/static/osii/osii.js", "/static/osii/icon.svg"]:
        response = root.get(path)
        wrong = [*unsafe_headers(response), *(["failed"] if response.status_code >= 500 else [])]
        if wrong:
            found[path] = wrong
    assert found == {}


def test_a_header_that_is_not_strict_is_found() -> None:
    assert len([*unsafe_headers(HttpResponse())]) == 5
    weak = {"Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'"}
    assert "script-src [\"'self'\", \"'unsafe-inline'\"]" in [*unsafe_headers(HttpResponse(headers=weak))]


# --- Tokens of forms ---


def test_no_route_of_a_page_takes_a_form_of_another_site(root: Client) -> None:
    """Each is asked to act by a superuser's browser that has no token: none gets further than that."""
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = root.cookies
    answers = {route.path: strict.post(route.path, {"next": "/"}).status_code for route in FORMS}
    open_to_others = {path: status for path, status in answers.items() if status != 403}
    assert open_to_others == {}
    late = {path: strict.post(path, {"complete": "yes"}).status_code for path in READ_LATE}
    assert set(late.values()) == {403}


def test_only_the_api_and_the_uploads_look_for_no_token_first() -> None:
    exempt = {route.path for route in ROUTES if getattr(route.view, "csrf_exempt", False) and not route.of_api}
    assert exempt == READ_LATE


def test_the_api_takes_no_session(root: Client) -> None:
    routes = [route for route in ROUTES if route.of_api and "docs" not in route.path and "openapi" not in route.path]
    known = {route.path: root.get(route.path).status_code for route in routes}
    assert {status for path, status in known.items() if path not in {"/api/"}} <= {401, 405, 404}


# --- Sizes ---


def test_a_form_is_measured_before_anybody_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one with a file in it, and with a cookie that anybody can make: the token would be looked for in the body."""
    monkeypatch.setattr("django.http.HttpRequest._load_post_and_files", lambda _: pytest.fail("the body was read"))
    stranger = Client(enforce_csrf_checks=True)
    stranger.cookies[settings.CSRF_COOKIE_NAME] = "x" * 32
    body = b"--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n" + b"x" * requests.FORM_BYTES
    answers = {}
    for route in FORMS:
        answers[route.path] = stranger.generic(
            "POST", route.path, b"", content_type="multipart/form-data; boundary=b", CONTENT_LENGTH=str(len(body))
        ).status_code
    assert {path: status for path, status in answers.items() if status != 413} == {}


@pytest.mark.django_db
def test_uploads_are_refused_unread_to_whoever_may_not_send_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.http.HttpRequest._load_post_and_files", lambda _: pytest.fail("the body was read"))
    for path in READ_LATE:
        assert Client().post(path, {"complete": "yes"})["Location"].startswith("/login/")


def test_a_form_of_very_many_fields_is_refused_in_one_line(root: Client, caplog: pytest.LogCaptureFixture) -> None:
    fields = {f"f{number}": "x" for number in range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
    for path in (reverse("documents-bulk"), reverse("collection-create"), reverse("intake-upload")):
        assert root.post(path, fields | {"complete": "yes"}).status_code == 400, path
    assert {record.name for record in caplog.records} == {"django.security.TooManyFieldsSent"}
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("charset", ["zlib", "idna", "undefined", "rot13"])
def test_no_charset_that_a_request_names_breaks_reading_it(charset: str) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\n\xffr\r\n--b--\r\n'
    sent = {
        "REQUEST_METHOD": "POST", "QUERY_STRING": "next=%ff", "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": f"multipart/form-data; boundary=b; charset={charset}",
    }  # fmt: skip
    given = RequestFactory()._base_environ(**sent) | {"wsgi.input": BytesIO(body)}
    with pytest.raises((LookupError, UnicodeError, TooManyFieldsSent)):
        WSGIRequest(dict(given))
    request = requests.Request(given)
    assert (request.GET["next"], request.POST["username"]) == ("\ufffd", "\ufffdr")


# --- Addresses ---


@pytest.mark.parametrize("address", ELSEWHERE)
def test_nobody_is_sent_to_another_site(root: Client, address: str) -> None:
    login = Client().post("/login/", {"username": "root", "password": "pw", "next": address})
    assert (login.status_code, login["Location"]) == (302, "/")
    for path in (f"/login/?next={address}", f"/admin/login/?next={address}", f"/logout/?next={address}"):
        for method in (root.get, root.post):
            told = method(path, follow=True)
            assert all(url.startswith("/") and url[1:2] not in {"/", "\\"} for url, _ in told.redirect_chain), path


def test_a_path_that_looks_like_a_host_stays_here(root: Client) -> None:
    for path in ("//evil.example/chats/", "//evil.example", "/\\evil.example/"):
        found = Client().get("/", PATH_INFO=path)
        assert "Location" not in found or not found["Location"].startswith(("//", "/\\", "http")), path


@pytest.mark.parametrize("address", ELSEWHERE)
def test_an_expired_session_sends_htmx_to_a_page_of_ours(address: str) -> None:
    from django.contrib.auth.models import AnonymousUser
    from django_htmx.middleware import HtmxDetails

    request = RequestFactory().get("/chats/", headers={"HX-Request": "true", "HX-Current-URL": address})
    request.user, request.htmx = AnonymousUser(), HtmxDetails(request)
    assert _to_login(request)["HX-Redirect"].startswith("/login/?next=/")
    assert "evil" not in _to_login(request)["HX-Redirect"]

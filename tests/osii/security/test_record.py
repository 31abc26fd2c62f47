"""Nothing that staff do in a browser is missing from the record: every route is asked to act, by everybody who may try."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from coverage.services import get_or_create_learner
from extraction.models import LanguageModel
from osii.models import Collection, StaffAction
from tests.graphctx.conftest import add_propositions
from tests.osii import rows
from tests.osii.library import rows as library_rows
from tests.osii.security.routes import every_route

pytestmark = pytest.mark.django_db

# The login is on record when it succeeded; the others are ways to it.
BEFORE_IT = {"/login/", "/logout/", "/admin/login/", "/admin/logout/", "/api"}


def unrecorded(client: Client, paths: list[str]) -> dict[str, tuple[int, int]]:
    """The paths that answered a POST and wrote no line, or several: (status, lines)."""
    found, before = {}, StaffAction.objects.count()
    for path in paths:
        status = client.post(path, {"action": "x", "_selected_action": "1"}).status_code
        after = StaffAction.objects.count()
        nothing = status in {404, 405} and not path.startswith("/admin/")
        if after - before != (0 if nothing else 1):
            found[path] = (status, after - before)
        before = after
    return found


PATHS = [route.path for route in every_route() if not route.of_api and route.path not in BEFORE_IT]


def test_every_act_on_a_page_is_a_line(rq_connection: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    assert unrecorded(client, [path for path in PATHS if not path.startswith("/admin/")]) == {}
    assert StaffAction.objects.count() > 5


def test_every_act_in_the_admin_is_a_line_refused_ones_too(rq_connection: Any) -> None:
    client = Client()
    client.force_login(rows.account(username="nobody"))
    assert unrecorded(client, [path for path in PATHS if path.startswith("/admin/")]) == {}
    assert StaffAction.objects.filter(status=403, username="nobody").count() > 100


def test_looking_is_no_act(rq_connection: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    for path in ("/", "/admin/", reverse("admin:auth_user_changelist"), "/chats/"):
        assert client.get(path).status_code == 200
    assert not StaffAction.objects.exists()


def test_an_action_on_a_list_names_the_action_and_the_rows(rq_connection: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    user = User.objects.create_user("leaving")
    chosen = {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    line = StaffAction.objects.get()
    assert (line.action, line.about, line.status) == (
        "admin:auth_user_changelist", {"action": "delete_selected", "ids": str(user.pk), "rows": "1"}, 302,
    )  # fmt: skip
    model = LanguageModel.objects.create(name="fast", model="m")
    client.post(reverse("admin:extraction_languagemodel_delete", args=[model.pk]), {"post": "yes"})
    assert StaffAction.objects.get(action="admin:extraction_languagemodel_delete").about == {"object_id": str(model.pk)}


def test_no_form_keeps_what_it_does_off_the_record(rq_connection: Any) -> None:
    """Which of two actions is done, a further field says; and a character that the database refuses hides nothing."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    path, done = reverse("admin:auth_user_changelist"), {"post": "yes", "index": "0"}
    for other in ("harmless", "\0"):
        user = User.objects.create_user("leaving")
        client.post(path, done | {"action": ["delete_selected", other], "_selected_action": user.pk})
        assert not User.objects.filter(pk=user.pk).exists()
    many = [User.objects.create_user(f"user {number}") for number in range(3)]
    everybody = {"action": "delete_selected", "_selected_action": many[0].pk, "select_across": "1"}
    client.post(path, everybody)
    told = StaffAction.objects.order_by("created_at", "id").values_list("about", flat=True)
    assert [(about["action"], about["ids"] == "all of the list") for about in told] == [
        ("delete_selected, harmless", False), ("delete_selected, \\0", False), ("delete_selected", True),
    ]  # fmt: skip


def test_an_action_on_many_rows_of_a_list_names_each(rq_connection: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    claims = add_propositions(get_or_create_learner("Ada"), [f"The boat has {number} masts." for number in range(30)])
    keys = [str(claim.pk) for claim in claims]
    path = reverse("bulk", args=["propositions", "forget"])
    page = client.post(path, {"pick": keys})
    client.post(path, {"pick": keys, "confirmed": "1", "rows": page.context["print"]})
    asked, done = StaffAction.objects.order_by("created_at", "id").values_list("about", flat=True)
    assert asked == {"name": "propositions", "action": "forget"}
    assert done == asked | {"ids": ", ".join(keys), "rows": "30"}
    listed = client.get(reverse("admin:osii_staffaction_changelist")).text
    assert keys[0] in listed
    assert keys[-1] not in listed
    assert (
        keys[-1]
        in client.get(reverse("admin:osii_staffaction_change", args=[StaffAction.objects.get(about=done).pk])).text
    )


def test_documents_of_a_collection_are_named_too(rq_connection: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    document, collection = library_rows.document("a.md"), Collection.objects.create(name="boats")
    chosen = {"action": "add", "collection": collection.pk, "document": document.pk}
    client.post(reverse("documents-bulk"), chosen)
    assert StaffAction.objects.get().about == {
        "ids": document.pk, "rows": "1", "action": "add", "collection_id": str(collection.pk),
    }  # fmt: skip


def test_coming_and_going_are_lines(rq_connection: Any) -> None:
    User.objects.create_superuser("root", password="pw")
    client = Client()
    client.post("/login/", {"username": "root", "password": "wrong"})
    client.post("/login/", {"username": "root", "password": "pw"})
    client.post("/logout/")
    client.post("/logout/")
    client.post("/login/", {"username": "root", "password": "pw"})
    client.post("/admin/logout/")
    assert [*StaffAction.objects.order_by("created_at", "id").values_list("action", "username")] == [
        ("login", "root"), ("logout", "root"), ("login", "root"), ("admin-logout", "root"),
    ]  # fmt: skip

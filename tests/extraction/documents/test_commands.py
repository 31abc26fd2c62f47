"""add_files and promote_extraction, as typed."""

import io
import json
import os
import subprocess
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from coverage.models import Chat, Learner
from extraction.documents import invariants, services
from extraction.models import Document, ExtractionVersion, Promotion

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> tuple[str, str]:
    """(standard output, the error or "")."""
    out = io.StringIO()
    try:
        call_command(*map(str, arguments), stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def run_json(*arguments: object) -> tuple[dict[str, Any], str]:
    out, error = run(*arguments, "--json")
    return json.loads(out), error


def test_a_folder_with_good_and_bad_files(store, write, tmp_path):
    for name, content in {
        "a good one.md": "# Title\n\nText.",
        "sub/über.txt": "Some text.",
        "empty.txt": "",
        "blank.txt": " \n\n",
        "binary.txt": b"\0\1\2",
        "clip.mp4": b"\0\0\0\x18ftypmp42",
        ".hidden.txt": "hidden",
    }.items():
        write(name, content)
    folder = tmp_path / "files"
    (folder / "link.txt").symlink_to(folder / "a good one.md")
    os.mkfifo(folder / "pipe")
    data, error = run_json("add_files", folder, "/nowhere/missing.txt")
    assert error == "4 of 9 files failed; 2 were added"
    statuses = {entry["path"].rpartition("/")[2]: (entry["status"], entry.get("reason")) for entry in data["files"]}
    assert statuses == {
        "a good one.md": ("added", None),
        "über.txt": ("added", None),
        "empty.txt": ("failed", "empty"),
        "blank.txt": ("failed", "no_text"),
        "binary.txt": ("failed", "binary"),
        "clip.mp4": ("skipped", "no_extractor"),
        "link.txt": ("skipped", "symlink"),
        "pipe": ("skipped", "special_file"),
        "missing.txt": ("failed", "missing"),
    }
    assert data["counts"] == {"added": 2, "replaces": 0, "unchanged": 0, "chats": 0, "skipped": 3, "failed": 4}
    assert not Document.objects.filter(filename="clip.mp4").exists()
    assert Document.objects.filter(primary__isnull=False).count() == 2
    assert list(invariants.check()) == []


def test_again_new_bytes_and_another_path(store, write):
    path = write("a.txt", "one")
    first, error = run_json("add_files", path)
    assert error == ""
    (entry,) = first["files"]
    assert entry["primary"] is True
    assert run("add_files", path)[0].splitlines() == [f"unchanged {path}  {entry['file_id']}", "1 unchanged"]
    assert ExtractionVersion.objects.count() == 1
    path.write_text("two")
    out, _ = run("add_files", path, write("b.txt", "two"))
    lines = out.splitlines()
    assert lines[0].startswith(f"replaces  {path}  sha256-")
    assert f"replaces {entry['file_id']}" in lines[0]
    assert lines[1].startswith("unchanged ")
    assert lines[2] == "1 replaces, 1 unchanged"


def test_an_extraction_that_failed_is_tried_again(store, write):
    path = write("a.txt", " ")
    assert run_json("add_files", path)[0]["files"][0]["reason"] == "no_text"
    data, error = run_json("add_files", path)
    assert data["files"][0]["document"] == "unchanged"
    assert data["files"][0]["status"] == "failed"
    assert error
    assert ExtractionVersion.objects.filter(status="failed").count() == 2


def test_a_named_extractor_and_policy(store, write, bad_extractors):
    path = write("a.txt", "one")
    text = run_json("add_files", path)[0]["files"][0]["extraction_id"]
    data, _ = run_json("add_files", path, "--extractor", "upper", "--policy", "save_variant")
    assert data["files"][0]["primary"] is False
    assert Document.objects.get().primary_id == text
    data, _ = run_json("add_files", path, "--extractor", "upper")
    assert data["files"][0]["primary"] is True
    run("add_files", path)  # the automatic choice does not undo what staff chose
    assert Document.objects.get().primary_id == data["files"][0]["extraction_id"]
    assert "not one of auto, text" in run("add_files", path, "--extractor", "none")[1]


def test_a_dry_run(store, write):
    path, page = write("a.txt", "one"), write("clip.mp4", "<p>")
    data, error = run_json("add_files", path, page, "--dry-run", "--learner", "Ada")
    assert [(entry["status"], entry.get("extractor")) for entry in data["files"]] == [
        ("added", "text"),
        ("failed", None),
    ]
    assert error == "1 of 2 files failed; 1 would be added"
    assert data["new_learner"] == "Ada"
    assert not Document.objects.exists()
    assert not Learner.objects.exists()


def test_a_learner(store, write):
    run("add_files", write("a.txt", "one"), "--learner", " Ada ")
    assert Document.objects.get().learner.name == "Ada"
    assert "other_learner" in run("add_files", write("a.txt", "one"), "--learner", "Bob")[0]


def test_a_learner_is_made_with_the_first_file_only(store, write):
    path, page = write("a.txt", "one"), write("clip.mp4", "<p>")
    assert "new learner" not in run("add_files", page, "--learner", "Ada")[0]
    assert not Learner.objects.exists()
    assert "new learner 'Ada' would be made" in run("add_files", path, "--learner", "Ada", "--dry-run")[0]
    out, error = run("add_files", path, write("copy.txt", "one"), "--learner", "Ada")
    assert "new learner 'Ada' made" in out.splitlines()
    assert error == ""
    assert "new learner" not in run("add_files", write("b.txt", "two"), "--learner", "Ada")[0]
    run("add_files", path, "--learner", "Aad")
    assert [learner.name for learner in Learner.objects.all()] == ["Ada"]


def test_a_learner_for_a_known_document(store, write):
    path = write("a.txt", "one")
    run("add_files", path)
    assert run("add_files", path, "--learner", "Ada", "--dry-run")[0].splitlines()[0].endswith("  learner set")
    assert run("add_files", path, "--learner", "Ada")[0].splitlines()[0].endswith("  learner set")
    assert Document.objects.get().learner.name == "Ada"
    assert list(invariants.check()) == []
    assert "learner set" not in run("add_files", path, "--learner", "Ada")[0]


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_type_that_no_extractor_reads_is_not_stored(store, write, options):
    path = write("sub/clip.mp4", b"\0\0\0\x18ftypmp42")
    line = f"{path}  (no_extractor: no extractor reads video/mp4)"
    out, error = run("add_files", path, *options)
    assert (out.splitlines()[0], error) == (f"failed    {line}", "1 of 1 file failed")
    out, error = run("add_files", path.parent, *options)
    assert (out.splitlines()[0], error) == (f"skipped   {line}", "")
    assert not Document.objects.exists()
    assert list(store.objects.iterdir()) == []


def test_a_type_that_a_named_extractor_took_before_is_known(store, write, bad_extractors):
    path = write("clip.mp4", "<p>")
    assert run("add_files", path, "--extractor", "upper")[1] == ""
    assert run("add_files", path)[0].startswith("unchanged ")


def test_the_store_itself_is_one_failure(store, write):
    run("add_files", write("a.txt", "one"))
    for folder in (store.root, store.objects):
        out, error = run("add_files", folder)
        assert out.splitlines() == [
            f"failed    {folder}  (inside_store: the folder belongs to the document store itself)",
            "1 failed",
        ]
        assert error == "1 of 1 file failed"


def test_reconcile_says_what_it_does_and_would_do(store, write):
    path = write("a.txt", "one")
    file_id = services.add_file(path).file_id
    path.unlink()
    (store.object_dir(file_id) / "meta.toml").unlink()
    store.source_path(file_id).unlink()
    healed = f"{file_id}: meta.toml differs from the database"
    lost = f"store: cannot heal: {file_id}: the source bytes are missing: add the file again"
    assert run("reconcile", "--dry-run") == (f"{lost}\nstore: would heal: {healed}\n", "")
    out, error = run("reconcile")
    assert out.splitlines() == [lost, f"store: healed: {healed}"]
    assert error.startswith("1 disagreement ")


def test_nothing_to_add(store, tmp_path):
    (tmp_path / "empty folder").mkdir()
    assert run("add_files", tmp_path / "empty folder") == ("", f"no files found: {tmp_path / 'empty folder'}")


def test_promote(store, extracted):
    text = extracted()
    upper = services.extract(text.document_id, "upper", "save_variant")
    arguments = ("promote_extraction", text.document_id, upper.pk)
    assert "the primary is" in run(*arguments, "--expect", "none")[1]
    told = f"{upper.pk} would become the primary of {text.document_id}; {text.pk} is kept as a version.\n"
    assert run(*arguments, "--dry-run") == (told, "")
    assert "the primary is" in run(*arguments, "--expect", "none", "--dry-run")[1]
    assert Document.objects.get().primary == text
    data, error = run_json(*arguments, "--expect", text.pk, "--reason", "better")
    assert error == ""
    assert (data["stale_outputs"], data["current_again"]) == (0, 0)
    assert (data["before"], data["after"], data["changed"], data["reason"]) == (text.pk, upper.pk, True, "better")
    assert data["actor"].startswith("command:")
    assert Document.objects.get().primary == upper
    assert "nothing changed" in run(*arguments)[0]
    assert Promotion.objects.count() == 2
    back, _ = run_json("promote_extraction", text.document_id, "--take-back", "--dry-run")
    assert (back["before"], back["after"], back["dry_run"]) == (upper.pk, text.pk, True)
    assert Document.objects.get().primary == upper
    assert "no extraction version" in run("promote_extraction", text.document_id, "nothing")[1]
    assert "no document" in run("promote_extraction", "nothing", text.pk)[1]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_from_the_shell(manage, child_environment, tmp_path):
    """Real processes: exit status, standard output and error, one line per file."""
    folder = tmp_path / "my files"
    folder.mkdir()
    (folder / "a.txt").write_text("Some text.")
    (folder / "empty.txt").touch()
    done = subprocess.run(
        manage("add_files", str(folder)),
        env=child_environment | {"OSII_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"added     {folder}/a.txt  sha256-")
    assert lines[1] == f"failed    {folder}/empty.txt  (empty: the file is empty)"
    assert lines[2] == "1 added, 1 failed"
    assert "CommandError: 1 of 2 files failed; 1 was added" in done.stderr


CHATS = json.dumps([
    {"title": "Lakes", "create_time": 1_790_000_000, "update_time": 1_790_000_100, "conversation_id": "lakes", "current_node": "a",
     "mapping": {"a": {"id": "a", "parent": None, "children": [], "message": {
         "id": "a", "author": {"role": "user", "name": None, "metadata": {}}, "create_time": 1_790_000_001,
         "content": {"content_type": "text", "parts": ["Why are lakes deep?"]}, "status": "finished_successfully",
         "end_turn": True, "weight": 1.0, "metadata": {}}}}},
])  # fmt: skip


def test_a_chat_export_among_files_is_imported_as_chats(store, write):
    chats, text = write("conversations.json", CHATS), write("notes.txt", "Some text.")
    data, error = run_json("add_files", chats.parent, "--learner", "Ada", "--dry-run")
    assert error == ""
    assert [entry["status"] for entry in data["files"]] == ["chats", "added"]
    assert not Chat.objects.exists()
    data, error = run_json("add_files", chats.parent, "--learner", "Ada")
    assert (error, data["counts"]["chats"], data["counts"]["added"]) == ("", 1, 1)
    assert data["files"][0]["chats"] == {"new": 1}
    assert "ChatGPT" in data["files"][0]["format"]
    assert Chat.objects.get().learner.name == "Ada"
    assert Document.objects.get().filename == text.name
    out, _ = run("add_files", chats, "--learner", "Ada")
    assert out.splitlines()[0].startswith(f"chats     {chats}  (")
    assert "1 unchanged" in out.splitlines()[0]
    assert list(invariants.check()) == []


def test_problems_of_a_chat_export_are_told(store, write):
    broken = CHATS[:-1] + ', {"title": "cut'
    data, error = run_json("add_files", write("conversations.json", broken))
    assert data["files"][0]["reason"] == "chat_problems"
    assert error == "1 of 1 file failed"


def test_paths_that_are_no_watched_folder(store, write):
    path = write("a.txt", "text")
    assert run("add_files", path, "--watch")[1] == f"--watch takes folders, not {path}"
    assert "no --dry-run" in run("add_files", path.parent, "--watch", "--dry-run")[1]


def test_cleaning_up_from_the_command(store, extracted):
    text = extracted()
    variant = services.extract(text.document_id, "upper", "save_variant")
    assert "say which versions are old" in run("retain_versions")[1]
    out, error = run("retain_versions", "--keep", 0, "--dry-run")
    assert error == ""
    assert variant.pk in out.splitlines()[0]
    assert out.splitlines()[0].endswith("would go")
    assert out.splitlines()[1].startswith("Would remove 1 version of 1 document,")
    assert ExtractionVersion.objects.count() == 2
    data, error = run_json("retain_versions", "--older-than", 1)
    assert (data["versions"], data["removals"], error) == ([], [], "")
    data, error = run_json("retain_versions", "--keep", 0, "--reason", "spring")
    assert data["removals"] == [{"file_id": text.document_id, "versions": [variant.pk]}]
    assert ExtractionVersion.objects.get() == text


def test_removing_a_document_from_the_command(store, extracted):
    text = extracted()
    out, _ = run("remove_document", text.document_id, "--dry-run")
    assert out.startswith("would remove notes.txt  ")
    assert Document.objects.exists()
    data, error = run_json("remove_document", text.document_id, "--reason", "asked to")
    assert (error, data["documents"][0]["counts"]["versions"]) == ("", 1)
    assert not Document.objects.exists()
    assert "no document" in run("remove_document", text.document_id)[1]


def test_taking_a_promotion_back(store, extracted):
    text = extracted()
    upper = services.extract(text.document_id, "upper")
    neither = run("promote_extraction", text.document_id)[1]
    assert neither.endswith(f"Versions that can be: {text.pk}, {upper.pk} (primary).")
    assert "not both" in run("promote_extraction", text.document_id, upper.pk, "--take-back")[1]
    data, _ = run_json("promote_extraction", text.document_id, "--take-back", "--expect", upper.pk)
    assert (data["before"], data["after"], data["changed"]) == (upper.pk, text.pk, True)
    assert "no move of the primary stands" in run("promote_extraction", text.document_id, "--take-back")[1]

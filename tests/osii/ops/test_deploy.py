"""What deploy/ holds names commands, modules and settings that exist; production settings pass Django's own check."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from django.test import RequestFactory

from osii import supervision
from osii.care import backups
from osii.ops import production

DEPLOY = settings.BASE_DIR / "deploy"
UNITS = sorted(path for path in (DEPLOY / "systemd").iterdir() if path.is_file())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def check_command(words: list[str]) -> None:
    """A command line of ours: a module that exists, or a management command with a queue that exists."""
    if "gunicorn" in words:
        assert words[words.index("gunicorn") + 1 :] == [
            "--config",
            "python:osii.gunicorn_conf",
            "osii.wsgi:application",
        ]
        return
    command, *arguments = words[words.index("manage.py") + 1 :]
    assert command in get_commands()
    if command == "work":
        assert arguments[0] in {*settings.RQ_QUEUES, "%i"}


def unit(path: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return {name: dict(parser[name]) for name in parser.sections()}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_what_exists(path: Path) -> None:
    told = unit(path)
    assert told["Unit"]["Description"]
    if path.suffix != ".service":
        return
    service = told["Service"]
    check_command(service["ExecStart"].split())
    assert service["User"] == "osii"
    assert service["NoNewPrivileges"] == "yes"
    if service["Type"] == "exec":
        assert service["Restart"] == "always"
        assert int(service["TimeoutStopSec"]) > supervision.STOP_SECONDS


def test_the_target_wants_every_program_that_up_runs() -> None:
    wanted = set(unit(DEPLOY / "systemd" / "osii.target")["Unit"]["Wants"].split())
    names = {"web": "osii-web.service", "reconcile": "osii-reconcile.service"}
    assert wanted == {names.get(name, f"osii-work@{name}.service") for name in supervision.programs()}
    for name in wanted:
        assert (DEPLOY / "systemd" / re.sub(r"@\w+", "@", name)).is_file()


def test_what_nobody_waits_for_weighs_less() -> None:
    """Where niceness counts within a program alone: services and containers are weighed against each other."""
    weights = {path.name: unit(path)["Service"].get("CPUWeight", "100") for path in UNITS if path.suffix == ".service"}
    assert {name for name, weight in weights.items() if int(weight) < 100} == {"osii-work@.service"}
    assert unit(DEPLOY / "systemd" / "osii-work@steers.service.d" / "weight.conf") == {"Service": {"CPUWeight": "100"}}
    shares = {name: service.get("cpu_shares", 1024) for name, service in COMPOSE["services"].items()}
    assert {name for name, share in shares.items() if share < 1024} == {"chats", "library"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    python = tmp_path / "python"  # a word of a unit's command ends at a space, which this project's own path may hold
    python.symlink_to(sys.executable)
    shutil.copytree(DEPLOY / "systemd", tmp_path, dirs_exist_ok=True)
    for path in UNITS:
        text = path.read_text().replace("/opt/osii/.venv/bin/python", str(python))
        (tmp_path / path.name).write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / path.name) for path in UNITS)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    )
    ours = [line for line in done.stderr.splitlines() if "osii" in line]
    assert ours == []


@pytest.mark.parametrize("path", [path for path in UNITS if path.suffix == ".service"], ids=lambda path: path.name)
def test_a_unit_may_do_little_but_cut_extractors_off(path: Path) -> None:
    service = unit(path)["Service"]
    assert service["CapabilityBoundingSet"] == ""
    assert service["ProtectSystem"] == "strict"
    if path.name.startswith(("osii-work", "osii-web")):  # what extraction.documents.containment asks the kernel for
        assert {"user", "net", "pid"} <= set(service["RestrictNamespaces"].split())
    if shutil.which("systemd-analyze") is not None:
        command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=50", str(path)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-200:]


SERVICE_KEYS = {
    *(
        "build",
        "cap_drop",
        "command",
        "cpu_shares",
        "depends_on",
        "deploy",
        "entrypoint",
        "env_file",
        "environment",
        "healthcheck",
    ),
    *("image", "init", "networks", "ports", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs"),
    *("user", "volumes"),
}


def test_compose_says_nothing_that_compose_does_not_know() -> None:
    assert {name for name in COMPOSE if not name.startswith("x-")} == {"services", "volumes"}
    for name, service in COMPOSE["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert "build" in service or re.fullmatch(r"[\w./-]+:[\w.-]+", service["image"]), (
            name
        )  # a version, never the latest
        assert ":latest" not in service.get("image", "")
        assert service["restart"] in {"unless-stopped", "no"}, name
        assert {"condition"} == {key for need in service.get("depends_on", {}).values() for key in need} | {"condition"}
        assert set(service.get("healthcheck", {})) <= {"test", "interval", "timeout", "retries", "start_period"}, name
    ours = [service for service in COMPOSE["services"].values() if "build" in service]
    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in ours)


def test_the_image_is_of_a_named_version_without_root_and_without_secrets() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    (base,) = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", base)
    told = [line.split(maxsplit=1) for line in lines if re.match(r"[A-Z]+ ", line)]
    users = [value for word, value in told if word == "USER"]
    assert users
    assert users[-1] not in {"root", "0"}
    assert told.index(["USER", users[-1]]) > max(place for place, (word, _value) in enumerate(told) if word == "RUN")
    assert all("--no-cache-dir" in value for word, value in told if word == "RUN" and "pip install" in value)
    check_command(json.loads(told[-1][1]))
    ignored = (settings.BASE_DIR / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", "var", "deploy/*.env"} <= set(ignored)


def test_compose_runs_every_program_once_the_tables_are_there() -> None:
    services = COMPOSE["services"]
    assert set(supervision.programs()) <= set(services)
    for name in (*supervision.programs(), "migrate"):
        service = services[name]
        if "command" in service:
            check_command(service["command"])
        for other, need in service["depends_on"].items():
            assert other in services
            if need["condition"] == "service_healthy":
                assert "healthcheck" in services[other]
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= set(COMPOSE["volumes"])
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", []))
    assert (DEPLOY / services["web"]["build"]["context"] / services["web"]["build"]["dockerfile"]).is_file()


def test_the_example_of_settings_names_settings_that_are_documented() -> None:
    lines = (DEPLOY / "osii.env.example").read_text().splitlines()
    names = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
    documented = (settings.BASE_DIR / "docs" / "settings.md").read_text()
    assert names
    assert all(f"`{name}`" in documented for name in names)


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", str(settings.BASE_DIR / "manage.py"), *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=kept | variables)


def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    home = {"OSII_HOME": str(tmp_path)}
    done = manage(
        "check", "--deploy", "--fail-level", "WARNING", OSII_HTTPS="1", ALLOWED_HOSTS="osii.example.org", **home
    )
    assert done.returncode == 0, done.stderr
    refused = manage("check", OSII_HTTPS="1", OSII_PROXIES="0", **home)
    assert "OSII_PROXIES is '0', but must be at least 1 with OSII_HTTPS" in refused.stderr


@pytest.mark.django_db
def test_doctor_names_what_is_not_fit_for_production(settings: Any, tmp_path: Path) -> None:
    settings.OSII_HOME = tmp_path
    settings.ALLOWED_HOSTS = ["localhost"]
    found = {finding.name: finding for finding in production.examine()}
    bad = {name for name, finding in found.items() if finding.state == "fail"}
    assert bad == {"HTTPS", "Host names", "Secret key", "Backup", "Accounts"}
    assert all(found[name].advice for name in bad)
    assert found["Meaning"].state == "warn"  # the tests' embedder
    settings.OSII_EMBEDDER = "minilm"
    assert production.embedder().state == "ok"


@pytest.mark.django_db
@pytest.mark.parametrize(("day", "state"), [("2999-01-01", "ok"), ("2020-01-01", "fail")])
def test_doctor_tells_the_age_of_the_last_backup(settings: Any, tmp_path: Path, day: str, state: str) -> None:
    settings.OSII_HOME = tmp_path
    told = f'{{"file": "b.tar", "made_at": "{day}T00:00:00+00:00", "bytes": 1}}'
    (tmp_path / backups.LAST).write_text(told)
    assert production.backup().state == state


def test_the_web_server_takes_no_scheme_from_a_header(settings: Any) -> None:
    request = RequestFactory().get("/", headers={"X-Forwarded-Proto": "https"})
    assert not request.is_secure()  # only OSII_HTTPS says that a proxy sets it

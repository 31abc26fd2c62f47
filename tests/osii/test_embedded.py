"""The embedded servers: started by whoever comes first, stopped by whoever leaves last, unharmed by kills."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from osii.embedded import processes
from osii.embedded.paths import DATABASE, EmbeddedError, Layout, private_directory
from osii.embedded.placement import ELSEWHERE, place
from osii.embedded.postgres import Postgres
from osii.embedded.services import Services
from osii.embedded.valkey import Valkey
from osii.settings import BASE_DIR

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's database server runs as another user")
HOLD = "from osii import embedded; embedded.ensure(); print('up', flush=True); input()"


def services(home: Path) -> Services:
    layout = Layout.of(home)
    return Services(layout, [Postgres(layout), Valkey(layout)])


def server_processes(home: Path) -> list[psutil.Process]:
    """Every database or queue server process that works in the home."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_server = process.name().startswith(("postgres", "valkey"))
            if is_server and process.status() != psutil.STATUS_ZOMBIE and process.cwd().startswith(f"{home}{os.sep}"):
                found.append(process)
    return found


def main_processes(home: Path, name: str = "") -> list[psutil.Process]:
    """The servers themselves, without the children that a PostgreSQL server has."""
    found = server_processes(home)
    pids, mains = {process.pid for process in found}, []
    for process in found:
        with contextlib.suppress(psutil.Error):  # a child may end between the look and the question
            if process.ppid() not in pids and process.name().startswith(name):
                mains.append(process)
    return mains


def is_up_again(home: Path) -> None:
    deadline = time.monotonic() + 30
    while not all(server.up() for server in services(home).servers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def clean_up(home: Path) -> None:
    for process in server_processes(home):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    layout = Layout.of(home)
    for path in (layout.sockets, ELSEWHERE / layout.key):
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def open_directory():
    """A directory that every user may enter (pytest's own is private, which moves root's database elsewhere)."""
    with tempfile.TemporaryDirectory(prefix="osii test ", dir="/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.fixture
def home(open_directory):
    home = open_directory / "a home"
    yield home
    clean_up(home)


@pytest.fixture
def hold():
    """Starts child processes that use a home's servers until told to end."""
    children = []

    def start(home: Path, **variables: str) -> subprocess.Popen:
        environment = os.environ | {"OSII_HOME": str(home)} | variables
        child = subprocess.Popen(
            [sys.executable, "-c", HOLD], cwd=BASE_DIR, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def is_up(child: subprocess.Popen) -> bool:
    return child.stdout.readline() == "up\n"


def end(child: subprocess.Popen) -> None:
    child.communicate("\n", timeout=60)
    assert child.returncode == 0


def query(home: Path, statement: str):
    with psycopg.connect(Layout.of(home).database_url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def valkey(home: Path) -> redis.Redis:
    return redis.Redis.from_url(Layout.of(home).redis_url())


def test_data_survive_a_kill_of_everything(home, hold):
    first = hold(home, LANG="xx_XX.UTF-8", LC_ALL="xx_XX.UTF-8")
    assert is_up(first)
    query(home, "CREATE TABLE kept (text text)")
    query(home, "INSERT INTO kept VALUES ('é')")
    with valkey(home) as client:
        client.set("kept", "é")
        client.execute_command("WAITAOF", 1, 0, 5000)
    first.kill()
    first.wait()
    for process in main_processes(home):
        process.kill()

    second = hold(home)
    assert is_up(second)
    assert query(home, "SELECT upper(text) FROM kept WHERE text ILIKE 'É'") == "É"
    with valkey(home) as client:
        assert client.get("kept").decode() == "é"
    end(second)
    assert server_processes(home) == []


def test_the_last_user_stops_the_servers(home, hold):
    children = [hold(home) for _ in range(3)]  # all at once
    assert all(is_up(child) for child in children)
    assert len(main_processes(home, "postgres")) == 1
    assert len(main_processes(home, "valkey")) == 1
    end(children[0])
    children[1].kill()
    children[1].wait()
    assert query(home, "SELECT 1") == 1
    end(children[2])
    assert server_processes(home) == []


def test_a_killed_user_leaves_the_servers_to_the_next(home, hold):
    first = hold(home)
    assert is_up(first)
    before = set(main_processes(home))
    first.kill()
    first.wait()
    second = hold(home)
    assert is_up(second)
    assert set(main_processes(home)) == before
    end(second)
    assert server_processes(home) == []


def test_users_who_come_while_the_last_one_stops_get_running_servers(home):
    """Without the start lock, a new user would trust servers that are about to stop."""
    errors = []

    def come_and_go():
        mine = services(home)
        for _ in range(6):
            mine.ensure()
            try:
                assert query(home, "SELECT 1") == 1
            except (psycopg.Error, AssertionError) as error:
                errors.append(error)
            mine.leave()

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert server_processes(home) == []


def test_stale_files_do_not_hinder_a_start(home):
    mine = services(home)
    mine.ensure()
    for process in main_processes(home):
        process.kill()
    while any(server.up() for server in mine.servers) or server_processes(home):
        time.sleep(0.05)
    data = home / "postgres" / "data"
    sockets = Layout.of(home).postgres_sockets
    # A pid that now belongs to a process of the same user which is no database server.
    (data / "postmaster.pid").write_text(f"{os.getpid()}\n{data}\n0\n5432\n{sockets}\n\n0 0\nready\n")
    (sockets / ".s.PGSQL.5432.lock").write_text(f"{os.getpid()}\n{data}\n0\n5432\n{sockets}\n")
    (home / "valkey" / "valkey.pid").write_text(f"{os.getpid()}\n")
    mine.ensure()
    assert query(home, "SELECT 1") == 1
    with valkey(home) as client:
        assert client.ping()
    with Postgres(Layout.of(home)).connect() as connection:  # as if it had been killed before it made its database
        connection.execute("DROP DATABASE osii WITH (FORCE)")
    started = main_processes(home)
    assert not mine.servers[0].up()
    mine.ensure()
    assert query(home, "SELECT 1") == 1
    assert main_processes(home) == started
    mine.leave()


def test_a_server_whose_socket_was_cleaned_away_is_reached_again(home):
    mine = services(home)
    mine.ensure()
    query(home, "CREATE TABLE kept AS SELECT 7 AS number")
    shutil.rmtree(Layout.of(home).sockets)
    other = services(home)
    other.ensure()
    assert query(home, "SELECT number FROM kept") == 7
    assert len(main_processes(home)) == 2
    mine.leave()
    assert other.leave()
    assert server_processes(home) == []


def test_two_homes_do_not_meet(open_directory):
    homes = [open_directory / name for name in ("one", "two")]
    both = [services(home) for home in homes]
    try:
        for mine in both:
            mine.ensure()
        for home in homes:
            query(home, f"CREATE TABLE here AS SELECT '{home.name}' AS name")
            with valkey(home) as client:
                client.set("name", home.name)
        for home in homes:
            assert query(home, "SELECT name FROM here") == home.name
            with valkey(home) as client:
                assert client.get("name").decode() == home.name
        assert both[0].leave()
        assert query(homes[1], "SELECT 1") == 1
    finally:
        for mine, home in zip(both, homes, strict=True):
            mine.leave()
            clean_up(home)


def test_watching_heals_killed_servers(home):
    mine = services(home)
    mine.ensure()
    stop = threading.Event()
    watcher = threading.Thread(target=mine.watch, args=(stop, 0.1))
    watcher.start()
    try:
        for process in main_processes(home):
            process.kill()
        is_up_again(home)
    finally:
        stop.set()
        watcher.join()
    assert mine.leave()


def test_the_log_of_the_database_says_what_failed_and_nothing_of_what_was_written(home):
    """An erased learner's words would stay in it."""
    mine = services(home)
    mine.ensure()
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(home, "CREATE TABLE said (words text UNIQUE); INSERT INTO said VALUES ('zanzibar'), ('zanzibar')")
    with pytest.raises(psycopg.errors.NotNullViolation):
        query(home, "CREATE TABLE said (words text, by text NOT NULL); INSERT INTO said VALUES ('zanzibar', NULL)")
    log = (Layout.of(home).logs / "postgres.log").read_text()
    assert "duplicate key value" in log
    assert "null value in column" in log
    assert "zanzibar" not in log
    assert mine.leave()


def test_a_server_that_recovers_is_left_in_peace(home, monkeypatch):
    """A standby that takes no connections stands for a recovery that takes long: stopped in it, it would begin anew."""
    mine = services(home)
    mine.ensure()
    server = mine.servers[0]
    data = place(mine.layout).data
    server.stop()
    (data / "standby.signal").touch(mode=0o644)
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write("hot_standby = off\n")
    monkeypatch.setattr("osii.embedded.postgres.START_SECONDS", 1.0)
    for _ in range(2):
        with pytest.raises(EmbeddedError, match="PostgreSQL recovers from a crash"):
            mine.ensure()
    (recovering,) = main_processes(home, "postgres")

    monkeypatch.setattr("osii.embedded.postgres.START_SECONDS", 60.0)
    (data / "promote").touch(mode=0o644)
    os.kill(recovering.pid, signal.SIGUSR1)
    mine.ensure()
    assert server.up()
    assert main_processes(home, "postgres") == [recovering]
    assert mine.leave()


@contextlib.contextmanager
def recovering(server: Postgres, home: Path) -> Iterator[psutil.Process]:
    """The server while it recovers from a crash that it has just had, which takes it some tenths of a second."""
    with server.connect(DATABASE) as connection:
        connection.execute(
            "CREATE TABLE kept AS SELECT number, md5(number::text) FROM generate_series(1, 300000) number"
        )
    (postgres,) = main_processes(home, "postgres")
    (checkpointer,) = (one for one in postgres.children() if "checkpointer" in " ".join(one.cmdline()))
    checkpointer.kill()
    while not server._rejects():
        time.sleep(0.001)
    time.sleep(0.05)
    yield postgres


def kept(server: Postgres) -> int:
    with server.connect(DATABASE) as connection:
        return connection.execute("SELECT count(*) FROM kept").fetchone()[0]


def test_a_server_that_recovers_is_stopped_when_it_is_told_to(home):
    mine = services(home)
    mine.ensure()
    server = mine.servers[0]
    with recovering(server, home) as postgres:
        server.stop()
        assert not postgres.is_running() or postgres.status() == psutil.STATUS_ZOMBIE
    assert "received fast shutdown request" not in server.log.read_text(), "it would hang"
    mine.ensure()
    assert kept(server) == 300_000
    assert mine.leave()


def test_a_server_that_does_not_come_to_the_end_of_its_shutdown_is_ended_and_started_again(home, monkeypatch):
    """PostgreSQL 18 hangs when it is asked for a fast shutdown while it recovers."""
    mine = services(home)
    mine.ensure()
    server = mine.servers[0]
    with recovering(server, home) as postgres:
        os.kill(postgres.pid, signal.SIGINT)
    monkeypatch.setattr("osii.embedded.postgres.STOP_SECONDS", 1.0)
    mine.ensure()
    assert kept(server) == 300_000
    assert main_processes(home, "postgres") != [postgres]
    assert mine.leave()


def test_a_server_that_has_no_room_is_up(home):
    mine = services(home)
    mine.ensure()
    server = mine.servers[0]
    before = set(main_processes(home))
    with contextlib.ExitStack() as room:
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            for _ in range(300):
                room.enter_context(server.connect())
        assert server.up()
        mine.ensure()
    assert set(main_processes(home)) == before
    assert mine.leave()


def test_a_valkey_that_reads_its_data_is_left_in_peace(home, monkeypatch):
    mine = services(home)
    mine.ensure()
    server = mine.servers[1]
    before = main_processes(home, "valkey")
    answers, left = server._answers, iter(range(3))

    def busy():
        if next(left, None) is not None:
            raise redis.BusyLoadingError("LOADING Valkey is loading the dataset in memory")
        return answers()

    monkeypatch.setattr(server, "_answers", busy)
    assert not server.up()
    mine.ensure()
    assert server.up()
    assert main_processes(home, "valkey") == before
    assert mine.leave()


def test_a_cluster_of_another_version_is_named(home):
    mine = services(home)
    mine.ensure()
    assert mine.leave()
    (home / "postgres" / "data" / "PG_VERSION").write_text("12\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 12, but the programs are"):
        mine.ensure()
    mine.leave()


@as_root
def test_a_home_that_the_server_cannot_enter(tmp_path):
    """Under a private parent the data go elsewhere, and a copy of the home does not share them."""
    tmp_path.chmod(0o700)
    home, copy = tmp_path / "home", tmp_path / "copy"
    mine = services(home)
    try:
        mine.ensure()
        query(home, "CREATE TABLE kept AS SELECT 7 AS number")
        assert Path((home / "postgres" / "LOCATION").read_text().strip()).is_dir()
        assert mine.leave()

        shutil.copytree(home, copy)
        with pytest.raises(EmbeddedError, match=f"{copy} is a copy of {home}"):
            services(copy).ensure()

        shutil.rmtree(copy)
        home.rename(copy)  # moved, not copied: its data come along
        moved = services(copy)
        moved.ensure()
        assert query(copy, "SELECT number FROM kept") == 7
        assert moved.leave()
    finally:
        for path in (home, copy):
            clean_up(path)


def test_a_socket_directory_that_others_could_use_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EmbeddedError, match="not a private directory"):
        private_directory(tmp_path / "link")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(EmbeddedError, match="not a private directory"):
        private_directory(tmp_path / "open")


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    # A directory in the place of a lock file stands for every error of the file system; root may write anywhere.
    (tmp_path / "run" / "start.lock").mkdir(parents=True)
    with pytest.raises(EmbeddedError, match=r"OSII_HOME .* cannot be used: .*start\.lock"):
        services(tmp_path).ensure()


def test_the_reason_in_a_log_is_its_last_error_and_not_its_last_line(tmp_path):
    log = tmp_path / "postgres.log"
    log.write_text("""\
        FATAL:  an older reason
        LOG:  starting PostgreSQL 18
        FATAL:  could not write to file "pg_wal/1": No space left on device
        FATAL:  the database system is starting up
        LOG:  database system is shut down
        """)
    assert processes.last_line(log) == 'FATAL:  could not write to file "pg_wal/1": No space left on device'
    log.write_text("Fatal error, can't open config file\nBad directive\n\n")
    assert processes.last_line(log) == "Bad directive"
    assert processes.last_line(tmp_path / "none.log") == ""


def test_socket_paths_stay_short(tmp_path):
    layout = Layout.of(tmp_path / ("deep/" * 40))
    assert len(str(layout.postgres_sockets / ".s.PGSQL.5432.lock")) < 100
    assert len(str(layout.valkey_socket)) < 100

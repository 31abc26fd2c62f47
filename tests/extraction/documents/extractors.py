"""Extractors that misbehave, each in one way. The child process imports them from here."""

import ctypes
import os
import signal
import socket
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extraction.documents.bundle import Bundle
from extraction.documents.errors import ExtractionFailed
from extraction.documents.extractors.base import Extractor, Option, SourceFile
from extraction.documents.limits import MIB, Limits

ORIGIN = {"source_type": "test", "unit_type": "page", "page": 1, "bbox": [0.0, 0.0, 1.0, 1.0]}


class Upper(Extractor):
    """A good one: the text in capitals, with a table kept as an artifact."""

    name = "upper"
    version = "2.1"
    label = "Capitals"
    media_types = ("text/plain",)
    options = {"suffix": Option("", "text to append"), "copies": Option(1, "how many", (1, 2, 3))}

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        text = source.path.read_text(encoding="utf-8").upper() * options["copies"] + options["suffix"]
        start, end = bundle.write(text)
        segment = bundle.segment(start, end, type="page", origin=ORIGIN)
        bundle.artifact("tables/one.csv", b"a,b\n", kind="table", type="table", origin=ORIGIN, related=[segment])
        bundle.units_attempted = bundle.units_completed = 1


class Bad(Extractor):
    """Writes a page, then fails as its subclass does."""

    version = "1"
    label = "Bad"
    media_types = ()

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        start, end = bundle.write("half of the text")
        bundle.segment(start, end, type="page", origin=ORIGIN)
        self.fail(bundle)

    def fail(self, bundle: Bundle) -> None:
        raise ExtractionFailed("encrypted", "the file asks for a password")


class Encrypted(Bad):
    name = "encrypted"


class Raises(Bad):
    name = "raises"

    def fail(self, bundle: Bundle) -> None:
        raise ValueError("page 3 has no\x00 content stream")


class Segfaults(Bad):
    name = "segfaults"

    def fail(self, bundle: Bundle) -> None:
        ctypes.string_at(0)


class Hangs(Bad):
    name = "hangs"
    limits = Limits(wall_seconds=0.5)

    def fail(self, bundle: Bundle) -> None:
        Path(os.environ["TMPDIR"], "hanging").touch()
        time.sleep(600)


class Stops(Bad):
    """Cannot react to anything, as a hang in native code cannot."""

    name = "stops"
    limits = Limits(wall_seconds=0.5)

    def fail(self, bundle: Bundle) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Spins(Bad):
    name = "spins"
    limits = Limits(cpu_seconds=1, wall_seconds=30)

    def fail(self, bundle: Bundle) -> None:
        while True:
            pass


class Hungry(Bad):
    name = "hungry"
    limits = Limits(memory_bytes=256 * MIB)

    def fail(self, bundle: Bundle) -> None:
        self.kept = [bytearray(64 * MIB) for _ in range(64)]


class Swells(Bad):
    """Uses memory where no hard limit may be set: only the parent sees it."""

    name = "swells"
    limits = Limits(memory_bytes=96 * MIB, hard_memory=False)

    def fail(self, bundle: Bundle) -> None:
        self.kept = b"x" * (160 * MIB)
        time.sleep(60)


class Floods(Bad):
    name = "floods"
    limits = Limits(output_bytes=4 * MIB)

    def fail(self, bundle: Bundle) -> None:
        for _ in range(16):
            bundle.write("x" * MIB)


class Scatters(Bad):
    name = "scatters"
    limits = Limits(output_files=20)

    def fail(self, bundle: Bundle) -> None:
        for number in range(40):
            bundle.artifact(f"{number}.bin", b"x", kind="image", type="image", origin=ORIGIN)


class Links(Bad):
    name = "links"

    def fail(self, bundle: Bundle) -> None:
        (bundle.directory / "artifacts").mkdir()
        (bundle.directory / "artifacts" / "passwd").symlink_to("/etc/passwd")


class Lies(Bad):
    """Changes the text after it was counted."""

    name = "lies"

    def fail(self, bundle: Bundle) -> None:
        text = bundle.directory / "text.txt"
        text.unlink()
        text.write_text("HALF OF THE TEXT", encoding="utf-8")


class Overruns(Bad):
    name = "overruns"

    def fail(self, bundle: Bundle) -> None:
        bundle.segment(5, 5000, type="page", origin=ORIGIN)


class Gibberish(Bad):
    name = "gibberish"

    def fail(self, bundle: Bundle) -> None:
        bundle.write("GLYPH<c=3,font=/ABC> (cid:17)\ufffd\ufffd word ")


class Multiplies(Bad):
    """A fork bomb, but one that ends by itself should nobody stop it."""

    name = "multiplies"
    limits = Limits(processes=24, wall_seconds=30)

    def fail(self, bundle: Bundle) -> None:
        for _ in range(60):
            if os.fork() == 0:
                os.setsid()
                Path(os.environ["TMPDIR"], f"{os.getpid()}").touch()
                time.sleep(20)
                os._exit(0)
        time.sleep(20)


class Escapes(Bad):
    """Leaves a process behind that no group or parent is of any more."""

    name = "escapes"

    def fail(self, bundle: Bundle) -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.environ["OSII_TEST_ESCAPED"] = "1"
                os.execvp("sleep", ["sleep", "61.25"])
            os._exit(0)
        time.sleep(0.3)
        raise ExtractionFailed("left", "and left a process")


class Unpacks(Bad):
    """A zip bomb, unpacked by a library that does not count."""

    name = "unpacks"
    limits = Limits(output_bytes=8 * MIB)

    def fail(self, bundle: Bundle) -> None:
        path = Path(os.environ["TMPDIR"], "bomb.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(12):
                archive.writestr(f"{number}.xml", bytes(MIB))
        with zipfile.ZipFile(path) as archive:
            archive.extractall(path.parent)


class Expands(Bad):
    """The same into memory."""

    name = "expands"
    limits = Limits(memory_bytes=192 * MIB)

    def fail(self, bundle: Bundle) -> None:
        self.kept = zlib.decompress(zlib.compress(bytes(256 * MIB), 9))


class Calls(Extractor):
    """Its text is what came of a connection to the port that its option names."""

    name = "calls"
    version = "1"
    label = "Calls out"
    media_types = ()
    options = {"port": Option(0, "where to")}

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        try:
            socket.create_connection(("127.0.0.1", options["port"]), timeout=5).close()
        except OSError as error:
            bundle.write(f"no: {error}")
        else:
            bundle.write("connected")


class Blank(Extractor):
    name = "blank"
    version = "1"
    label = "Finds nothing"
    media_types = ()

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        bundle.write(" \n\t\n")


class Environment(Extractor):
    """Its text is what the child process can see of our environment."""

    name = "environment"
    version = "1"
    label = "Environment"
    media_types = ()

    def extract(self, source: SourceFile, bundle: Bundle, options: Mapping[str, Any]) -> None:
        bundle.write("\n".join(f"{name}={value}" for name, value in os.environ.items()))


class Unready(Extractor):
    name = "unready"
    version = "1"
    label = "Needs a program"
    media_types = ("image/*",)

    def ready(self) -> str:
        return "the program “ocr” is not installed"


ALL = (
    Upper, Encrypted, Raises, Segfaults, Hangs, Stops, Spins, Hungry, Swells, Floods, Scatters, Links, Lies, Overruns,
    Gibberish, Multiplies, Escapes, Unpacks, Expands, Calls, Blank, Environment, Unready,
)  # fmt: skip

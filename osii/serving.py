"""The web server's worker: gunicorn's threads, of which a client that has fallen silent or gone holds none for ever.

gunicorn waits without end for the rest of a request that has begun, and for a client to take its answer: a laptop that goes
to sleep in an upload would keep a thread, and as many of them as there are threads the whole server. Whoever means harm can
open connection after connection; against that stands a proxy that reads requests whole.
"""

import logging
import socket
import struct

from gunicorn.workers.gthread import TConn, ThreadWorker

SILENT_SECONDS = 60
"""How long a request may go on without a byte."""
GONE_SECONDS = 60
"""How long what was sent may stay unconfirmed, and how long a client that is waited for may not answer at all."""
PROBES = 3

TCP_OPTIONS = {
    "TCP_KEEPIDLE": GONE_SECONDS // 2,
    "TCP_KEEPINTVL": GONE_SECONDS // 2 // PROBES,
    "TCP_KEEPCNT": PROBES,
    "TCP_USER_TIMEOUT": GONE_SECONDS * 1000,
}
"""Each where the system has it."""


class Worker(ThreadWorker):
    silent_seconds: float = SILENT_SECONDS

    def enqueue_req(self, conn: TConn) -> None:
        limit(conn.sock, self.silent_seconds)
        super().enqueue_req(conn)


class Brief(logging.Filter):
    """Of a client that fell silent a line, and no traceback: it is no fault of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], BlockingIOError):
            record.msg, record.args, record.levelname = (
                "A client fell silent in the middle of its request",
                (),
                "WARNING",
            )
            record.exc_info = record.exc_text = None
        return True


def limit(client: socket.socket, silent_seconds: float) -> None:
    """Let the kernel end what waits for this client: a read then fails, in gunicorn or in the view that reads the body."""
    seconds = int(silent_seconds)
    client.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", seconds, int((silent_seconds - seconds) * 1e6))
    )
    if client.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in TCP_OPTIONS.items():
        if (option := getattr(socket, name, None)) is not None:
            client.setsockopt(socket.IPPROTO_TCP, option, value)

"""A live page on this machine: HTTP on the loopback, with server-sent events."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, cast

from ssdlab.drawing import looks
from ssdlab.errors import InputError
from ssdlab.watching.feed import Feed

__all__ = ["site"]

_HERE = "127.0.0.1"
#: Most connections at a time.
_CONNECTIONS = 32
#: Longest time for which a browser may neither ask nor take anything [s].
_PATIENCE = 20.0
#: Time between two signs of life to a browser [s].
_SIGN_EVERY = 5.0
#: Longest wait at the end until the browsers have the last state [s].
_GOODBYE = 2.0
#: Bytes that wait for a browser in the system, at most about.
_BUFFER = 1 << 18


@cache
def page() -> tuple[bytes, str]:
    """Returns the page and its Content-Security-Policy: it runs its own script, and asks nobody else."""
    own = files("ssdlab.watching")
    style = files("ssdlab.report").joinpath("style.css").read_text(encoding="utf-8")
    parts = {
        "STYLE": style + own.joinpath("page.css").read_text(encoding="utf-8"),
        "SCRIPT": f"const LOOKS = {json.dumps({'busy': looks.MAP})};\n" + own.joinpath("page.js").read_text(encoding="utf-8"),
    }
    text = own.joinpath("page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part)
    script = base64.b64encode(hashlib.sha256(parts["SCRIPT"].encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{script}'",
        "style-src 'unsafe-inline'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return text.encode(), "; ".join(rules)


class _Server(ThreadingHTTPServer):
    """Server of one page."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, feed: Feed) -> None:
        self.feed = feed
        self._open = threading.BoundedSemaphore(_CONNECTIONS)
        self.streams = 0
        self.counting = threading.Condition()
        super().__init__((_HERE, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection in a thread of its own; one too many is closed."""
        if not self._open.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what is wrong, unless a browser has gone or has stalled."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers of the server."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "ssdlab", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Sends the page, or its events."""
        if not self._is_asked_by_its_name():
            # A name of another site may lead here (DNS rebinding).
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "expected the address that the command has printed")
        elif self.path == "/":
            content, policy = page()
            headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
            self._send(HTTPStatus.OK, content, headers)
        elif self.path == "/events":
            self._send_events()
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "expected / or /events")

    def parse_request(self) -> bool:
        """Reads the head of a request, and refuses all but GET."""
        if not super().parse_request():
            return False
        if self.command == "GET":
            return True
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "expected GET")
        return False

    def _is_asked_by_its_name(self) -> bool:
        port = cast(_Server, self.server).server_address[1]
        hosts = self.headers.get_all("Host") or []
        return len(hosts) == 1 and hosts[0].lower() in {f"{_HERE}:{port}", f"localhost:{port}"}

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True
        allowed = {"Allow": "GET"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        self._send(status, f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **allowed})

    def _send(self, status: HTTPStatus, content: bytes, headers: dict[str, str]) -> None:
        self._begin(status, {**headers, "Content-Length": str(len(content))})
        self.wfile.write(content)

    def _begin(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()

    def _send_events(self) -> None:
        """Sends what changes, until nothing follows or the browser has gone."""
        server = cast(_Server, self.server)
        self.close_connection = True
        with server.counting:
            server.streams += 1
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            self._begin(HTTPStatus.OK, {"Content-Type": "text/event-stream", "Connection": "close"})
            version, feed = 0, server.feed
            while True:
                is_over = feed.is_over
                latest, document = feed.since(version)
                # A write that the browser does not take in time ends the connection.
                self.wfile.write(f"data: {document}\n\n".encode() if latest > version else b": \n\n")
                version = latest
                if is_over:
                    return
                feed.wait(version, _SIGN_EVERY)
        finally:
            with server.counting:
                server.streams -= 1
                server.counting.notify_all()

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps no log."""


@contextmanager
def site(feed: Feed, port: int = 0) -> Iterator[str]:
    """Shows a feed on a page of this machine, and yields the address. At the end browsers receive the last state.

    Args:
        feed: The contents, which should be over at the end.
        port: The port; 0: any that is free.

    Raises:
        InputError: the port cannot be listened at.
    """
    try:
        server = _Server(port, feed)
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror}: expected a free port") from None
    with server:
        serving = threading.Thread(target=server.serve_forever, name="ssdlab-watch", daemon=True)
        serving.start()
        try:
            yield f"http://{_HERE}:{server.server_address[1]}/"
        finally:
            if not feed.is_over:
                feed.end()
            end = time.monotonic() + _GOODBYE
            with server.counting:
                server.counting.wait_for(lambda: server.streams == 0, max(0.0, end - time.monotonic()))
            server.shutdown()
            serving.join()

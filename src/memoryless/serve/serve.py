"""memoryless serve: the page in the browser, and HTTP for programs."""

from __future__ import annotations

import ipaddress
import os
import socket
import webbrowser
from dataclasses import replace
from pathlib import Path

from memoryless.errors import ConfigError, cause
from memoryless.output import say

TOKEN = "MEMORYLESS_TOKEN"
PORTS = 50  # that are tried to find a free one
LAST_PORT = 65535


def serve(
    model: Path,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    read_only: bool = False,
    open: bool = False,
    image_size: int | None = None,
    token_file: Path | None = None,
    allow_host: tuple[str, ...] = (),
    max_bytes: int | None = None,
    max_pixels: int | None = None,
    max_files: int | None = None,
    max_classes: int | None = None,
    max_seconds: int | None = None,
    max_requests: int | None = None,
) -> None:
    """Teach and ask a model in the browser, or over HTTP. Creates MODEL if it does not exist.

    Photos are read in memory, learned and dropped: none is ever written. Ctrl-C finishes the
    requests under way and stops.

    Parameters
    ----------
    model
        File of the model; a name without a suffix gets .memoryless.
    host
        Address to listen on. Any other than this machine's own needs a token.
    port
        Port to listen on.
    read_only
        Answer questions and change nothing.
    open
        Open the page in a browser.
    image_size
        Side in pixels of the images that a new model's network reads, 224 by default.
    token_file
        File with the token that requests must bring; or set MEMORYLESS_TOKEN.
    allow_host
        Name under which the server is reached, such as that of a proxy; may be repeated.
    max_bytes
        Bytes of one request, 64 million by default.
    max_pixels
        Pixels of one photo, 89 million by default.
    max_files
        Photos in one request, 1,000 by default.
    max_classes
        Classes in one request or lesson, 1,000 by default.
    max_seconds
        Seconds until a request is answered, 120 by default.
    max_requests
        Requests under way at once, 64 by default.
    """
    import uvicorn

    from memoryless.serve.app import make_app
    from memoryless.serve.limits import Limits
    from memoryless.serve.teacher import Teacher

    token = read_token(token_file)
    check_host(host, token)
    given = {
        "bytes": max_bytes, "pixels": max_pixels, "files": max_files, "classes": max_classes,
        "seconds": max_seconds, "requests": max_requests,
    }  # fmt: skip
    limits = replace(Limits(), **{k: v for k, v in given.items() if v is not None})
    listener = listen(host, port)
    try:
        teacher = Teacher(model, limits)
        teacher.open(image_size, read_only)
        app = make_app(teacher, limits, (host, *allow_host), token, read_only)
        address = address_of(host, listener.getsockname()[1])
        say(f"{teacher.path.name} is at {address} (Ctrl-C stops)")
        if open:
            webbrowser.open(address)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,  # it would name who asked for what
                server_header=False,
                timeout_graceful_shutdown=limits.seconds,
            )
        )
        try:
            server.run([listener])
        except KeyboardInterrupt:  # which uvicorn raises again once it has stopped
            say("stopped: the requests under way were finished")
    finally:
        listener.close()


def read_token(file: Path | None) -> str | None:
    """Return the token in a file or in the environment, if there is one."""
    if file is None:
        token = os.environ.get(TOKEN)
        where = TOKEN
    else:
        where = str(file)
        try:
            token = file.read_text().strip()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the token file {file} cannot be read ({cause(error)}): name another `token_file`"
            ) from error
    if token is not None and (not token or not token.isascii() or not token.isprintable()):
        raise ConfigError(
            f"{where} holds no token: write one line of ASCII, such as 16 random letters"
        )
    return token


def check_host(host: str, token: str | None) -> None:
    """Raise if others could reach the server without a token."""
    if token is None and not is_loopback(host):
        raise ConfigError(
            f"others can reach `host={host}`: give a `token_file`, or set {TOKEN}; or leave it out"
        )


def is_loopback(host: str) -> bool:
    """Return whether an address is this machine's own.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise if the port is taken, and name the next free one."""
    if not 0 <= port <= LAST_PORT:
        raise ConfigError(f"`port={port}` is no port: choose 1 to {LAST_PORT}")
    try:
        return _bound(host, port)
    except socket.gaierror as error:
        raise ConfigError(f"unknown `host={host}` ({cause(error)}): choose another") from error
    except OSError as error:
        free = _next_free(host, port + 1)
        fix = f"choose `port={free}`, which is free" if free else "choose another `port`"
        raise ConfigError(f"port {port} cannot be used ({cause(error)}): {fix}") from error


def _bound(host: str, port: int) -> socket.socket:
    kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(kind)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener


def _next_free(host: str, first: int) -> int | None:
    for port in range(first, min(first + PORTS, LAST_PORT + 1)):
        try:
            _bound(host, port).close()
        except OSError:
            continue
        return port
    return None


def address_of(host: str, port: int) -> str:
    """Return the address of the page.

    >>> address_of("::1", 8000), address_of("0.0.0.0", 80)
    ('http://[::1]:8000/', 'http://127.0.0.1:80/')
    """
    name = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"

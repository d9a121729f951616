"""Who may ask what: host, origin, token, the header of writes, and how much at once.

It stands around the whole application, so that nothing of a refused request is read or parsed.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryless.errors import MemorylessError
from memoryless.names import size
from memoryless.serve.limits import Limits
from memoryless.serve.refusals import Refusal

WRITES = ("POST", "PUT", "PATCH", "DELETE")
ONLY_ASK = ("/predict", "/evaluate")
"""Addresses that are posted to and change nothing."""
HEALTH = ("/health/live", "/health/ready")
UPLOADS_MODEL = "/merge"
POLICY = (
    "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MISTAKE = "the server made a mistake: report it, with its log"
BUSY = "the server has as many requests as it can hold: try again in a second"
TOO_SLOW = "the request took more than {} seconds: send fewer photos at once"
log = logging.getLogger("memoryless.serve")


class Guard:
    """An ASGI middleware that refuses requests, each by one sentence."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        is_public: Callable[[str], bool],
        hosts: Sequence[str] = (),
        token: str | None = None,
        read_only: bool = False,
    ):
        self.app, self.limits, self.is_public = app, limits, is_public
        self.hosts = {host.lower().strip("[]") for host in hosts} | {"localhost"}
        self.token, self.read_only = token, read_only
        self.requests = self.memory = 0  # under way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Exchange(self, scope, receive, send).run()

    def check(self, scope: Scope) -> None:
        """Raise unless the request may be read."""
        headers, path = Headers(scope=scope), scope["path"]
        self._check_place(headers)
        if path in HEALTH or self.is_public(path):
            return
        self._check_token(headers)
        if scope["method"] in WRITES and path not in ONLY_ASK:
            if self.read_only and not _is_lesson(path):
                raise Refusal(403, "the server was started with --read-only: nothing can be taught")
            if headers.get("x-memoryless") != "1":
                raise Refusal(403, "a change needs the header X-Memoryless: 1, add it")
        if self.requests >= self.limits.requests:
            raise Refusal(503, BUSY, Retry_After="1")
        self._check_length(headers, path)

    def _check_place(self, headers: Headers) -> None:
        """Raise unless host and origin are ours, whatever names lead to our address."""
        host = headers.get("host", "")
        if not self._is_ours(_host_of(f"//{host}")):
            raise Refusal(421, "the Host header names another server: start with --allow-host NAME")
        origin = headers.get("origin")
        if origin is None:
            return
        name = _host_of(origin)  # of a proxy; an address has one server on each port
        named = name in self.hosts - {"localhost"} and not _is_number(name)
        if not named and origin.partition("://")[2].lower() != host.lower():
            raise Refusal(403, "the page comes from another server: start with --allow-host NAME")

    def _is_ours(self, name: str) -> bool:
        return name in self.hosts or _is_number(name)  # nobody's DNS answers for a number

    def _check_token(self, headers: Headers) -> None:
        if self.token is None:
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.token.encode())
        if kind.lower() != "bearer" or not same:
            raise Refusal(
                401,
                "the token is missing or wrong: send it as Authorization: Bearer TOKEN",
                WWW_Authenticate="Bearer",
            )

    def _check_length(self, headers: Headers, path: str) -> None:
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise Refusal(400, "Content-Length is no number: leave it out or correct it")
        if int(length) > self.most(path):
            raise self.too_large(path)

    def most(self, path: str) -> int:
        """Return how many bytes a request to an address may have."""
        return self.limits.model_bytes if path == UPLOADS_MODEL else self.limits.bytes

    def too_large(self, path: str) -> Refusal:
        """Return the refusal of a body that is too large."""
        fix = "merge it by memoryless merge" if path == UPLOADS_MODEL else "send fewer at once"
        return Refusal(413, f"the request has more than {size(self.most(path))}: {fix}")


class _Exchange:
    """One request, its bytes counted while they come, and its answer."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send):
        self.guard, self.scope, self.ask, self.give = guard, scope, receive, send
        self.bytes, self.answered = 0, False

    async def run(self) -> None:
        guard = self.guard
        try:
            guard.check(self.scope)
        except Refusal as refusal:
            await self._refuse(refusal)
            return
        guard.requests += 1
        try:
            async with asyncio.timeout(guard.limits.seconds) as self.deadline:
                self.scope["deadline"] = self.deadline
                await guard.app(self.scope, self._receive, self._send)
        except TimeoutError:
            await self._refuse(Refusal(503, TOO_SLOW.format(guard.limits.seconds)))
        except Refusal as refusal:
            await self._refuse(refusal)
        except MemorylessError as error:
            await self._refuse(Refusal.of(error))
        except Exception as error:
            log.error("%s in %s", type(error).__name__, _place_of(error))  # names stay out of logs
        finally:
            guard.requests -= 1
            guard.memory -= self.bytes

    async def _receive(self) -> Message:
        message = await self.ask()
        taken = len(message.get("body", b""))
        self.bytes += taken
        self.guard.memory += taken
        if self.bytes > self.guard.most(self.scope["path"]):
            raise self.guard.too_large(self.scope["path"])
        # One body alone always has room.
        if self.guard.memory > max(self.guard.limits.memory, self.bytes):
            raise Refusal(503, BUSY, Retry_After="1")
        return message

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answered = True
            self.deadline.reschedule(None)  # a slow download is no fault of ours
            headers = MutableHeaders(scope=message)
            for name, value in ALWAYS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await self.give(message)

    async def _refuse(self, refusal: Refusal) -> None:
        if self.answered:
            raise RuntimeError("an answer broke off") from refusal
        response = refusal.response()
        for name, value in ALWAYS.items():
            response.headers[name] = value
        response.headers["Cache-Control"] = "no-store"
        await response(self.scope, self.ask, self.give)


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def _is_lesson(path: str) -> bool:
    """Return whether an address changes only a lesson, so that the model stays as it is."""
    return path.startswith("/lessons") and not path.endswith("/learn")


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _place_of(error: BaseException) -> str:
    """Return the module and line that raised an error."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = trace.tb_frame.f_globals.get("__name__") if trace else None
    return f"{where}:{trace.tb_lineno}" if trace else "nowhere"

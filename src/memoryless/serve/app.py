"""Addresses of a server: each reads its request, asks the teacher, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

import memoryless.pages
from memoryless.errors import MemorylessError
from memoryless.images.read import UnreadableError
from memoryless.serve import schemas
from memoryless.serve.guard import HEALTH, MISTAKE, Guard
from memoryless.serve.lessons import Entry, Lesson, Lessons
from memoryless.serve.limits import Limits
from memoryless.serve.pool import Pool
from memoryless.serve.refusals import Refusal
from memoryless.serve.teacher import DRAWN, SHOWN, Teacher, check_label, drawing, drawings
from memoryless.serve.uploads import RAW, Form, read_form, read_json, read_photos

T = TypeVar("T")
PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
NOTICED = 0.4  # seconds between two looks at the file
BATCH = 32  # drawings that are embedded before others have their turn
SAME = ("refuse", "join")


class Server:
    """What all requests share."""

    def __init__(self, teacher: Teacher, limits: Limits):
        self.teacher, self.limits = teacher, limits
        self.lessons, self.pool = Lessons(limits), Pool()

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncIterator[None]:
        """Notice changes of the file while the server runs."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            self.pool.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(NOTICED)
            self.lessons.drop_old()
            await asyncio.to_thread(self.teacher.refresh)

    async def change(self, request: Request, work: Callable[..., T], *arguments: Any) -> T:
        """Return what a change of the model gives, which predictions then see; it is not broken
        off half-way.
        """
        request.scope["deadline"].reschedule(None)

        def changed() -> T:
            try:
                return work(*arguments)
            finally:
                self.teacher.refresh()

        return await asyncio.shield(self.pool.teach(changed))

    async def embed(self, form: Form) -> tuple[list[Entry | None], dict[int, str]]:
        """Return photos with their features and classes, and by number why others are broken."""
        names = {name: check_label(name) for name in {*form.labels()}}
        current = self.teacher.current
        if not current.model.fixed:
            raise Refusal(422, TRAINED)
        found = await self.pool.map(partial(self.teacher.embed, current), form.files)
        entries: list[Entry | None] = []
        broken = {}
        for i, (one, label) in enumerate(zip(found, form.labels(), strict=True)):
            if isinstance(one, UnreadableError):
                broken[i] = one.why
                entries.append(None)
            else:
                entries.append(Entry(names[label], *one))
        return entries, broken

    def opened(self, name: str) -> Lesson:
        """Return a lesson whose features are those of the model as it is now."""
        lesson = self.lessons.get(name)
        if lesson.backbone != self.teacher.current.backbone:
            raise Refusal(409, "the file holds another model now: open another lesson")
        return lesson


def server_of(request: Request) -> Server:
    """Return what all requests share."""
    server: Server = request.app.state.server
    return server


def check_some(entries: Collection[object], broken: dict[int, str]) -> None:
    """Refuse a request of which no photo can be used."""
    if not entries:
        why = next(iter(broken.values()), "none was sent")
        raise Refusal(422, f"no photo can be read ({why}): send others")


def listed(broken: dict[int, str]) -> list[dict[str, Any]]:
    """Return broken photos as answers list them."""
    return [{"place": place, "why": why} for place, why in broken.items()]


TRAINED = (
    "this model trains its network, which no server does: teach it by memoryless learn and "
    "measure it by memoryless evaluate, and ask it here"
)
router = APIRouter()
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Failure}
    for status in (400, 401, 403, 404, 409, 413, 415, 421, 422, 429, 500, 503)
}


def post(path: str, model: Any, body: str = "", method: str = "POST") -> Callable[..., Any]:
    """List a function under an address, with the schemas of its body and of its answer."""
    extra = {"requestBody": {"content": schemas.BODIES[body], "required": True}} if body else {}
    return router.api_route(
        path, methods=[method], response_model=model, responses=FAILURES, openapi_extra=extra
    )


def get(path: str, **settings: Any) -> Callable[..., Any]:
    """List a function under an address that is read."""
    return router.get(path, responses=FAILURES, **settings)


@post("/predict", schemas.Answers, "predict")
async def predict(request: Request, top_k: Annotated[int, Query(ge=1, le=10_000)] = 3) -> Response:
    """Name the class of each photo, or answer that none fits."""
    server = server_of(request)
    server.teacher.check_taught()
    form = await read_photos(request, server.limits)
    current = server.teacher.current
    answer = partial(server.teacher.answer, current, min(top_k, len(current.model.classes)))
    return JSONResponse({"results": await server.pool.map(answer, form.files)})


@post("/learn", schemas.Learned, "learn")
async def learn(request: Request) -> Response:
    """Learn photos of new or known classes in one request, as one state."""
    server = server_of(request)
    form = await read_form(request, server.limits)
    few, more = form.truth("few"), form.truth("more")
    entries, broken = await server.embed(form)
    check_some([one for one in entries if one], broken)
    lesson = Lesson("", server.teacher.current.backbone, None, 0.0)
    lesson.add(entries)
    found = await server.change(request, server.teacher.learn, lesson, few, more)
    return JSONResponse(found | {"broken": listed(broken)})


@post("/lessons", schemas.Opened)
async def open_lesson(request: Request) -> Response:
    """Open a lesson, for more photos than one request holds."""
    server, limits = server_of(request), server_of(request).limits
    await read_json(request, {})
    lesson = server.lessons.open(server.teacher.current.backbone, server.teacher.known)
    return JSONResponse(
        {
            "lesson": lesson.id,
            "photos_at_most": limits.lesson_photos,
            "expires_after": limits.lesson_seconds,
        }
    )


@post("/lessons/{lesson}/photos", schemas.Added, "photos")
async def add_photos(request: Request, lesson: str) -> Response:
    """Add photos to a lesson: their features are kept in memory, and the photos are dropped."""
    server = server_of(request)
    server.opened(lesson)
    form = await read_form(request, server.limits)
    server.lessons.check_room(server.opened(lesson), len(form.files), form.labels())
    entries, broken = await server.embed(form)
    return _added(server, lesson, entries, broken)


def _added(
    server: Server, name: str, entries: Sequence[Entry | None], broken: dict[int, str]
) -> Response:
    lesson = server.opened(name)  # meanwhile others may have come, or it was learned
    server.lessons.check_room(lesson, len(entries), [one.label for one in entries if one])
    places = lesson.add(entries)
    failed = listed({places[i]: why for i, why in broken.items()})
    return JSONResponse({"places": places, "broken": failed, "photos": len(lesson.entries)})


@post("/lessons/{lesson}/samples", schemas.Added)
async def add_samples(request: Request, lesson: str) -> Response:
    """Add embedded drawings of ten classes to a lesson, to try the server without photos."""
    server = server_of(request)
    server.opened(lesson)
    await read_json(request, {})
    drawn = await server.pool.run(lambda: list(drawings()))
    entries: list[Entry | None] = []
    for i in range(0, len(drawn), BATCH):
        names, files = zip(*drawn[i : i + BATCH], strict=True)
        found, _ = await server.embed(Form(files, {"class": [*names]}))
        entries += found
    return _added(server, lesson, entries, {})


@post("/lessons/{lesson}/photos", schemas.Removed, "remove", method="DELETE")
async def remove_photos(request: Request, lesson: str) -> Response:
    """Take photos out of a lesson, by their places."""
    server = server_of(request)
    given = await read_json(request, {"places": (list[int],)})
    own = server.opened(lesson)
    removed = own.remove(given["places"])
    return JSONResponse({"removed": removed, "photos": len(own.entries)})


@post("/lessons/{lesson}/check", schemas.Learned)
async def check_lesson(request: Request, lesson: str) -> Response:
    """Say what a lesson would give, and which photos may have the wrong class; nothing is saved."""
    server = server_of(request)
    await read_json(request, {})
    own = server.opened(lesson).copy()
    return JSONResponse(await server.pool.teach(server.teacher.check, own))


@post("/lessons/{lesson}/learn", schemas.Learned, "learn_lesson")
async def learn_lesson(request: Request, lesson: str) -> Response:
    """Learn a lesson as one state, and close it; if it is refused, it stays open."""
    server = server_of(request)
    given = await read_json(request, {"few": (bool, False), "more": (bool, False)})
    own = server.opened(lesson)
    own.busy = True
    try:
        learn = server.teacher.learn
        found = await server.change(request, learn, own, given["few"], given["more"])
        server.lessons.close(lesson)
    finally:
        own.busy = False
    return JSONResponse(found)


@post("/lessons/{lesson}", schemas.Removed, method="DELETE")
async def close_lesson(request: Request, lesson: str) -> Response:
    """Drop a lesson without learning it."""
    server = server_of(request)
    photos = len(server.lessons.get(lesson).entries)
    server.lessons.close(lesson)
    return JSONResponse({"removed": photos, "photos": 0})


@post("/evaluate", schemas.Evaluated, "evaluate")
async def evaluate(request: Request) -> Response:
    """Measure the model on test photos with their classes, sent here or into a lesson."""
    server = server_of(request)
    server.teacher.check_taught()
    broken: dict[int, str] = {}
    if request.headers.get("content-type", "").startswith("application/json"):
        given = await read_json(request, {"lesson": (str,)})
        entries = dict(server.opened(given["lesson"]).entries)
    else:
        found, broken = await server.embed(await read_form(request, server.limits))
        entries = {i: one for i, one in enumerate(found) if one}
    check_some(entries, broken)
    current = server.teacher.current
    done = await server.pool.run(server.teacher.evaluate, current, entries, broken)
    return JSONResponse(done)


@post("/rename", schemas.Changed, "rename")
async def rename(request: Request) -> Response:
    """Give a class another name."""
    server = server_of(request)
    given = await read_json(request, {"class": (str,), "name": (str,)})
    await server.change(request, server.teacher.rename, given["class"], given["name"])
    return JSONResponse({"state": server.teacher.current.state.number})


@post("/forget", schemas.Forgotten, "forget")
async def forget(request: Request) -> Response:
    """Forget classes for good; with `dry_run` only say what that would mean."""
    server = server_of(request)
    given = await read_json(request, {"classes": (list[str],), "dry_run": (bool, False)})
    forget, names = server.teacher.forget, given["classes"]
    return JSONResponse(await server.change(request, forget, names, given["dry_run"]))


@post("/undo", schemas.Changed, "undo")
async def undo(request: Request) -> Response:
    """Go back to the state before, or to another kept one, `to`."""
    server = server_of(request)
    given = await read_json(request, {"to": (int, None)})
    return JSONResponse(await server.change(request, server.teacher.undo, given["to"]))


@post("/merge", schemas.Changed, "merge")
async def merge(request: Request) -> Response:
    """Merge another model into this one, as one state that undo takes back."""
    server = server_of(request)
    form = await read_form(request, server.limits, "model")
    same = form.fields.get("same_class", ["refuse"])[-1]
    if same not in SAME or len(form.files) > 1:
        raise Refusal(422, "send one model, and same_class as refuse or join")
    (upload,) = form.files
    return JSONResponse(await server.change(request, server.teacher.merge, upload, same))


@get("/model", response_model=schemas.Overview)
async def model(request: Request) -> Response:
    """Show the classes and states of the model, and what it keeps."""
    server = server_of(request)
    found = await asyncio.to_thread(server.teacher.overview)
    return JSONResponse(found | {"read_only": request.app.state.read_only})


@get("/model.memoryless", response_class=Response)
async def model_file(request: Request, history: bool = False) -> Response:
    """Download the model in its current state, or with all kept states."""
    server = server_of(request)
    content = await asyncio.to_thread(server.teacher.copy, history)
    return _download(content, "application/vnd.sqlite3", server.teacher.path.name)


@get("/model.onnx", response_class=Response)
async def onnx_file(request: Request) -> Response:
    """Download the model as one ONNX file for other programs."""
    server = server_of(request)
    content = await server.pool.run(server.teacher.onnx)
    return _download(content, RAW, f"{server.teacher.path.stem}.onnx")


def _download(content: bytes, kind: str, name: str) -> Response:
    safe = "".join(
        sign if (sign.isascii() and sign.isalnum()) or sign in "._-" else "_" for sign in name
    )
    disposition = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return Response(content, media_type=kind, headers=disposition)


@get(HEALTH[0], response_model=schemas.Healthy)
async def live() -> Response:
    """Say that the server runs."""
    return JSONResponse({"status": "ok"})


@get(HEALTH[1], response_model=schemas.Healthy)
async def ready(request: Request) -> Response:
    """Say whether the model's file can be read."""
    if problem := server_of(request).teacher.problem:
        raise Refusal(503, problem, Retry_After="1")
    return JSONResponse({"status": "ok"})


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Return the page's own files by their addresses; they hold nothing of the model."""
    files = {f"/page/{path.name}": path for path in PAGE.iterdir() if path.suffix in TYPES}
    files["/page/style.css"] = Path(memoryless.pages.__file__).with_name("style.css")
    files["/"] = PAGE / "index.html"
    return {name: (path.read_bytes(), TYPES[path.suffix]) for name, path in files.items()}


SAMPLES = {f"/samples/{i}.png": i for i in range(DRAWN * SHOWN)}


def is_public(path: str) -> bool:
    """Return whether an address holds nothing of the model."""
    return path in page_files() or path in SAMPLES


async def page_file(request: Request) -> Response:
    """Return a file of the page, or an embedded drawing."""
    path = request.url.path
    if path in SAMPLES:
        content = await asyncio.to_thread(drawing, SAMPLES[path])
        return Response(content, media_type="image/png")
    content, kind = page_files()[path]
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


def make_app(
    teacher: Teacher,
    limits: Limits | None = None,
    hosts: Sequence[str] = (),
    token: str | None = None,
    read_only: bool = False,
) -> Guard:
    """Return the application over an open model."""
    limits = limits or teacher.limits
    server = Server(teacher, limits)
    app = FastAPI(
        title="memoryless",
        version=version("memoryless"),
        description="A model that learns from photos that it never stores.",
        docs_url=None,
        redoc_url=None,
        lifespan=server.running,
    )
    app.state.server, app.state.read_only = server, read_only
    app.include_router(router)
    for path in (*page_files(), *SAMPLES):
        app.add_route(path, page_file, include_in_schema=False)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(MemorylessError, _failed)
    app.add_exception_handler(HTTPException, _not_found)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _mistaken)
    _describe(app)
    return Guard(app, limits, is_public, hosts, token, read_only)


async def _refused(request: Request, error: Any) -> Response:
    response: Response = error.response()
    return response


async def _failed(request: Request, error: Any) -> Response:
    refusal, path = Refusal.of(error), server_of(request).teacher.path
    refusal.sentence = refusal.sentence.replace(str(path), path.name)  # folders may name a person
    return refusal.response()


async def _mistaken(request: Request, error: Any) -> Response:
    return Refusal(500, MISTAKE).response()


async def _not_found(request: Request, error: Any) -> Response:
    fix = {405: "this address takes another method", 404: "this address does not exist"}
    sentence = fix.get(error.status_code, str(error.detail))
    return Refusal(error.status_code, f"{sentence}: see /openapi.json").response()


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:])
    return Refusal(
        422, f"{name}: {first['msg'][:1].lower()}{first['msg'][1:]}: correct it"
    ).response()


def _describe(app: FastAPI) -> None:
    """Add to the OpenAPI document what the guard asks of every request."""
    document = app.openapi()
    bearer = {"type": "http", "scheme": "bearer"}
    document["components"]["securitySchemes"] = {"token": bearer}
    document["security"] = [{"token": []}, {}]
    header = {"name": "X-Memoryless", "in": "header", "required": True,
              "schema": {"type": "string", "enum": ["1"]}}  # fmt: skip
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "get" and path not in ("/predict", "/evaluate"):
                operation.setdefault("parameters", []).append(header)
    app.openapi_schema = document

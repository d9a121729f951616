"""The command: address, port, token, Ctrl-C, and that no photo stays."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from conftest import call
from memoryless.model.file import load_state
from pages import blocks, text_of
from remains import files_of, windows, windows_of_one
from servers import WRITES, empty_model, free, images, running, served, teach


def test_it_starts_answers_and_stops(model):
    with running(model) as (process, base):
        assert httpx.get(f"{base}/health/ready").status_code == 200
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert said == "stopped: the requests under way were finished\n"


def test_requests_under_way_are_finished(model, photos):
    with running(model) as (process, base):
        files, found = images(photos / "owl") * 30, []

        def ask() -> None:
            found.append(httpx.post(f"{base}/predict", files=files, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.25)
        process.send_signal(signal.SIGINT)
        thread.join()
        process.communicate(timeout=20)
    assert len(found[0].json()["results"]) == 360


def test_a_port_that_is_taken(model, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = call("serve", str(model), "--port", str(port), capsys=capsys)
    assert code == 2
    found = re.match(
        rf"memoryless: port {port} cannot be used \(Address already in use\): "
        r"choose --port (\d+), which is free\n",
        err,
    )
    assert found
    assert port < int(found[1]) <= port + 50


def test_a_new_model_whose_page_is_opened(tmp_path, capsys, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    flags = ["--open", "--image-size", "32", "--port", str(free()), "--allow-host", "birds.example"]
    code, *said = call("serve", str(tmp_path / "new"), *flags, capsys=capsys)
    assert code == 0, said
    assert opened == re.findall(r"new\.memoryless is at (\S+)", "".join(said))
    assert load_state(tmp_path / "new.memoryless").description.preparation.size == 32


def test_without_the_extra_it_says_what_to_install(model, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = call("serve", str(model), capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: this needs uvicorn, which is not installed: pip install 'memoryless[serve]'\n"
    )


def test_another_host_needs_a_token(model, capsys, monkeypatch):
    monkeypatch.delenv("MEMORYLESS_TOKEN", raising=False)
    code, _, err = call("serve", str(model), "--host", "0.0.0.0", capsys=capsys)
    assert code == 2
    assert "others can reach --host 0.0.0.0: give a --token-file, or set MEMORYLESS_TOKEN" in err


@pytest.mark.parametrize("content", ["", "\n", "two\nlines", "schlüssel"])
def test_tokens_that_are_none(content, model, tmp_path, capsys):
    file = tmp_path / "token"
    file.write_text(content)
    code, _, err = call("serve", str(model), "--token-file", str(file), capsys=capsys)
    assert (code, "holds no token: write one line of ASCII" in err) == (2, True)


def test_a_token_from_the_environment(model):
    with running(model, MEMORYLESS_TOKEN="sesame") as (_, base):
        assert httpx.get(f"{base}/model").status_code == 401
        bearer = {"Authorization": "Bearer sesame"}
        assert httpx.get(f"{base}/model", headers=bearer).status_code == 200


WATCHED = """
import os, sys
def watch(event, values):
    if event == "open" and values[2] and values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        print("opens", values[0], file=sys.stderr, flush=True)
sys.addaudithook(watch)
from memoryless.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_no_photo_touches_the_disk(tmp_path, model, photos):
    """None is found in a file afterwards, and Python opens no file for writing meanwhile; SQLite
    opens the model itself.
    """
    environment = {"PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        environment[name] = str(tmp_path / name)
        (tmp_path / name).mkdir()
    with running(model, code=WATCHED, **environment) as (process, base):
        with httpx.Client(base_url=base, headers=WRITES, timeout=60) as client:
            teach(client, photos, ["cat", "dog"])
            client.post("/predict", files=images(photos / "owl"))
            client.post("/predict", files={"images": bytes(5_000_000)})
            found = files_of(tmp_path)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    opened = re.findall("^opens (.*)$", said, flags=re.M)
    assert {*opened} <= {os.devnull}
    assert {path.name for path in found} == {"zoo.memoryless"}
    sent = [path for name in ("cat", "dog", "owl") for path in (photos / name).iterdir()]
    only_one = windows_of_one([path.read_bytes() for path in sent])
    assert len(only_one) > 1000
    for path, content in found.items():
        assert not windows(content) & only_one, path


def test_the_watch_would_notice_a_file(tmp_path):
    code = f"{WATCHED.partition('from memoryless')[0]}open({str(tmp_path / 'x')!r}, 'w').close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == f"opens {tmp_path / 'x'}\n"


@pytest.mark.parametrize(
    "after", [0.0, *(pytest.param(0.01 * i, marks=pytest.mark.kills) for i in range(1, 11))]
)
def test_kill_9_while_teaching_leaves_the_state_before_or_after(after, model, photos):
    before = load_state(model)
    with running(model) as (process, base):

        def teach_on() -> None:
            with httpx.Client(base_url=base, headers=WRITES, timeout=60) as client:
                for _ in range(50):
                    files = images(photos / "elk", photos / "owl")
                    labels = ["elk"] * 12 + ["owl"] * 12
                    client.post("/learn", files=files, data={"class": labels, "more": "true"})

        thread = threading.Thread(target=swallow(teach_on))
        thread.start()
        time.sleep(0.3 + after)
        process.kill()
        thread.join()
    now = load_state(model)
    brought = (sum(now.classes.counts) - sum(before.classes.counts)) / 24
    assert brought == now.number - before.number  # whole calls alone
    with running(model) as (_, base):
        (one,) = httpx.post(f"{base}/predict", files=images(photos / "owl")[:1]).json()["results"]
        assert one["top"][0]["label"] == "owl"


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_page_of_the_documentation(model, photos, tmp_path, tiny_backbone):
    """Every call of curl works as it is written, and the client in Python too."""
    with served(empty_model(tmp_path / "north.memoryless", tiny_backbone)) as client:
        teach(client, photos, ["dog", "cat"])
    files = ["a.jpg", "b.jpg", *(f"{i}.jpg" for i in range(1, 5))]
    for i, name in enumerate(files):
        (tmp_path / name).write_bytes((photos / "cat" / f"{i}.png").read_bytes())
    _, *calls, _ = blocks("docs/serve.md", "sh")  # neither the installation nor the container
    script = "".join(calls)
    with running(model) as (_, base):
        httpx.post(f"{base}/rename", json={"class": "owl", "name": "fox"}, headers=WRITES)
        script = script.replace("http://127.0.0.1:8000", base).replace("curl ", "command curl -sS ")
        command = ["bash", "-e", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        (client_code,) = blocks("docs/serve.md", "python")
        line = [sys.executable, "-c", client_code.replace("http://127.0.0.1:8000", base), "a.jpg"]
        said = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r'"error":"[^"]*"', done.stdout) == []
    names = load_state(tmp_path / "zoo.memoryless").classes.names
    assert names == ("elk", "fox", "owl", "hawk", "cat", "dog")
    assert (tmp_path / "model.onnx").stat().st_size > 1000
    assert re.fullmatch(r"a\.jpg known (cat|hawk)\n", said)
    assert set(re.findall(r"`(/[^`]*)`", text_of("docs/serve.md"))) == {"/openapi.json"}


def swallow(work):
    def quiet() -> None:
        try:
            work()
        except httpx.HTTPError:
            return  # it was killed

    return quiet

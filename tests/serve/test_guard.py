"""Who may ask: hosts, origins, tokens, the header of writes; floods; what every answer says."""

from __future__ import annotations

import concurrent.futures
import http.client
import logging
import socket
import time
from pathlib import Path

import httpx
import pytest

from memoryless.serve.guard import POLICY
from memoryless.serve.limits import Limits
from memoryless.serve.teacher import Teacher
from photo_toys import make_colours
from servers import address, images, served, teach

TOKEN = "correct horse battery"


def status(client: httpx.Client, path: str = "/model", **headers: str) -> int:
    return client.get(path, headers=headers).status_code


def test_our_hosts(model):
    with served(model, hosts=["birds.example.org"]) as client:
        for host in ("localhost", "127.0.0.1:80", "[::1]:8000", "birds.example.org"):
            assert status(client, host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[", "a@b"])
def test_other_hosts_are_refused(host, patient):
    """A stranger's page whose name leads to this machine (DNS rebinding) gets nothing."""
    refused = patient.get("/model", headers={"host": host})
    assert refused.status_code == 421
    assert refused.json() == {
        "error": "the Host header names another server: start with --allow-host NAME"
    }


def test_origins(model):
    with served(model, hosts=["127.0.0.1", "birds.example.org"]) as client:
        own = str(client.base_url)
        for origin, expected in {
            own: 200,
            "https://birds.example.org": 200,
            "https://evil.example": 403,
            "http://localhost:3000": 403,
            "http://127.0.0.1:3000": 403,
            "null": 403,
            "http://[": 403,
        }.items():
            assert status(client, origin=origin) == expected, origin
            assert status(client, "/page/icon.svg", origin=origin) == expected, origin


def test_a_token_is_needed_for_all_but_health_and_the_page(model):
    with served(model, token=TOKEN) as client:
        for path in ("/model", "/model.onnx", "/openapi.json", "/nothing"):
            refused = client.get(path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
        for path in ("/", "/page/style.css", "/samples/0.png", "/health/live", "/health/ready"):
            assert status(client, path) == 200
        for wrong in ("Bearer nonsense", f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x"):
            assert status(client, authorization=wrong) == 401
        assert status(client, authorization=f"Bearer {TOKEN}") == 200


def test_static_files_hold_nothing_of_the_model(patient):
    for path in ("/", "/page/style.css"):
        content = patient.get(path).text
        assert "elk" not in content
        assert "patient" not in content


def test_changes_need_the_header(patient, photos):
    plain = {"X-Memoryless": "0"}
    assert patient.post("/undo", headers=plain).status_code == 403
    assert patient.delete("/lessons/x", headers=plain).status_code == 403
    asked = patient.post("/predict", files=images(photos / "owl")[:1], headers=plain)
    assert asked.status_code == 200


def test_every_answer_has_the_policy(patient):
    for path in ("/", "/model", "/nothing", "/health/live", "/page/style.css"):
        answer = patient.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
    assert patient.get("/model", headers={"host": "x"}).headers["content-security-policy"] == POLICY


def test_a_large_body_is_refused_before_it_is_read(model):
    with address(model, Limits(bytes=1000)) as base:
        connection = http.client.HTTPConnection(base.removeprefix("http://"))
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Length", "1001")
        connection.endheaders()  # and no body
        answer = connection.getresponse()
        assert answer.status == 413
        connection.close()


def test_a_body_without_a_length_is_counted_while_it_comes(model):
    with served(model, Limits(bytes=1000)) as client:
        kind = {"content-type": "image/png"}
        short = client.post("/predict", content=iter([bytes(400)] * 2), headers=kind)
        assert short.status_code == 200
        long = client.post("/predict", content=iter([bytes(400)] * 3), headers=kind)
        assert long.status_code == 413
        assert "more than 1,000 bytes" in long.json()["error"].replace("1.0 kB", "1,000 bytes")


@pytest.mark.parametrize("length", ["-1", "1e3", "x"])
def test_a_length_that_is_no_number(length, model):
    with address(model) as base, socket.create_connection(_place(base)) as connection:
        connection.sendall(
            f"POST /undo HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


def _place(base: str) -> tuple[str, int]:
    host, _, port = base.removeprefix("http://").partition(":")
    return host, int(port)


def test_a_slow_request_ends(model):
    with address(model, Limits(seconds=1)) as base:
        connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=10)
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Length", "10")
        connection.putheader("Content-Type", "image/png")
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == 503
        assert b"more than 1 seconds: send fewer photos" in answer.read()
        connection.close()


def test_a_flood_is_asked_to_come_back(model, photos, monkeypatch):
    """Nothing is lost: who is let in gets an answer, the others one sentence at once."""
    answer = Teacher.answer

    def slowly(*arguments):
        time.sleep(0.3)
        return answer(*arguments)

    monkeypatch.setattr(Teacher, "answer", slowly)
    with (
        served(model, Limits(requests=4)) as client,
        concurrent.futures.ThreadPoolExecutor(12) as pool,
    ):
        file = images(photos / "owl")[:1]
        sent = [pool.submit(client.post, "/predict", files=file) for _ in range(12)]
        found = [one.result() for one in sent]
        codes = sorted(one.status_code for one in found)
        assert codes == [200] * 4 + [503] * 8
        (busy, *_) = (one for one in found if one.status_code == 503)
        assert busy.headers["retry-after"] == "1"
        assert "as many requests as it can hold" in busy.json()["error"]
        assert client.post("/predict", files=file).status_code == 200  # all are counted off


def test_bodies_together_are_bounded(model):
    """One body alone has room, however small the limit is."""
    with served(model, Limits(memory=1)) as client:
        body = {"content": b"no photo", "headers": {"content-type": "image/png"}}
        assert client.post("/predict", **body).status_code == 200


def test_a_mistake_of_ours_is_a_sentence_and_names_nothing_in_the_log(
    model, photos, monkeypatch, caplog
):
    def fail(*_):
        raise RuntimeError("Grandmother.jpg")

    monkeypatch.setattr(Teacher, "answer", fail)
    with caplog.at_level(logging.DEBUG), served(model) as client:
        failed = client.post("/predict", files=images(photos / "owl")[:1])
    assert failed.status_code == 500
    assert failed.json() == {"error": "the server made a mistake: report it, with its log"}
    assert "RuntimeError in serve.test_guard:" in caplog.text.replace("tests.", "")
    assert "Grandmother" not in caplog.text


def test_logs_hold_no_name(tmp_path, model, caplog, capfd):
    secret = make_colours(tmp_path / "photos", "Geheimnisvoll", number=20)
    for path in sorted((secret / "Geheimnisvoll").iterdir()):
        path.rename(path.with_name(f"Grossmutter-{path.name}"))
    with caplog.at_level(logging.DEBUG, "uvicorn"), served(model) as client:
        teach(client, secret, ["Geheimnisvoll"])
        client.post("/rename", json={"class": "Geheimnisvoll", "name": ""})
        client.post("/predict", files=images(secret / "Geheimnisvoll")[:1])
    said = caplog.text + "".join(capfd.readouterr())
    assert "Geheimnisvoll" not in said
    assert "Grossmutter" not in said


def test_the_multipart_spool_is_larger_than_any_file(model, monkeypatch, tmp_path):
    """No upload is ever rolled over to the disk: there would be no folder for it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with served(model) as client:
        large = client.post("/predict", files={"images": bytes(5_000_000)})
        assert large.json()["results"][0]["answer"] == "broken"
    assert Path(tmp_path / "nowhere").exists() is False

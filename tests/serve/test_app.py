"""Every address: what it answers, and the sentence for what it cannot."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time

import httpx
import numpy as np
import pytest
from PIL import Image

from memoryless.cli import main
from memoryless.model import Model
from memoryless.model.file import kept_states, load_state, state_of_bytes, writing
from memoryless.photos.predict import predict
from memoryless.serve import teacher
from memoryless.serve.limits import Limits
from photo_toys import make_colours
from servers import empty_model, images, served, teach


def sentence(answer: httpx.Response, status: int) -> str:
    """The one sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    (error,) = answer.json().values()
    assert len(error.splitlines()) == 1
    return error


def classes(client: httpx.Client) -> dict[str, int]:
    return {row["class"]: row["photos"] for row in client.get("/model").json()["classes"]}


def test_answers_are_those_of_the_command(patient, model, photos, capsys):
    found = patient.post("/predict?top_k=2", files=images(photos / "elk", photos / "cat"))
    paths = [str(path) for name in ("elk", "cat") for path in sorted((photos / name).iterdir())]
    predict(model, *paths, top=2, json=True)
    printed = json.loads(capsys.readouterr().out)
    for one, other in zip(found.json()["results"], printed, strict=True):
        assert [top["label"] for top in one["top"]] == [top["label"] for top in other["top"]]
        scores = [[top["score"] for top in each["top"]] for each in (one, other)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-6)
        assert one["file"] == other["file"].rpartition("/")[2]
        assert one["answer"] == other["answer"]


def test_known_unsure_and_unknown_by_the_margins(patient, model, tmp_path):
    """Both thresholds count: that of known, and that of unsure."""
    photos = make_colours(tmp_path, "elk", "owl", "cat", number=20, seed=3)
    folders = [photos / name for name in ("elk", "owl", "cat")]
    found = patient.post("/predict", files=images(*folders)).json()["results"]
    pixels = [Image.open(path) for folder in folders for path in sorted(folder.iterdir())]
    judged = Model.load(model).classify(pixels)
    expected = np.select(
        [judged.margin < 0, judged.margin < judged.sure], ["unknown", "unsure"], "known"
    )
    assert [one["answer"] for one in found] == expected.tolist()
    assert {*expected[:40]} >= {"known", "unsure"}
    assert {*expected[40:]} == {"unknown"}
    assert all(len(one["top"]) == 2 for one in found)


def test_a_model_that_trains_its_network_is_asked_but_not_taught(tmp_path, photos):
    model = Model("finetune+lda", epochs=1, width=2, batch_size=16, image_size=16)
    model.learn(
        [Image.open(path) for name in ("elk", "owl") for path in sorted((photos / name).iterdir())],
        ["elk"] * 12 + ["owl"] * 12,
    )
    model.save(tmp_path / "trained.memoryless")
    photo, cat = images(photos / "owl")[:1], {"class": "cat"}
    with served(tmp_path / "trained.memoryless") as client:
        (one,) = client.post("/predict", files=photo).json()["results"]
        own = model.predict_proba([Image.open(photos / "owl" / "0.png")])[0]
        scores = {top["label"]: top["score"] for top in one["top"]}
        assert scores == pytest.approx(
            dict(zip(model.classes, own.tolist(), strict=True)), abs=1e-5
        )
        lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
        refused = [
            client.post("/learn", files=photo, data=cat),
            client.post(f"{lesson}/photos", files=photo, data=cat),
            client.post(f"{lesson}/samples"),
            client.post("/evaluate", files=photo, data=cat),
        ]
        assert {sentence(answer, 422) for answer in refused} == {
            "this model trains its network, which no server does: teach it by memoryless learn "
            "and measure it by memoryless evaluate, and ask it here"
        }
        sentence(client.post("/forget", json={"classes": ["owl"]}), 422)
        assert client.post("/rename", json={"class": "owl", "name": "eule"}).status_code == 200
        assert classes(client) == {"elk": 12, "eule": 12}


def test_a_photo_as_it_is(patient, photos):
    content = (photos / "owl" / "0.png").read_bytes()
    found = patient.post("/predict", content=content, headers={"content-type": "image/png"}).json()
    (one,) = found["results"]
    assert (one["answer"], one["top"][0]["label"]) == ("known", "owl")


def test_a_broken_photo_does_not_spoil_the_others(patient, photos):
    files = [("images", ("notes.txt", b"dear", "text/plain")), *images(photos / "owl")[:1]]
    broken, sound = patient.post("/predict", files=files).json()["results"]
    assert broken["answer"] == "broken"
    assert broken["error"].startswith("the photo notes.txt cannot be read (not an image)")
    assert sound["top"][0]["label"] == "owl"


def test_a_lesson_from_beginning_to_end(client, photos):
    lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
    for name in ("cat", "dog"):
        added = client.post(f"{lesson}/photos", files=images(photos / name), data={"class": name})
    assert added.json() == {"places": list(range(12, 24)), "broken": [], "photos": 24}
    assert classes(client) == {"elk": 12, "owl": 12}
    before = client.post(f"{lesson}/check").json()
    assert before["state"] is None
    assert before["new"] == {"cat": 12, "dog": 12}
    assert classes(client) == {"elk": 12, "owl": 12}
    learned = client.post(f"{lesson}/learn").json()
    assert (learned["state"], learned["correct"], learned["checked"]) == (3, 24, 24)
    assert learned["photo_bytes"] == sum(
        path.stat().st_size for name in ("cat", "dog") for path in (photos / name).iterdir()
    )
    assert classes(client) == {"elk": 12, "owl": 12, "cat": 12, "dog": 12}
    assert "is not open" in sentence(client.post(f"{lesson}/learn"), 404)


def test_learning_by_parts_and_at_once_is_the_same(model, photos, tmp_path, taught):
    other = tmp_path / "other.memoryless"
    other.write_bytes(taught)
    with served(model) as client:
        teach(client, photos, ["cat", "dog"])
    with served(other) as client:
        lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
        for name in ("cat", "dog"):
            for part in (slice(0, 5), slice(5, 12)):
                files = images(photos / name)[part]
                client.post(f"{lesson}/photos", files=files, data={"class": name})
        client.post(f"{lesson}/learn")
    one, two = load_state(model), load_state(other)
    assert one.parts == two.parts


def test_a_suspicious_photo_is_named_before_it_is_learned_and_taken_out(tmp_path, tiny_backbone):
    photos = make_colours(tmp_path / "photos", "elk", "owl", "cat", number=20)
    with served(empty_model(tmp_path / "m.memoryless", tiny_backbone)) as client:
        lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
        for name in ("elk", "owl", "cat"):
            labels = [name] * 20
            labels[12] = "owl" if name == "elk" else name
            client.post(f"{lesson}/photos", files=images(photos / name), data={"class": labels})
        (suspect,) = client.post(f"{lesson}/check").json()["suspects"]
        assert (suspect["place"], suspect["class"], suspect["looks_like"]) == (12, "owl", "elk")
        removed = client.request("DELETE", f"{lesson}/photos", json={"places": [12, 77]}).json()
        assert removed == {"removed": 1, "photos": 59}
        again = client.post(f"{lesson}/photos", files=images(photos / "elk")[12:13],
                            data={"class": "elk"}).json()  # fmt: skip
        assert again["places"] == [60]
        assert client.post(f"{lesson}/check").json()["suspects"] == []


def test_one_photo_under_two_classes_is_left_out(client, photos):
    files = images(photos / "cat", photos / "dog") + images(photos / "cat")[:1]
    labels = ["cat"] * 12 + ["dog"] * 13
    done = client.post("/learn", files=files, data={"class": labels}).json()
    why = "one image under several labels"
    assert done["left_out"] == [{"place": 0, "why": why}, {"place": 24, "why": why}]
    assert done["new"] == {"cat": 11, "dog": 12}


def test_few_photos_need_a_deliberate_choice(client, photos):
    files = images(photos / "cat")[:4]
    refused = sentence(client.post("/learn", files=files, data={"class": "cat"}), 422)
    assert "needs at least 5 different photos" in refused
    assert "pass few=true and accept that the model may reveal" in refused
    done = client.post("/learn", files=files, data={"class": "cat", "few": "true"}).json()
    assert "may find out which ones were used" in done["warnings"][0]


def test_known_classes_need_more(client, photos):
    files, fields = images(photos / "owl", photos / "elk"), {"class": ["owl"] * 12 + ["elk"] * 12}
    refused = sentence(client.post("/learn", files=files, data=fields), 409)
    assert "send more=true to add these photos" in refused
    done = client.post("/learn", files=files, data=fields | {"more": "true"}).json()
    assert done["more"] == {"elk": 12, "owl": 12}
    assert classes(client) == {"elk": 24, "owl": 24}


def test_a_class_that_was_learned_meanwhile_is_asked_about_once(client, photos):
    lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
    for name in ("cat", "dog"):
        client.post(f"{lesson}/photos", files=images(photos / name), data={"class": name})
    teach(client, photos, ["cat"], few="true")
    refused = sentence(client.post(f"{lesson}/learn", json={"more": True}), 409)
    assert refused.startswith("cat was learned meanwhile")
    assert client.post(f"{lesson}/learn", json={"more": True}).json()["more"] == {"cat": 12}


def test_evaluating_photos_and_lessons(patient, photos):
    files, fields = images(photos / "elk", photos / "cat"), {"class": ["elk"] * 12 + ["owl"] * 12}
    found = patient.post("/evaluate", files=files, data=fields).json()
    right = sum(one["answer"] == one["class"] for one in found["answers"])
    assert (found["photos"], found["correct"]) == (24, right)
    assert found["top1"] == pytest.approx(right / 24)
    low, high = found["interval"]
    assert low < found["top1"] < high
    lesson = patient.post("/lessons").json()["lesson"]
    patient.post(f"/lessons/{lesson}/photos", files=files, data=fields)
    assert patient.post("/evaluate", json={"lesson": lesson}).json() == found


def test_rename_undo_forget(client):
    assert client.post("/rename", json={"class": "owl", "name": "eule"}).json() == {"state": 3}
    assert [*classes(client)] == ["elk", "eule"]
    undone = client.post("/undo").json()
    assert undone == {"state": 2, "left": 3, "no_longer_known": ["eule"]}
    assert client.post("/undo", json={"to": 3}).json()["no_longer_known"] == ["owl"]
    assert client.post("/undo", json={"to": 2}).json() == undone
    assert [*classes(client)] == ["elk", "owl"]
    would = client.post("/forget", json={"classes": ["owl"], "dry_run": True}).json()
    assert (would["left"], [*classes(client)]) == (1, ["elk", "owl"])
    done = client.post("/forget", json={"classes": ["owl"]}).json()
    assert done["photos"] == {"owl": 12}
    assert [*classes(client)] == ["elk"]
    assert "deleted all states before that" in sentence(client.post("/undo"), 422)
    assert "unknown class 'owl'" in sentence(client.post("/forget", json={"classes": ["owl"]}), 422)


def test_merging_is_one_state_that_undo_takes_back(client, model, photos, tmp_path, tiny_backbone):
    with served(empty_model(tmp_path / "b.memoryless", tiny_backbone)) as other:
        teach(other, photos, ["cat", "dog"])
        content = other.get("/model.memoryless").content
    files = {"model": ("north.memoryless", content)}
    done = client.post("/merge", files=files).json()
    assert done == {"state": 3, "classes": 4, "new": ["cat", "dog"]}
    (_, learned) = load_state(model).classes.learned
    assert learned.model == "north"
    assert "have learned the same photos of" in sentence(client.post("/merge", files=files), 422)
    client.post("/undo")
    assert [*classes(client)] == ["elk", "owl"]


def test_a_model_whose_file_has_the_same_name_is_merged(client, photos, tmp_path, tiny_backbone):
    """Two people may both call theirs zoo.memoryless."""
    with served(empty_model(tmp_path / "b.memoryless", tiny_backbone)) as other:
        teach(other, photos, ["cat", "dog"])
        content = other.get("/model.memoryless").content
    done = client.post("/merge", files={"model": ("zoo.memoryless", content)}).json()
    assert done == {"state": 3, "classes": 4, "new": ["cat", "dog"]}


def test_a_strangers_file_is_refused(patient, taught):
    for content, why in ((b"dear", "is no model"), (taught[:9000], "is damaged")):
        files = {"model": ("a.memoryless", content)}
        assert why in sentence(patient.post("/merge", files=files), 422)


def test_downloads(client, model, tmp_path):
    alone, all_states = (client.get(f"/model.memoryless{query}") for query in ("", "?history=1"))
    assert 'filename="zoo.memoryless"' in alone.headers["content-disposition"]
    assert state_of_bytes(alone.content, "zoo").classes.names == ("elk", "owl")
    file = tmp_path / "whole.memoryless"
    file.write_bytes(all_states.content)
    assert [state.number for state in kept_states(file)[0]] == [1, 2]
    assert main(["check", str(file)]) == 0
    import onnxruntime

    session = onnxruntime.InferenceSession(client.get("/model.onnx").content)
    assert session.get_inputs()[0].name == "photos"


def test_what_other_processes_commit_is_noticed(client, model):
    assert main(["rename", str(model), "owl", "eule"]) == 0
    deadline = time.monotonic() + 1
    while (label := asked(client)) != "eule" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert label == "eule"


def asked(client: httpx.Client) -> str:
    """What a photo of an owl is called now."""
    pixels = make_owl()
    (one,) = client.post("/predict", files={"images": ("a.png", pixels)}).json()["results"]
    return one["top"][0]["label"]


def make_owl() -> bytes:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return (make_colours(Path(folder), "owl", number=1) / "owl" / "0.png").read_bytes()


def test_two_servers_on_one_file(client, model, photos):
    with served(model) as other:
        teach(other, photos, ["cat", "dog"])
        with httpx.Client(base_url=client.base_url, headers=client.headers) as again:
            teach(again, photos, ["cat", "dog"], more="true")
        assert classes(other) == {"elk": 12, "owl": 12, "cat": 24, "dog": 24}


def test_a_second_writer_gets_409(client, model, photos):
    with writing(model):
        busy = client.post("/rename", json={"class": "owl", "name": "eule"})
        assert asked(client) == "owl"  # predicting goes on
    # Both writers run in this process here; SQLite keeps them apart all the same.
    assert sentence(busy, 409).startswith("another process is writing")


def test_no_reader_frees_the_lock_of_a_writer(client, model, photos):
    """To close any descriptor of the file would free this process's locks on it."""
    lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
    with writing(model):
        for answer in (
            client.post("/predict", files=images(photos / "owl")),
            client.get("/model"),
            client.get("/model.memoryless"),
            client.get("/model.memoryless?history=1"),
            client.get("/model.onnx"),
            client.post(f"{lesson}/photos", files=images(photos / "cat"), data={"class": "cat"}),
            client.post(f"{lesson}/check"),
            client.post("/evaluate", files=images(photos / "elk"), data={"class": "elk"}),
            client.post("/forget", json={"classes": ["owl"], "dry_run": True}),
        ):
            assert answer.status_code == 200, answer.text
        assert client.post(f"{lesson}/learn", json={"few": True}).status_code == 409
        time.sleep(0.5)  # the server looks at the file, too
        other = [sys.executable, "-m", "memoryless", "rename", str(model), "owl", "eule"]
        tried = subprocess.run(other, capture_output=True, text=True, check=False)
    assert (tried.returncode, "another process is writing" in tried.stderr) == (2, True)
    assert client.post(f"{lesson}/learn", json={"few": True}).status_code == 200


def test_embedded_drawings_are_learned(tmp_path, monkeypatch):
    monkeypatch.setattr(teacher, "DRAWN", 2)
    monkeypatch.setattr(teacher, "TAUGHT", 12)
    with served(tmp_path / "new.memoryless") as client:
        assert "knows no class yet" in sentence(client.post("/predict", content=b"x"), 409)
        lesson = f"/lessons/{client.post('/lessons').json()['lesson']}"
        assert client.post(f"{lesson}/samples").json()["photos"] == 24
        assert client.post(f"{lesson}/learn").json()["classes"] == 2
        drawing = client.get("/samples/1.png").content
        assert Image.open(io.BytesIO(drawing)).size == (28, 28)
        (one,) = client.post("/predict", files={"images": drawing}).json()["results"]
        assert one["top"][0]["label"] == "ambulance"


BAD = {
    "no file": (("/predict", {"data": {"x": "1"}}), 415, "send multipart/form-data with images"),
    "no photo": (("/predict", {"files": {"x": b"1"}}), 422, "is not expected: send it as images"),
    "no bytes": (("/predict", {"headers": {"content-type": "image/png"}}), 422, "is empty"),
    "no multipart": (
        ("/predict", {"content": b"x", "headers": {"content-type": "multipart/form-data"}}),
        400,
        "Missing boundary",
    ),
    "top_k": (("/predict?top_k=0", {}), 422, "top_k: input should be greater than"),
    "two classes for three": (
        ("/learn", {"files": [("images", b"x")] * 3, "data": {"class": ["a", "b"]}}),
        422,
        "there are 3 images and 2 classes",
    ),
    "a slash": (
        ("/learn", {"files": [("images", b"x")], "data": {"class": "a/b"}}),
        422,
        "has a slash: rename the class",
    ),
    "no photo of it": (
        ("/learn", {"files": [("images", b"x")], "data": {"class": "a"}}),
        422,
        "no photo can be read (not an image): send others",
    ),
    "maybe": (
        ("/learn", {"files": [("images", b"x")], "data": {"class": "a", "few": "maybe"}}),
        422,
        "few is 'maybe': send true or false",
    ),
    "no JSON": (("/rename", {"content": b"{"}), 400, "the body is no JSON"),
    "a list": (("/rename", {"json": []}), 422, "the body is no JSON object"),
    "a field too many": (("/undo", {"json": {"x": 1}}), 422, "unknown field 'x': choose from to"),
    "a field too few": (("/rename", {"json": {"class": "owl"}}), 422, "field name is missing"),
    "a wrong type": (("/undo", {"json": {"to": "1"}}), 422, "to must be a whole number from 0"),
    "an unknown state": (
        ("/undo", {"json": {"to": 9}}),
        422,
        "patient.memoryless has no state 9: choose from 1, 2",
    ),
    "an unknown class": (
        ("/rename", {"json": {"class": "oul", "name": "x"}}),
        422,
        "did you mean 'owl'?",
    ),
    "an unknown lesson": (("/lessons/x/check", {}), 404, "this lesson is not open"),
    "an unknown address": (("/nothing", {}), 404, "this address does not exist: see /openapi.json"),
    "another method": (("/model", {}), 405, "takes another method: see /openapi.json"),
    "unknown classes": (
        ("/evaluate", {"files": [("images", b"x")], "data": {"class": "x"}}),
        422,
        "no photo can be read (not an image)",
    ),
    "two models": (
        ("/merge", {"files": [("model", b"x"), ("model", b"x")]}),
        422,
        "send one model",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_requests_get_a_sentence(what, patient):
    (path, request), status, why = BAD[what]
    said = sentence(patient.post(path, **request), status)
    assert why in said
    assert "/patient" not in said  # names of folders stay here


def test_limits_of_a_request(model, photos):
    limits = Limits(bytes=9000, pixels=500, files=2, classes=1)
    with served(model, limits) as client:
        many = images(photos / "elk")[:3]
        assert "more than 2 images" in sentence(client.post("/predict", files=many), 413)
        large = sentence(client.post("/predict", files={"images": bytes(9000)}), 413)
        assert large == "the request has more than 9.0 kB: send fewer at once"
        fields = {"class": ["a", "b"]}
        assert "more than 1 classes" in sentence(
            client.post("/learn", files=many[:2], data=fields), 413
        )
        small = saved_png(22, 22), saved_png(25, 25)
        one, two = (client.post("/predict", files={"images": x}).json()["results"] for x in small)
        assert one[0]["answer"] != "broken"
        assert "it has more than 500 pixels" in two[0]["error"]


def saved_png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, "PNG")
    return file.getvalue()


def test_limits_of_lessons(model, photos):
    with served(model, Limits(lessons=1, lesson_photos=20)) as client:
        lesson = client.post("/lessons").json()["lesson"]
        assert "1 open lessons already" in sentence(client.post("/lessons"), 429)
        url, cat = f"/lessons/{lesson}/photos", {"class": "cat"}
        assert client.post(url, files=images(photos / "cat"), data=cat).status_code == 200
        full = sentence(client.post(url, files=images(photos / "dog"), data=cat), 413)
        assert full == "a lesson holds 20 photos at most: learn this one, and open another"
        assert client.delete(f"/lessons/{lesson}").json()["removed"] == 12
        assert client.post("/lessons").status_code == 200


def test_read_only(model, photos):
    """Nothing is taught; a test folder is measured all the same, by a lesson as the page does."""
    with served(model, read_only=True) as client:
        assert asked(client) == "owl"
        assert client.get("/model").json()["read_only"] is True
        lesson = client.post("/lessons").json()["lesson"]
        url = f"/lessons/{lesson}"
        owls = {"files": images(photos / "owl"), "data": {"class": "owl"}}
        assert client.post(f"{url}/photos", **owls).status_code == 200
        assert client.post("/evaluate", json={"lesson": lesson}).json()["photos"] == 12
        for path in ("/undo", "/learn", f"{url}/learn", "/rename", "/forget", "/merge"):
            assert "--read-only" in sentence(client.post(path), 403), path
        assert client.delete(url).json()["removed"] == 12


def test_health_and_the_document(client, model):
    assert client.get("/health/live").json() == client.get("/health/ready").json()
    document = client.get("/openapi.json").json()
    assert {"/predict", "/learn", "/lessons/{lesson}/photos", "/merge"} <= {*document["paths"]}
    names = {method for item in document["paths"].values() for method in item}
    assert names == {"get", "post", "delete"}
    model.unlink()
    deadline = time.monotonic() + 2
    while client.get("/health/ready").status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert re.match("there is no model", sentence(client.get("/health/ready"), 503))
    assert asked(client) == "owl"

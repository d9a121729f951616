"""Many clients ask while one teaches: no error, no mixed state. MEMORYLESS_LOAD says how long."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections import Counter

import httpx
import numpy as np
import pytest

from memoryless.model.file import load_state
from servers import WRITES, images, running, teach

CLIENTS = 50
SECONDS = int(os.environ.get("MEMORYLESS_LOAD", "60"))
BEFORE, AFTER = frozenset(["elk", "owl"]), frozenset(["elk", "owl", "cat", "dog"])


def classes_of(answer: bytes) -> frozenset[str]:
    """The classes of the one whole state that answered for all photos of a request."""
    results = json.loads(answer)["results"]
    known = {frozenset(top["label"] for top in one["top"]) for one in results}
    assert len(known) == 1
    for one in results:
        assert sum(top["score"] for top in one["top"]) == pytest.approx(1, abs=1e-5)
    return known.pop()


@pytest.mark.slow
def test_many_ask_while_one_teaches(model, photos):
    seen: Counter[frozenset[str]] = Counter()
    latencies: list[float] = []
    problems: list[str] = []
    with (
        running(model) as (_, base),
        httpx.Client(base_url=base, headers=WRITES, timeout=60) as client,
    ):
        request = client.build_request("POST", "/predict", files=images(photos / "owl")[:3])
        body, kind = request.read(), {"Content-Type": request.headers["content-type"]}
        end = time.monotonic() + SECONDS

        def ask() -> None:  # httpx takes more time for 50 connections than the server
            connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=60)
            try:
                while time.monotonic() < end:
                    began = time.monotonic()
                    connection.request("POST", "/predict?top_k=9", body, kind)
                    answer = connection.getresponse()
                    seen[classes_of(answer.read())] += 1
                    latencies.append(time.monotonic() - began)
            except Exception as error:
                problems.append(repr(error))
            finally:
                connection.close()

        threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            teach(client, photos, ["cat", "dog"])
            assert client.post("/undo").status_code == 200
        for thread in threads:
            thread.join()
    assert problems == []
    assert {*seen} == {BEFORE, AFTER}
    median, last = np.percentile(latencies, [50, 99])
    print(f"{len(latencies)} answers: median {median:.3f} s, of 99 % {last:.3f} s; {dict(seen)}")
    assert load_state(model).classes.names == ("elk", "owl")

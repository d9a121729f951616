"""The record: what it holds, what it weighs, and that it comes back from its file."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conftest import draw_classes, gather, make_learner, make_toy
from memoryless.errors import StoreError
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_record, last_state
from memoryless.lab.stream import Stream
from memoryless.record import Record
from memoryless.transports import TRANSPORTS

OF_STATISTICS = {n for n, t in TRANSPORTS.items() if {"means", "covariances"} & {*t.moves}}


def test_bytes_of_every_part(gathered):
    """Six classes of sixteen features in three states, at four bytes a number."""
    ledger = gathered.results()[-1]["bytes"]["record"]
    basics = {"W": 6 * 16 * 4, "b": 6 * 4, "class_state": 6 * 8, "mu": 3 * 4}
    each = {"count": 6 * 4, "mean": 6 * 16 * 4, "full": 6 * 16 * 16 * 4}
    parts = {f"{t}.{name}": n for t in OF_STATISTICS for name, n in each.items()}
    assert ledger == basics | parts | {"backward.W": 6 * 16 * 4}


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("mean", {}),
        ("diagonal", {"diagonal": 6 * 16}),
        ("low-rank:3", {"factors": 6 * 3 * 16, "rest": 6}),
        ("tied", {"tied": 16 * 16}),
        ("full", {"full": 6 * 16 * 16}),
    ],
)
def test_bytes_of_every_form(form, parts):
    """Six classes of sixteen features, three to a state."""
    record = Record.empty(16)
    for state in range(2):
        record = record.extend(torch.zeros(3, 16), torch.zeros(3), 1.0)
        birth = gather(*draw_classes(state, d=16), form)
        drift = {"forward": torch.eye(16)} if state else None
        record = record.carry(birth, drift, ("linear",))
    ledger = record.ledger
    mine = {n: size for n, size in ledger.items() if n.startswith("linear.")}
    expected = {"count": 6, "mean": 6 * 16} | parts
    assert mine == {f"linear.{name}": 4 * size for name, size in expected.items()}


def test_nothing_kept_grows_with_the_images(tiny):
    config, sizes = replace(tiny, epochs=1, statistics="full"), []
    for n in (6, 18):
        (path,) = run(replace(config, output=tiny.output / str(n)), make_toy(train=n))
        sizes.append(last_record(RunFolder(path)).ledger)
    assert sizes[0] == sizes[1]


def test_frozen_backbones_do_not_drift(tiny, toy):
    config = replace(tiny, strategy="frozen", statistics="full")
    record = last_record(RunFolder(run(config, toy)[0]))
    assert record.statistics.keys() == OF_STATISTICS
    for other in OF_STATISTICS:
        for name, part in record.statistics[other].tensors().items():
            still = record.statistics["none"].tensors()[name]
            torch.testing.assert_close(part, still, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(record.rows["backward"], record.W, rtol=1e-3, atol=1e-3)


def test_a_record_is_the_same_after_a_file(gathered, tmp_path):
    record = last_record(gathered)
    record.save(tmp_path / "record.safetensors")
    again = Record.load(tmp_path / "record.safetensors")
    assert again.ledger == record.ledger
    assert all(torch.equal(part, again.tensors()[n]) for n, part in record.tensors().items())


def test_means_alone_are_not_widened(tiny, toy):
    folder = RunFolder(run(replace(tiny, statistics="mean"), toy)[0])
    of_means = {name for name, t in TRANSPORTS.items() if "means" in t.moves}
    assert last_record(folder).statistics.keys() == of_means < OF_STATISTICS
    assert last_state(folder).fitted.keys() == {f"fetril+{name}" for name in of_means}


def test_nothing_in_the_record_grows_with_the_images(tiny):
    few, many = make_toy(train=8), make_toy(train=40)
    sizes = []
    for dataset in (few, many):
        stream = Stream(dataset, "3")
        learner = make_learner(tiny, stream[0].train)
        for state in stream:
            learner.learn(state.train, 2)
        sizes.append(learner.record.ledger)
    d = 16
    expected = {"W": 6 * d * 4, "b": 6 * 4, "class_state": 6 * 8, "mu": 3 * 4}
    assert sizes == [expected, expected]


def test_record_round_trip(tmp_path):
    record = Record.empty(4).extend(torch.randn(2, 4), torch.randn(2), 1.5)
    record.save(tmp_path / "record.safetensors")
    loaded = Record.load(tmp_path / "record.safetensors")
    assert all(torch.equal(getattr(record, f), getattr(loaded, f)) for f in record.ledger)


def test_record_copies_what_it_is_given():
    rows = torch.zeros(2, 4)
    record = Record.empty(4).extend(rows, torch.zeros(2), 1.0)
    rows += 1
    assert record.W.sum() == 0


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_files_are_noticed(tmp_path, damage):
    file = tmp_path / "record.safetensors"
    Record.empty(4).extend(torch.ones(2, 4), torch.ones(2), 1.0).save(file)
    content = bytearray(file.read_bytes())
    if damage == "cut":
        del content[-10:]
    else:
        content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        Record.load(file)

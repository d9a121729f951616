"""Run folders are read through one door: what does not belong to the run is refused by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import make_toy
from memoryless.cli import main
from memoryless.errors import ConfigError, StoreError
from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.observer import Observer
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_state, read_rows, states_of
from memoryless.stats.methods import methods_of
from memoryless.store import write_json, write_tensors

MEND = "delete the run's folder and run the same command again"


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """A run with all kinds of files."""
    torch.set_num_threads(1)
    output = tmp_path_factory.mktemp("run") / "out"
    config = Config(
        states="3",
        width=2,
        epochs=2,
        batch_size=16,
        statistics="full",
        held_out=0.25,
        output=output,
    )
    return run(config, make_toy())[0]


@pytest.fixture
def folder(original, tmp_path) -> RunFolder:
    shutil.copytree(original, tmp_path / "seed-0")
    return RunFolder(tmp_path / "seed-0")


def refused(read: Callable[[], Any]) -> str:
    with pytest.raises(StoreError) as caught:
        read()
    assert caught.value.exit_code == 3
    return str(caught.value)


def fresh(folder: RunFolder) -> RunFolder:
    return RunFolder(folder.path)


def change(content: Any, leaf: str, value: Any) -> None:
    """Set a leaf such as config.lr or sizes.2; a value of `...` removes it."""
    *path, last = leaf.split(".")
    for key in path:
        content = content[int(key) if isinstance(content, list) else key]
    key = int(last) if isinstance(content, list) else last
    if value is ...:
        del content[key]
    else:
        content[key] = value


ABOUT = {
    "config.lr": ("fast", "config: lr must be a number, not 'fast'"),
    "config.epochs": (1.5, "config: epochs must be a whole number, not 1.5"),
    "config.width": (0, "config: width must be from 1 to 1,000,000, not 0"),
    "config.momentum": (..., "config: 'momentum' is missing"),
    "config.new": (1, "config: 'new' is no setting"),
    "config.milestones.0": (None, "config: milestones must be a number, not [None, 0.75]"),
    "config.root": (5, "config: root must be a path, not 5"),
    "seed": (True, "seed is true, not a whole number"),
    "dataset": (None, "dataset is null, not a text"),
    "classes.2": ("0", "classes has '0' twice"),
    "classes.1": (1, "classes[1] is 1, not a text"),
    "sizes": ([2, 2], "sizes add up to 4, not to 6 classes"),
    "sizes.2": (-1, "sizes[2] is -1, not a whole number from 1"),
    "train_images.0": (..., "train_images has 5 entries, not 6"),
    "test_images.1": (0, "test_images[1] is 0, not a whole number from 1"),
    "preparation.mean.0": ("x", 'preparation.mean[0] is "x", not a number'),
    "memoryless": ("yes", 'memoryless is "yes", not true or false'),
    "versions.torch": (2, "versions.torch is 2, not a text"),
    "command": ("rm", 'command is "rm", not a list'),
    "machine": (..., "it lacks 'machine'"),
    "machine.cores": (0, "machine.cores is 0, not null or a whole number from 1"),
}


@pytest.mark.parametrize("leaf", ABOUT)
def test_what_run_json_must_hold(folder, leaf):
    value, problem = ABOUT[leaf]
    about = folder.about
    change(about, leaf, value)
    file = folder.path / "run.json"
    write_json(file, about, bound="run.json")
    assert refused(lambda: fresh(folder).about) == f"{file}: {problem}: {MEND}"


RESULTS = {
    "state": (0, "state is 0, not 1"),
    "new_classes": (3, "new_classes is 3, not 2"),
    "classes_seen": (2, "classes_seen is 2, not 4"),
    "methods.finetune.top1": (999, "methods.finetune.top1 is 999, not a number from 0 to 100"),
    "methods.finetune.top5": (None, "methods.finetune.top5 is null, not a number from 0 to 100"),
    "methods.finetune.typology.c_p": (
        None,
        "methods.finetune.typology.c_p is null, not a number from 0 to 100",
    ),
    "methods.finetune.typology.new": (
        1,
        "methods.finetune.typology has 'new', which does not belong there",
    ),
    "methods.finetune.by_state.0": (..., "methods.finetune.by_state has 1 entries, not 2"),
    "methods.finetune.cost": (-1, "methods.finetune.cost is -1, not a whole number from 0"),
    "methods": ({}, "methods has no method"),
    "history.loss.0": (..., "history.watched has 2 entries, not 1"),
    "history.seconds.0": (-1.0, "history.seconds[0] is -1.0, not a number from 0"),
    "seconds.training": ("long", 'seconds.training is "long", not a number from 0'),
    "bytes.record.W": (0.5, "bytes.record.W is 0.5, not a whole number from 0"),
    "bytes": (..., "it lacks 'bytes'"),
    "files.layer.safetensors": (..., "files lacks 'layer.safetensors'"),
}


@pytest.mark.parametrize("leaf", RESULTS)
def test_what_results_must_hold(folder, leaf):
    value, problem = RESULTS[leaf]
    results, file = folder.results()[1], folder.state(1) / "results.json"
    if leaf.startswith("files."):  # a name with a dot
        del results["files"][leaf.removeprefix("files.")]
    else:
        change(results, leaf, value)
    write_json(file, results, bound=folder.place("results.json", 1))
    assert refused(fresh(folder).results) == f"{file}: {problem}: {MEND}"
    assert (
        refused(lambda: results_with(fresh(folder), ["finetune"])) == f"{file}: {problem}: {MEND}"
    )


def test_the_first_state_has_no_past(folder):
    results, file = folder.results()[0], folder.state(0) / "results.json"
    assert results["methods"]["finetune"]["typology"]["c_p"] is None
    results["methods"]["finetune"]["typology"]["c_p"] = 3.0
    write_json(file, results, bound=folder.place("results.json", 0))
    assert "typology.c_p is 3.0, not null" in refused(fresh(folder).results)


def test_results_are_copies(folder):
    folder.results()[0]["methods"].clear()
    assert folder.results()[0]["methods"]


@pytest.mark.parametrize("number", [1, 3])
def test_another_format_is_refused(folder, number):
    """Whatever else it holds; the first had no checksum."""
    file = folder.path / "run.json"
    file.write_text(json.dumps({"format": number}))
    assert refused(lambda: fresh(folder).about) == (
        f"{file} was written by another version of memoryless (format {number}, not 2): {MEND}"
    )


def test_the_same_run_has_the_same_id_and_bytes_wherever_it_is(original, tmp_path, toy):
    config = RunFolder(original).about["config"]
    again = Config(
        states="3", width=2, epochs=2, batch_size=16, statistics="full", held_out=0.25,
        output=tmp_path / "elsewhere", threads=1, methods=("finetune+mean",),
    )  # fmt: skip
    assert config["threads"] != again.threads
    folders = [RunFolder(original), RunFolder(run(again, toy)[0])]
    assert folders[0].id == folders[1].id
    for file in original.glob("states/*/*.safetensors"):
        assert file.read_bytes() == (folders[1].path / file.relative_to(original)).read_bytes()


@pytest.mark.parametrize(
    "other", [{"lr": 0.2}, {"seeds": (1,)}, {"order": "seed:1"}, {"mean": (0.5,), "std": (0.5,)}]
)
def test_another_run_has_another_id(tiny, toy, other):
    ids = {
        RunFolder(run(replace(tiny, epochs=1, output=tiny.output / str(i), **given), toy)[0]).id
        for i, given in enumerate(({}, other))
    }
    assert len(ids) == 2


def displaced(file: Path) -> str:
    return f"the file {file} is damaged, or from another place (its checksum differs): {MEND}"


@pytest.mark.parametrize("name", ["results.json", "layer.safetensors", "rows.safetensors"])
def test_files_of_another_state_or_run_are_refused(folder, name, tiny, toy):
    file = folder.state(2) / name
    other = RunFolder(run(replace(tiny, output=tiny.output / "other"), toy)[0])
    for source in (folder.state(1) / name, other.state(2) / name):
        shutil.copy(source, file)
        again = fresh(folder)
        if name == "results.json":
            assert refused(again.results) == displaced(file)
        else:
            assert refused(lambda: again.arrays(2, file.stem)) == displaced(file)  # noqa: B023


def test_a_run_json_of_another_run_fits_no_state(folder, tiny, toy):
    other = RunFolder(run(replace(tiny, output=tiny.output / "other"), toy)[0])
    shutil.copy(other.path / "run.json", folder.path / "run.json")
    assert refused(fresh(folder).results) == displaced(folder.state(0) / "results.json")


@pytest.mark.parametrize(
    ("made", "gone", "named"),
    [
        ("99", None, "99"),
        ("03", None, "03"),
        ("1", None, "1"),
        (None, "01", "02"),
        ("x", None, "x"),
    ],
)
def test_odd_states_are_named(folder, made, gone, named, capsys):
    states = folder.path / "states"
    if made:
        (states / made).mkdir()
    if gone:
        shutil.rmtree(states / gone)
    sentence = (
        f"{states / named} does not belong there (states are 00 to 02, without a gap): {MEND}"
    )
    assert refused(lambda: fresh(folder).finished) == sentence
    assert main(["table", str(folder.path)]) == 3
    assert capsys.readouterr().err == f"memoryless: {sentence}\n"


def test_drafts_and_hidden_files_are_no_states(folder):
    (folder.path / "states" / "03.draft").mkdir()
    (folder.path / "states" / ".DS_Store").touch()
    assert folder.finished == 3


@pytest.mark.parametrize("name", ["rows", "layer", "test", "birth", "fitted", "held_out"])
def test_a_state_that_lacks_a_file_is_refused_everywhere(folder, name):
    file = folder.state(1) / f"{name}.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    half = f"it has {len(content) - 1} of {len(content)} bytes"
    assert refused(fresh(folder).results) == f"the file {file} is damaged ({half}): {MEND}"
    file.unlink()
    assert refused(fresh(folder).results) == f"the file {file} is missing: {MEND}"
    for read in (states_of, lambda run: results_with(run, ["finetune+lda"])):
        assert refused(lambda: list(read(fresh(folder)))) == f"the file {file} is missing: {MEND}"  # noqa: B023


ARRAYS: dict[str, tuple[str, Callable[[dict[str, np.ndarray]], Any], str]] = {
    "classes": ("layer", lambda t: t.update(W=t["W"][:3]), "W is 3 x 16, not 4 x 16"),
    "features": ("layer", lambda t: t.update(W=t["W"][:, :9]), "W is 4 x 9, not 4 x 16"),
    "rank": ("layer", lambda t: t.update(b=t["b"][:, None]), "b is 4 x 1, not 4"),
    "absent": ("layer", lambda t: t.pop("b"), "it lacks b"),
    "extra": ("layer", lambda t: t.update(x=t["b"]), "it has x, which does not belong there"),
    "type": ("layer", lambda t: t.update(b=t["b"].astype(int)), "b is int64, not numbers"),
    "states": ("rows", lambda t: t.update(mu=t["mu"][:1]), "mu is 1, not 2"),
    "nan": ("rows", lambda t: t["W"].fill(np.nan), "W has entries that are no numbers"),
    "inf": ("rows", lambda t: t["mu"].fill(np.inf), "mu has entries that are no numbers"),
    "order": (
        "rows",
        lambda t: t.update(class_state=t["class_state"][::-1]),
        "class_state is not that of the run's sizes",
    ),
    "images": ("test", lambda t: t.update(labels=t["labels"][1:]), "labels is 15, not 16"),
    "labels": (
        "test",
        lambda t: t.update(labels=t["labels"] + 1),
        "labels has classes beyond the 4 seen so far",
    ),
    "whole": (
        "test",
        lambda t: t.update(labels=t["labels"].astype(np.float32)),
        "labels is float32, not whole numbers",
    ),
    "held": ("held_out", lambda t: t.update(labels=t["labels"][1:]), "labels is 5, not 6"),
    "wide": ("held_out", lambda t: t.update(features=t["features"][:, 1:]), "features is 6 x 15"),
    "birth": (
        "birth",
        lambda t: t.update({"birth.own": t["birth.own"][:1]}),
        "birth.own is 1 x 16 x 16, not 2 x 16 x 16",
    ),
    "drift": (
        "birth",
        lambda t: t.update({"drift.sdc": t["drift.sdc"][:1]}),
        "drift.sdc is 1 x 16, not 2 x 16",
    ),
    "fitted": (
        "fitted",
        lambda t: t.update({"fetril+none.W": t["fetril+none.W"][:3]}),
        "fetril+none.W is 3 x 16, not 4 x 16",
    ),
}


def put(folder: RunFolder, t: int, name: str, tensors: dict[str, np.ndarray]) -> Path:
    """Write tensors in the place of a state's, as if the state had left them."""
    file, told = folder.state(t) / f"{name}.safetensors", folder.state(t) / "results.json"
    results = folder.results()[t]
    write_tensors(file, tensors, bound=folder.place(file.name, t))
    results["files"][file.name] = file.stat().st_size
    write_json(told, results, bound=folder.place(told.name, t))
    return file


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_do_not_fit_the_run(folder, case):
    name, spoil, problem = ARRAYS[case]
    tensors = folder.arrays(1, name)
    spoil(tensors)
    file = put(folder, 1, name, tensors)
    again = fresh(folder)
    for other in ("rows", "test"):  # whose sizes of features are those of the run
        again.arrays(0, other)
    told = refused(lambda: again.arrays(1, name))
    assert told.startswith(f"the file {file} does not fit its run: {problem}")
    assert told.endswith(f": {MEND}")


def test_all_that_a_run_writes_fits_it(folder):
    for t in range(3):
        for file in folder.state(t).glob("*.safetensors"):
            assert folder.arrays(t, file.stem)
    assert last_state(folder).fitted
    assert read_rows(folder, 0).W.shape == (2, 16)


class Stop(Observer):
    def __init__(self, state: int):
        self.state = state

    def state_finished(self, results):
        if results["state"] == self.state:
            raise KeyboardInterrupt


@pytest.mark.parametrize("part", ["layer.weight", "backbone.conv1.weight", "new"])
def test_a_network_that_does_not_fit_is_not_gone_on_with(tiny, toy, part):
    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, observer=Stop(0))
    folder = RunFolder(tiny.output / "seed-0")
    tensors = folder.arrays(0, "network")
    own = tensors.pop(f"network.{part}", np.zeros((3, 3), np.float32))
    tensors[f"network.{part}"] = own.reshape(len(own), -1)[:, :3]
    put(folder, 0, "network", tensors)
    told = refused(lambda: run(tiny, toy))
    assert told.startswith(f"{folder.state(0)} does not fit (")
    assert told.endswith(f"): {MEND}")


def test_a_run_that_says_done_has_been_looked_at(tiny, toy):
    (path,) = run(tiny, toy)
    file = path / "states" / "01" / "results.json"
    content = file.read_bytes()
    file.write_bytes(content[:-20])
    assert f"the file {file} is damaged" in refused(lambda: run(tiny, toy))
    file.write_bytes(content)
    (path / "states" / "00" / "layer.safetensors").unlink()
    assert "layer.safetensors is missing" in refused(lambda: run(tiny, toy))


def test_a_renamed_seed_is_another_run(tiny, toy):
    (path,) = run(tiny, toy)
    path.rename(path.with_name("seed-1"))
    with pytest.raises(ConfigError, match=r"seed-1 holds another experiment \(other seed\)"):
        run(replace(tiny, seeds=(1,)), toy)


def test_results_are_of_the_methods_of_all_states(tiny, toy):
    with pytest.raises(KeyboardInterrupt):
        run(replace(tiny, methods=("finetune+mean",)), toy, observer=Stop(0))
    folder = RunFolder(run(tiny, toy)[0])
    assert all(list(state["methods"]) == list(methods_of("finetune")) for state in folder.results())
    for t in range(3):
        results, file = folder.results()[t], folder.state(t) / "results.json"
        results["methods"] = {
            "finetune" if t else "finetune+initial": results["methods"]["finetune"]
        }
        write_json(file, results, bound=folder.place(file.name, t))
    told = f"no method was scored in all states of {folder.path}: {MEND}"
    assert refused(fresh(folder).results) == told

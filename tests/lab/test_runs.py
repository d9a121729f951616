"""Run folders are read through one door: what is damaged or does not fit is refused by name."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
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
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.rescore import results_with
from memoryless.lab.runs import RunFolder, states_of
from memoryless.progress import Observer
from memoryless.stats.methods import methods_of
from memoryless.tensors import to_bytes

MEND = "delete the run's folder and run the same command again"


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """A run with all kinds of files."""
    torch.set_num_threads(1)
    output = tmp_path_factory.mktemp("run") / "out"
    kept = {"statistics": "full", "held_out": 0.25}
    config = Config(states="3", width=2, epochs=2, batch_size=16, output=output, **kept)
    return run(config, make_toy())[0]


@pytest.fixture
def folder(original, tmp_path) -> RunFolder:
    return RunFolder(shutil.copytree(original, tmp_path / "seed-0"))


def fresh(folder: RunFolder) -> RunFolder:
    return RunFolder(folder.path)


def refused(read: Callable[[], Any]) -> str:
    with pytest.raises(StoreError) as caught:
        read()
    assert caught.value.exit_code == 3
    return str(caught.value)


def rewrite(file: Path, content: bytes, folder: RunFolder) -> None:
    """Write a file and the checksums of it in each state, as if the run had written it."""
    file.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    for sums in folder.path.glob("states/*/SHA256SUMS"):
        lines = [line.split("  ") for line in sums.read_text().splitlines()]
        listed = [(digest if (sums.parent / n).resolve() == file.resolve() else d, n)
                  for d, n in lines]  # fmt: skip
        sums.write_text("".join(f"{d}  {n}\n" for d, n in listed))


def change(folder: RunFolder, name: str, leaf: str, value: Any) -> Path:
    """Set a leaf of a JSON file, such as config.lr or sizes.2; a value of `...` removes it."""
    file = folder.path / name
    whole = content = json.loads(file.read_text())
    *path, last = leaf.split(".")
    for key in path:
        content = content[int(key) if isinstance(content, list) else key]
    key = int(last) if isinstance(content, list) else last
    if value is ...:
        del content[key]
    else:
        content[key] = value
    rewrite(file, json.dumps(whole).encode(), folder)
    return file


ABOUT = {
    "config.lr": ("fast", "`$.config.lr`"),
    "config.epochs": (1.5, "`$.config.epochs`"),
    "config.width": (0, "Expected `int` >= 1 - at `$.config.width`"),
    "config.batch_size": (None, "`$.config.batch_size`"),
    "config.milestones.0": (None, "`$.config.milestones[0]`"),
    "config.root": (5, "`$.config.root`"),
    "config.strategy": ("lfw", "unknown strategy 'lfw'"),
    "seed": (True, "`$.seed`"),
    "new": (1, "Object contains unknown field `new`"),
    "classes.2": ("0", "`classes` has a name twice"),
    "classes.1": (1, "`$.classes[1]`"),
    "sizes": ([2, 2], "do not agree"),
    "sizes.1": (-1, "Expected `int` >= 1 - at `$.sizes[1]`"),
    "train_images.0": (..., "do not agree"),
    "preparation.mean.0": ("x", "`$.preparation.mean[0]`"),
    "versions.torch": (2, "`$.versions[...]`"),
    "machine": (..., "missing required field `machine`"),
    "machine.cores": (0, "Expected `int` >= 1 - at `$.machine.cores`"),
}


@pytest.mark.parametrize("leaf", ABOUT)
def test_what_run_json_must_hold(folder, leaf):
    value, problem = ABOUT[leaf]
    file = change(folder, "run.json", leaf, value)
    told = refused(lambda: fresh(folder).about)
    assert told.startswith(f"the file {file} is damaged (")
    assert problem in told
    assert told.endswith(f"): {MEND}")


RESULTS = {
    "state": (0, "`by_state` of finetune does not have 1 entries"),
    "classes_seen": (2, "is of another state or run"),
    "methods.finetune.top1": (999, "Expected `float` <= 100.0"),
    "methods.finetune.top5": (None, "Expected `float`, got `null`"),
    "methods.finetune.typology.new": (1, "unknown field `new`"),
    "methods.finetune.by_state.0": (..., "`by_state` of finetune does not have 2 entries"),
    "methods.finetune.cost": (-1, "Expected `int` >= 0"),
    "methods": ({}, "length >= 1 - at `$.methods`"),
    "history.seconds.0": (-1.0, "`$.history.seconds[0]`"),
    "bytes": (..., "missing required field `bytes`"),
}


@pytest.mark.parametrize("leaf", RESULTS)
def test_what_results_must_hold(folder, leaf):
    value, problem = RESULTS[leaf]
    file = change(folder, "states/01/results.json", leaf, value)
    for read in (fresh(folder).results, lambda: results_with(fresh(folder), ["finetune"])):
        told = refused(read)
        assert str(file) in told
        assert problem in told


def test_a_run_holds_what_it_has_and_nothing_else(folder, tiny, toy):
    """Settings that only other strategies read are not stored; the file is as it was described."""
    stored = json.loads((folder.path / "run.json").read_text())["config"]
    assert not {"kd_weight", "lambda_base", "memory", "exemplars", "outputs"} & stored.keys()
    replayed = run(replace(tiny, epochs=1, strategy="replay", memory=0.2), toy)[0]
    stored = json.loads((replayed / "run.json").read_text())["config"]
    assert stored["memory"] == 0.2
    assert "kd_weight" not in stored
    assert RunFolder(replayed).about.config.memory == 0.2
    assert (
        folder.results()[0].methods["finetune"].typology.c_p is None
    )  # no image is of a past class


def test_sha256sum_finds_a_state_in_order(folder):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder.state(2), check=False
    )
    assert done.returncode == 0


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "removed": Path.unlink,
    "emptied": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "a bit": lambda file: file.write_bytes(file.read_bytes()[:-9] + b"7" + file.read_bytes()[-8:]),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "deep": lambda file: file.write_bytes(b"[" * 10**5),
    "digits": lambda file: file.write_bytes(b'{"a": ' + b"1" * 5000 + b"}"),
    "no text": lambda file: file.write_bytes(b"\xff\xfe{"),
}
FILES = ["run.json", "results.json", "SHA256SUMS"]
FILES += [f"{n}.safetensors" for n in ("rows", "layer", "test", "birth", "fitted", "held_out")]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_damage_gets_one_sentence(folder, name, damage, capsys):
    file = folder.path / name if name == "run.json" else folder.state(1) / name
    DAMAGE[damage](file)

    def read_all():
        return (
            fresh(folder).results(),
            list(states_of(fresh(folder))),
            results_with(fresh(folder), ["finetune+lda"]),
        )

    assert str(file) in refused(read_all) or name == "SHA256SUMS"
    if not name.endswith(".safetensors") or damage == "removed":  # `table` reads no tensors
        assert main(["table", str(folder.path)]) == (
            2 if (name, damage) == ("run.json", "removed") else 3
        )
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["results.json", "layer.safetensors"])
def test_a_file_of_another_state_is_refused(folder, name):
    shutil.copy(folder.state(1) / name, folder.state(2) / name)
    told = refused(lambda: [fresh(folder).results(), fresh(folder).arrays(2, "layer")])
    assert told == f"the file {folder.state(2) / name} is damaged (its checksum differs): {MEND}"


def test_a_state_of_another_state_or_run_is_refused(folder, tiny, toy):
    other = RunFolder(run(replace(tiny, output=tiny.output / "other"), toy)[0])
    for source in (folder.state(1), other.state(2)):
        shutil.rmtree(folder.state(2))
        shutil.copytree(source, folder.state(2))
        assert refused(fresh(folder).results).endswith(MEND)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_another_format_is_refused(folder, number):
    file = folder.path / "run.json"
    file.write_text(json.dumps({"format": number}))
    assert refused(lambda: fresh(folder).about) == (
        f"{file} was written by another version of memoryless (format {number}, not 3): {MEND}"
    )


def test_the_same_run_has_the_same_id_and_bytes_wherever_it_is(original, tmp_path, toy):
    again = Config(
        states="3", width=2, epochs=2, batch_size=16, statistics="full", held_out=0.25,
        output=tmp_path / "elsewhere", threads=1, methods=("finetune+mean",),
    )  # fmt: skip
    folders = [RunFolder(original), RunFolder(run(again, toy)[0])]
    assert folders[0].about.config.threads != again.threads
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
    assert main(["table", str(folder.path)]) == 3
    assert capsys.readouterr().err == f"memoryless: {sentence}\n"


def test_drafts_and_hidden_files_are_no_states(folder):
    (folder.path / "states" / "03.draft").mkdir()
    (folder.path / "states" / ".DS_Store").touch()
    assert folder.finished == 3


class Stop(Observer):
    def __init__(self, state: int):
        self.state = state

    def state_finished(self, results):
        if results.state == self.state:
            raise KeyboardInterrupt


@pytest.mark.parametrize("part", ["layer.weight", "backbone.conv1.weight", "new"])
def test_a_network_that_does_not_fit_is_not_gone_on_with(tiny, toy, part):
    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, observer=Stop(0))
    folder = RunFolder(tiny.output / "seed-0")
    tensors = folder.arrays(0, "network")
    own = tensors.pop(f"network.{part}", np.zeros((3, 3), np.float32))
    tensors[f"network.{part}"] = own.reshape(len(own), -1)[:, :3]
    rewrite(folder.state(0) / "network.safetensors", to_bytes(tensors), folder)
    told = refused(lambda: run(tiny, toy))
    assert told.startswith(f"{folder.state(0)} does not fit (")
    assert told.endswith(f"): {MEND}")


def test_a_renamed_seed_is_another_run(tiny, toy):
    (path,) = run(tiny, toy)
    path.rename(path.with_name("seed-1"))
    with pytest.raises(ConfigError, match=r"holds another experiment \(other seed"):
        run(replace(tiny, seeds=(1,)), toy)


def test_only_methods_of_all_states_are_shown(tiny, toy):
    with pytest.raises(KeyboardInterrupt):
        run(replace(tiny, methods=("finetune+mean",)), toy, observer=Stop(0))
    folder = RunFolder(run(tiny, toy)[0])
    assert all(list(state.methods) == list(methods_of("finetune")) for state in folder.results())
    folder.results()[0].methods.clear()  # a copy
    for t in range(3):
        reached = json.loads((folder.state(t) / "results.json").read_text())["methods"]["finetune"]
        change(
            folder,
            f"states/0{t}/results.json",
            "methods",
            {"finetune" if t else "finetune+initial": reached},
        )
    told = f"no method was scored in all states of {folder.path}: {MEND}"
    assert refused(fresh(folder).results) == told

"""Run folders are read through one door: what is damaged or does not fit is refused by name."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import EVERY_FORM, FakeRun, make_toy
from memoryless.cli import main
from memoryless.errors import StoreError
from memoryless.lab.config import Config
from memoryless.lab.described import Preparation
from memoryless.lab.experiment import run
from memoryless.lab.frame import results_with
from memoryless.lab.runs import RunFolder, last_record, last_state, states_of
from memoryless.progress import Observer
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads import HEADS, lda
from memoryless.stats.methods import build_scorer, methods_of, parse_method
from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import square_roots
from memoryless.tensors import from_bytes, to_bytes

AGAIN = "delete the run's folder and run the same command again"


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
    "config.width": (0, "Expected `int` >= 1 - at `$.config.width`"),
    "config.batch_size": (None, "`$.config.batch_size`"),
    "config.root": (5, "`$.config.root`"),
    "config.strategy": ("lfw", "unknown strategy 'lfw'"),
    "new": (1, "Object contains unknown field `new`"),
    "classes.2": ("0", "`classes` has a name twice"),
    "sizes": ([2, 2], "do not agree"),
    "train_images.0": (..., "do not agree"),
    "machine": (..., "missing required field `machine`"),
}


@pytest.mark.parametrize("leaf", ABOUT)
def test_what_run_json_must_hold(folder, leaf):
    value, problem = ABOUT[leaf]
    file = change(folder, "run.json", leaf, value)
    told = refused(lambda: fresh(folder).about)
    assert told.startswith(f"the file {file} is damaged (")
    assert problem in told
    assert told.endswith(f"): {AGAIN}")


RESULTS = {
    "state": (0, "`by_state` of finetune does not have 1 entries"),
    "classes_seen": (2, "belongs to another state or run"),
    "methods.finetune.top1": (999, "Expected `float` <= 100.0"),
    "methods.finetune.typology.new": (1, "unknown field `new`"),
    "methods.finetune.by_state.0": (..., "`by_state` of finetune does not have 2 entries"),
    "methods": ({}, "length >= 1 - at `$.methods`"),
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
    assert told == f"the file {folder.state(2) / name} is damaged (its checksum differs): {AGAIN}"


def test_a_state_of_another_state_or_run_is_refused(folder, tiny, toy):
    other = RunFolder(run(replace(tiny, output=tiny.output / "other"), toy)[0])
    for source in (folder.state(1), other.state(2)):
        shutil.rmtree(folder.state(2))
        shutil.copytree(source, folder.state(2))
        assert refused(fresh(folder).results).endswith(AGAIN)


def test_another_format_is_refused(folder):
    (folder.path / "run.json").write_text('{"format": 4}')
    assert "by another version of memoryless (format 4, not 3)" in refused(
        lambda: fresh(folder).about
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


def test_another_run_has_another_id():
    others = [{"config": {"lr": 0.2}}, {"config": {"order": "seed:1"}}, {"seed": 1},
              {"preparation": Preparation(8, [0.4], [0.5], ["flip"])}]  # fmt: skip
    ids = {FakeRun({"finetune": [1.0]}, **given).id for given in ({}, *others)}
    assert len(ids) == 1 + len(others)
    assert FakeRun({"finetune": [2.0]}, "x/s", config={"threads": 3}).id in ids


@pytest.mark.parametrize(
    ("made", "gone", "named"),
    [("03", None, "03"), ("1", None, "1"), ("x", None, "x"), (None, "01", "02")],
)
def test_odd_states_are_named(folder, made, gone, named, capsys):
    states = folder.path / "states"
    if made:
        (states / made).mkdir()
    if gone:
        shutil.rmtree(states / gone)
    sentence = (
        f"{states / named} does not belong there (states are 00 to 02, without a gap): {AGAIN}"
    )
    (states / "03.draft").mkdir()  # which is no state
    (states / ".DS_Store").touch()
    assert main(["table", str(folder.path)]) == 3
    assert capsys.readouterr().err == f"memoryless: {sentence}\n"


class Stop(Observer):
    def __init__(self, state: int):
        self.state = state

    def state_finished(self, results):
        if results.state == self.state:
            raise KeyboardInterrupt


def test_a_run_does_not_go_on_with_a_network_of_another_shape(tiny, toy):
    """As a version of the program could have left that had other layers."""
    with pytest.raises(KeyboardInterrupt):
        run(tiny, toy, observer=Stop(0))
    folder = RunFolder(tiny.output / "seed-0")
    file = folder.state(0) / "network.safetensors"
    arrays, facts = from_bytes(file.read_bytes())
    arrays["network.layer.weight"] = arrays["network.layer.weight"][:, :3].copy()
    rewrite(file, to_bytes(arrays, facts), folder)
    told = refused(lambda: run(tiny, toy))
    assert told.startswith(f"{folder.state(0)} does not fit (")
    assert told.endswith(f"): {AGAIN}")


def test_only_methods_of_all_states_are_shown(tiny, toy):
    with pytest.raises(KeyboardInterrupt):
        run(replace(tiny, methods=("finetune+mean",)), toy, observer=Stop(0))
    folder = RunFolder(run(tiny, toy)[0])
    assert all(list(state.methods) == list(methods_of("finetune")) for state in folder.results())
    folder.results()[0].methods.clear()  # a copy
    for t in range(3):
        reached = json.loads((folder.state(t) / "results.json").read_text())["methods"]["finetune"]
        name = "finetune" if t else "finetune+initial"
        change(folder, f"states/0{t}/results.json", "methods", {name: reached})
    assert "no method was scored in all states" in refused(fresh(folder).results)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_statistics_composed_of_births_are_those_of_the_record(tiny, toy, form, short_fits):
    folder = RunFolder(run(replace(tiny, epochs=1, statistics=form), toy)[0])
    *_, composing = states_of(folder)
    kept, composed = last_record(folder).arrays(), composing.record.arrays()
    assert kept.keys() == composed.keys()
    for name, part in kept.items():
        np.testing.assert_allclose(composed[name], part, rtol=1e-5, atol=1e-5)


def second_moments(statistics: ClassStatistics) -> np.ndarray:
    """The mean square length of each class's features."""
    variances = statistics.covariances.trace(axis1=1, axis2=2)
    return np.square(statistics.mean).sum(1) + variances


def test_statistics_are_of_roots_and_rows_are_not(gathering, gathered, toy):
    config = replace(gathering, square_roots=True, output=gathering.output / "roots")
    plain, rooted = last_state(gathered), last_state(RunFolder(run(config, toy)[0]))
    held, _ = plain.held_out
    features = held.astype(np.float32)

    def scores(name: str, kept: EndOfState) -> np.ndarray:
        return build_scorer(parse_method(f"finetune+{name}"), kept)(features)

    assert np.array_equal(scores("siw", plain), scores("siw", rooted))
    born, moved = (rooted.record.statistics[name] for name in ("none", "linear"))
    moved = moved.levelled(rooted.record.class_state == 2)
    square = second_moments(born)
    assert (square >= 0.999).all()  # the sum of a unit vector's 16 entries is 1 to 4
    assert (square <= 4.001).all()
    of_roots = lda(moved, 0.3)(square_roots(features))
    np.testing.assert_allclose(scores("lda:0.3+linear", rooted), of_roots, rtol=1e-5, atol=1e-5)
    fitted = rooted.fitted["fetril+none"]
    assert np.array_equal(scores("fetril", rooted), fitted(square_roots(features)))


def test_statistics_are_of_the_middle_and_rows_are_not(gathering, gathered, toy, short_fits):
    config = replace(gathering, level="middle", output=gathering.output / "middle")
    last, middle = gathered, RunFolder(run(config, toy)[0])
    rows = [name for name in methods_of("finetune") if name != "finetune"]
    for state, other in zip(results_with(last, rows), results_with(middle, rows), strict=True):
        for name in rows:  # compared as text, where a nan is equal to itself
            assert str(state.methods[name]) == str(other.methods[name])
    kept = last_state(middle)
    assert kept.record.W.shape == (6, 16)
    assert kept.record.statistics["linear"].covariances.shape == (6, 48, 48)
    # two stages, each at length one: the second moment of the features is 2
    born = kept.record.statistics["none"]
    square = second_moments(born)
    np.testing.assert_allclose(square, 2, rtol=1e-5)
    held, _ = kept.held_out
    assert held.shape[1] == 16 + 48
    scorer = build_scorer(parse_method("finetune+lda+linear"), kept)
    level = kept.record.statistics["linear"].levelled(kept.record.class_state == 2)
    of_middle = HEADS["lda"].over(level)(held[:, 16:].astype(np.float32))
    np.testing.assert_allclose(scorer(held.astype(np.float32)), of_middle, rtol=1e-5, atol=1e-5)

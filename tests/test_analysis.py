"""Tables made of finished runs without training."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from memoryless.cli import main
from memoryless.errors import ConfigError
from memoryless.inference import Outcome
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.figures import FIGURES, METADATA, save_figures
from memoryless.lab.analysis.paired import paired_grids
from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.analysis.typology import statistics_grid, typology_grids
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.scoring import figures
from memoryless.methods import METHODS, Method, parse_method
from memoryless.record import Record
from memoryless.store import write_tensors


@pytest.fixture
def finished(tiny, toy) -> RunFolder:
    return RunFolder(run(tiny, toy)[0])


def test_methods_by_name_and_by_parts():
    assert parse_method("inFT_siw_mc") == METHODS["inFT_siw_mc"]
    assert parse_method("lwf_kd") == Method("lwf_kd", "current", "none")
    assert parse_method("lwf_kd+mc") == Method("lwf_kd", "current", "mc")
    assert parse_method("frozen+siw") == Method("frozen", "siw", "none")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lucir+siw", "head siw has no meaning for lucir: its row heads are current"),
        ("joint+initial", "head initial has no meaning for joint"),
        ("finetune+siw+md", "unknown head, calibration or transport 'md'"),
        ("finetume+siw", "did you mean 'finetune'"),
        ("finetune+siw+mc+mc", "names more than one calibration"),
        ("finetune+lda+mc", "compares logits, and head lda has none"),
        ("finetune+lda+backward", "moves initial rows, which head lda does not read"),
        ("finetune+ncm+widened", "is for covariances, which head ncm does not read: use linear"),
        ("finetune+siw+linear", "moves statistics, which head siw does not read"),
        ("finetune+projection", "the strategy frozen"),
        ("finetune+ncm:3", "only lda, mahalanobis, rda, ridge take a shrinkage"),
        ("finetune+lda:much", "a number from 0 up, or auto"),
    ],
)
def test_methods_that_are_none(name, message):
    with pytest.raises(ConfigError, match=message):
        parse_method(name)


def test_rescoring_gives_what_the_run_scored(finished):
    names = ["FT", "inFT_siw_mc", "finetune+l2+mc", "lwf+siw"]
    stored = finished.results()
    for state, again in zip(stored, results_with(finished, names), strict=True):
        assert list(again["methods"]) == names[:3]  # lwf is another strategy
        assert again["methods"]["FT"]["top1"] == state["methods"]["FT"]["top1"]
        assert again["methods"]["finetune+l2+mc"]["top5"] == state["methods"]["inFT_L2_mc"]["top5"]


def test_new_combinations_are_summarised(finished):
    (row,) = summarise([finished], methods=["finetune+min_max+mc"])
    assert row.method == "finetune+min_max+mc"
    assert 0 <= row.top1 <= 100


def test_typology_of_a_hand_made_outcome():
    """Two past classes and two new ones."""
    record = Record(torch.zeros(4, 2), torch.zeros(4), torch.tensor([0, 0, 1, 1]), torch.ones(2))
    labels = torch.tensor([0, 0, 1, 1, 2, 3])
    outcome = Outcome(np.array([0, 1, 2, 3, 2, 0]), np.array([0, 1, 2, 3, 0, 1]))
    found = figures(outcome, labels, record)
    assert found["typology"] == {
        "c_p": 25, "e_pp": 25, "e_pn": 50, "c_n": 50, "e_nn": 0, "e_np": 50,
    }  # fmt: skip
    assert found["by_state"] == [25, 50]
    assert found["top1"] == pytest.approx(100 / 3)
    assert found["top5"] == 100  # of four classes


def test_typology_grid_has_the_stored_percentages(finished):
    (grid,) = typology_grids([finished], ["FT"])
    assert grid.columns == ["percent", "state 1", "state 2"]
    assert [line[0] for line in grid.rows] == [
        f"FT {kind}" for kind in ("c(p)", "e(p,p)", "e(p,n)", "c(n)", "e(n,n)", "e(n,p)")
    ]
    stored = [s["methods"]["FT"]["typology"]["c_n"] for s in finished.results()[1:]]
    assert [r["percent"] for r in grid.records if r["kind"] == "c(n)"] == stored
    for state in (1, 2):
        for kinds in (("c(p)", "e(p,p)", "e(p,n)"), ("c(n)", "e(n,n)", "e(n,p)")):
            mine = [r for r in grid.records if r["state"] == state and r["kind"] in kinds]
            assert sum(r["percent"] for r in mine) == pytest.approx(100)


def test_paired_differences_by_hand(finished):
    """Two later states: +10 and -4 points against FT, and no difference at all."""
    for t, (ft, siw_accuracy) in enumerate(((90.0, 90.0), (50.0, 60.0), (40.0, 36.0))):
        file = finished.state(t) / "results.json"
        results = json.loads(file.read_text())
        results["methods"] = {
            "FT": {"top5": ft}, "inFT_siw": {"top5": siw_accuracy}, "inFT": {"top5": ft},
        }  # fmt: skip
        file.write_text(json.dumps(results))
    (grid,) = paired_grids([finished])
    assert grid.title == "finetune: top5 against FT, on 2 checkpoints of 1 runs"
    assert grid.rows[0][:4] == ["inFT_siw", "+3.0", "9.9", "1/2"]  # 14 / sqrt(2)
    assert grid.rows[1] == ["inFT", "+0.0", "0.0", "0/2", ""]


@pytest.mark.parametrize("k", ["top1", "top5"])
def test_paired_methods_are_scored_anew(finished, k):
    (grid,) = paired_grids([finished], ["inFT", "finetune+siw", "lwf+siw"], k)
    assert [line[0] for line in grid.rows] == ["finetune+siw"]
    stored = [s["methods"] for s in finished.results()[1:]]
    expected = np.mean([m["inFT_siw"][k] - m["inFT"][k] for m in stored])
    assert grid.records[0]["difference"] == pytest.approx(expected)


def test_statistics_of_a_data_set(tiny, toy):
    """Classes of 12 images, but for one of 6."""
    first = np.flatnonzero(toy.train.labels == 0)
    keep = np.setdiff1d(np.arange(len(toy.train)), first[:6])
    (path,) = run(tiny, replace(toy, train=toy.train.take(keep)))
    grid = statistics_grid([RunFolder(path)])
    assert grid.rows == [["toy", "6", "66", "24", "11.00", "2.24"]]  # sqrt((5 + 25) / 6)


def test_weight_magnitudes_by_hand(finished):
    """Rows of 1 and 3 for past classes, of 5 for new ones; standardised rows of 1 and -1."""
    folder = finished.state(1)
    record = Record.load(folder / "record.safetensors")
    rows = torch.tensor([[1.0, -1.0], [3.0, -3.0], [5.0, 5.0], [-5.0, 5.0]])
    write_tensors(folder / "layer.safetensors", {"W": rows, "b": torch.zeros(4)})
    initial = torch.tensor([[9.0, 7.0], [0.2, 0.1], [4.0, 2.0], [1.0, 8.0]])
    replace(record, W=initial).save(folder / "record.safetensors")
    found = measures.weight_magnitudes(finished)
    assert [found["past"][0], found["new"][0]] == [2.0, 5.0]
    assert [found["siw_past"][0], found["siw_new"][0]] == pytest.approx([1.0, 1.0])
    assert all(len(values) == 2 for values in found.values())


def test_feature_similarity_by_hand(finished):
    last = torch.tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    first = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    labels = torch.tensor([0, 1, 4])  # two images of the first state's classes, one of the last's
    for t, features in ((0, first), (1, first), (2, last)):
        test = {"features": features, "labels": labels[: len(features)]}
        write_tensors(finished.state(t) / "test.safetensors", test)
    expected = (1 + 0.5**0.5) / 2
    assert measures.feature_similarity(finished) == pytest.approx([expected, expected, 1.0])


def test_row_distributions_tell_normal_from_not(finished):
    rng = np.random.default_rng(0)
    rows = np.stack([rng.normal(2, 3, 500), rng.exponential(1, 500)])
    layer = {"W": torch.tensor(rows), "b": torch.zeros(2)}
    write_tensors(finished.state(2) / "layer.safetensors", layer)
    normal, exponential = measures.row_distributions(finished)
    assert (normal.mean, normal.std) == pytest.approx((rows[0].mean(), rows[0].std()))
    assert normal.p_value > 0.05 > exponential.p_value
    assert [d.label for d in (normal, exponential)] == ["0", "1"]
    assert len(measures.row_distributions(finished, number=1)) == 1


def test_state_confusion_equals_the_stored_accuracy_by_blocks(finished):
    confusion = measures.state_confusion(finished, "inFT")
    assert confusion.sum(1) == pytest.approx([100, 100, 100])
    typology = finished.results()[-1]["methods"]["inFT"]["typology"]
    assert confusion[2, :2].sum() == pytest.approx(typology["e_np"])
    assert confusion[:2, 2].mean() == pytest.approx(typology["e_pn"])


def test_accuracy_lines(finished):
    lines = measures.accuracy_lines(finished, "top1")
    assert lines["FT"] == [state["methods"]["FT"]["top1"] for state in finished.results()]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_files_of_their_kind_and_always_the_same(name, finished, tmp_path):
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    one = save_figures([finished], tmp_path / "one", [name], list(METADATA))
    two = save_figures([finished], tmp_path / "two", [name], list(METADATA))
    for first, second in zip(one, two, strict=True):
        content = first.read_bytes()
        assert content.startswith(starts[first.suffix[1:]])
        assert content == second.read_bytes()


def test_figures_show_the_numbers(finished):
    drawn = FIGURES["similarity"]([finished]).axes[0].lines[0].get_ydata()
    assert list(drawn) == measures.feature_similarity(finished)
    bars = FIGURES["magnitudes"]([finished]).axes[0].containers
    assert [b.get_height() for b in bars[0]] == measures.weight_magnitudes(finished)["new"]
    picture = FIGURES["confusion"]([finished]).axes[0].images[0].get_array()
    assert np.allclose(picture, measures.state_confusion(finished, "FT"))


def test_joint_runs_have_no_figures_by_state(tiny, toy, capsys):
    run(replace(tiny, strategy="joint"), toy)
    assert main(["figures", str(tiny.output)]) == 2
    assert "have no second state yet" in capsys.readouterr().err
    run(replace(tiny, output=tiny.output / "two"), toy)
    target = tiny.output / "drawn"
    arguments = ["--output", str(target), "--only", "rows", "--formats", "svg"]
    assert main(["figures", str(tiny.output / "two"), *arguments]) == 0
    assert [p.name for p in target.iterdir()] == ["rows.svg"]

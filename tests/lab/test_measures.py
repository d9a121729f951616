"""The numbers behind the figures are right by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memoryless.lab import measures
from memoryless.lab.runs import RunFolder, read_rows


@pytest.fixture
def made(monkeypatch) -> dict[tuple[int, str], dict[str, np.ndarray]]:
    """By state and name, arrays to read in place of those in a run's folder."""
    put: dict[tuple[int, str], dict[str, np.ndarray]] = {}
    real = RunFolder.arrays
    monkeypatch.setattr(
        RunFolder, "arrays", lambda run, t, name: put.get((t, name)) or real(run, t, name)
    )
    return put


def test_weight_magnitudes_by_hand(finished, made):
    """Rows of 1 and 3 for past classes, of 5 for new ones; standardised rows of 1 and -1."""
    rows = np.array([[1.0, -1.0], [3.0, -3.0], [5.0, 5.0], [-5.0, 5.0]])
    initial = np.array([[9.0, 7.0], [0.2, 0.1], [4.0, 2.0], [1.0, 8.0]])
    record = read_rows(finished, 1)
    made[1, "layer"] = {"W": rows, "b": np.zeros(4)}
    made[1, "rows"] = replace(record, W=initial).arrays()
    found = measures.weight_magnitudes(finished)
    assert [found["past"][0], found["new"][0]] == [2.0, 5.0]
    assert [found["siw_past"][0], found["siw_new"][0]] == pytest.approx([1.0, 1.0])
    assert all(len(values) == 2 for values in found.values())


def test_row_distributions_tell_normal_from_not(finished, made):
    rng = np.random.default_rng(0)
    rows = np.stack([rng.normal(2, 3, 500), rng.exponential(1, 500)])
    made[2, "layer"] = {"W": rows, "b": np.zeros(2)}
    normal, exponential = measures.row_distributions(finished)
    assert normal.values.tolist() == rows[0].tolist()
    assert normal.p_value > 0.05 > exponential.p_value
    assert [d.label for d in (normal, exponential)] == ["0", "1"]
    assert len(measures.row_distributions(finished, number=1)) == 1


def test_state_confusion_equals_the_stored_accuracy_by_blocks(finished):
    confusion = measures.state_confusion(finished, "finetune+initial")
    assert confusion.sum(1) == pytest.approx([100, 100, 100])
    typology = finished.results()[-1].methods["finetune+initial"].typology
    assert confusion[2, :2].sum() == pytest.approx(typology.e_np)
    assert confusion[:2, 2].mean() == pytest.approx(typology.e_pn)


def test_answers_by_hand(finished, made):
    """Six classes in three states; what is given, by state: 2 right of 3, 1 of 2, none of 1."""
    eye = np.eye(6, 16)
    made[2, "layer"] = {"W": eye, "b": np.zeros(6)}
    truth, given = np.array([0, 1, 1, 2, 3, 4]), np.array([0, 1, 5, 2, 2, 0])
    made[2, "test"] = {"features": eye[given], "labels": truth}
    for found, expected in zip(
        measures.final_answers(finished, "finetune"),
        (truth, given, [0, 0, 1, 1, 2, 2]),
        strict=True,
    ):
        assert list(found) == list(expected)
    confusion = measures.state_confusion(finished, "finetune")
    np.testing.assert_allclose(confusion, [[200 / 3, 0, 100 / 3], [0, 100, 0], [100, 0, 0]])
    with np.errstate(invalid="ignore"):
        by_class = measures.class_accuracies(finished, "finetune")
    np.testing.assert_allclose(by_class, [100, 50, 100, 0, 0, np.nan])


def test_a_confusion_of_many_states_is_one_of_blocks():
    """Five states in blocks of two: rows are averaged, columns added up."""
    percent = np.zeros((5, 5))
    percent[:, 4] = [100, 50, 0, 0, 20]
    percent[1, 0], percent[2, 3], percent[3, 2], percent[4, 1] = 50, 100, 100, 80
    names, blocks = measures.coarser(percent, 3)
    assert names == ["0-1", "2-3", "4"]
    assert blocks.tolist() == [[25, 0, 75], [0, 100, 0], [80, 0, 20]]
    names, blocks = measures.coarser(percent, 5)
    assert names == ["0", "1", "2", "3", "4"]
    assert (blocks == percent).all()
    assert len(measures.coarser(np.eye(50), 12)[0]) == 10


def test_rows_are_chosen_by_a_seed_and_stand_in_order(finished):
    labels = [d.label for d in measures.row_distributions(finished, number=3)]
    assert labels == sorted(labels)
    assert len({*labels}) == 3
    assert labels == [d.label for d in measures.row_distributions(finished, number=3)]
    others = [measures.row_distributions(finished, number=3, seed=s) for s in range(1, 5)]
    assert any([d.label for d in other] != labels for other in others)


def test_similarity_is_of_the_first_states_classes_and_of_what_rows_read(
    finished, made, monkeypatch
):
    """One class in the first state; columns after those of rows are of the middle."""
    made[0, "rows"] = finished.arrays(0, "rows")
    monkeypatch.setattr(finished.about, "sizes", [1, 2, 3])
    first, last = np.zeros((2, 3, 20))
    first[:, 0] = last[:2, 0] = 1  # images of class 0: one stays, one turns by 45 degrees
    first[1, 1] = 1
    last[2, 0] = -1  # class 1 turns around
    last[:, 16:] = 9
    for t, features in ((0, first), (1, first), (2, last)):
        made[t, "test"] = {"features": features.astype(np.float16), "labels": np.array([0, 0, 1])}
    expected = (1 + 0.5**0.5) / 2
    assert measures.feature_similarity(finished) == pytest.approx([expected, expected, 1], rel=1e-4)

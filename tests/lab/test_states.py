"""What a finished state leaves in its folder, and what methods are made of again from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import EVERY_FORM
from memoryless.lab.experiment import run
from memoryless.lab.rescore import results_with
from memoryless.lab.runs import RunFolder, last_record, last_state, states_of
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads import HEADS, lda
from memoryless.stats.methods import EndOfState, build_scorer, methods_of, parse_method
from memoryless.stats.scorers import square_roots


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

"""What a finished state leaves in its folder, and what methods are made of again from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conftest import EVERY_FORM
from memoryless.build import EndOfState, build_scorers
from memoryless.heads.classes import lda
from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_record, last_state, states_of
from memoryless.methods import methods_of, parse_method
from memoryless.scorers import square_roots


@pytest.mark.parametrize("form", EVERY_FORM)
def test_statistics_composed_of_births_are_those_of_the_record(tiny, toy, form, short_fits):
    folder = RunFolder(run(replace(tiny, epochs=1, statistics=form), toy)[0])
    *_, composing = states_of(folder)
    kept, composed = last_record(folder).tensors(), composing.record.tensors()
    assert kept.keys() == composed.keys()
    for name, part in kept.items():
        torch.testing.assert_close(composed[name], part)


def test_statistics_are_of_roots_and_rows_are_not(gathering, gathered, toy):
    config = replace(gathering, square_roots=True, output=gathering.output / "roots")
    plain, rooted = last_state(gathered), last_state(RunFolder(run(config, toy)[0]))
    held, _ = plain.held_out
    features = held.float()

    def scores(name: str, kept: EndOfState) -> torch.Tensor:
        return build_scorers({"it": parse_method(f"finetune+{name}")}, kept)["it"](features)

    assert torch.equal(scores("siw", plain), scores("siw", rooted))
    born, moved = (rooted.record.statistics[name] for name in ("none", "linear"))
    moved = moved.levelled(rooted.record.class_state == 2)
    square = born.mean.square().sum(1) + born.full.diagonal(dim1=1, dim2=2).sum(1)
    assert (square >= 0.999).all()  # the sum of a unit vector's 16 entries is 1 to 4
    assert (square <= 4.001).all()
    torch.testing.assert_close(
        scores("lda:0.3+linear", rooted), lda(moved, 0.3)(square_roots(features))
    )
    fitted = rooted.fitted["fetril+none"]
    torch.testing.assert_close(scores("fetril", rooted), fitted(square_roots(features)))


def test_statistics_are_of_the_middle_and_rows_are_not(gathering, gathered, toy, short_fits):
    config = replace(gathering, level="middle", output=gathering.output / "middle")
    last, middle = gathered, RunFolder(run(config, toy)[0])
    rows = [name for name in methods_of("finetune") if name != "FT"]
    for state, other in zip(results_with(last, rows), results_with(middle, rows), strict=True):
        for name in rows:  # compared as text, where a nan is equal to itself
            assert str(state["methods"][name]) == str(other["methods"][name])
    kept = last_state(middle)
    assert kept.record.W.shape == (6, 16)
    assert kept.record.statistics["linear"].full.shape == (6, 48, 48)
    # two stages, each at length one: the second moment of the features is 2
    born = kept.record.statistics["none"]
    square = born.mean.square().sum(1) + born.full.diagonal(dim1=1, dim2=2).sum(1)
    torch.testing.assert_close(square, torch.full((6,), 2.0))
    held, _ = kept.held_out
    assert held.shape[1] == 16 + 48
    scorer = build_scorers({"it": parse_method("finetune+lda+linear")}, kept)["it"]
    level = kept.record.statistics["linear"].levelled(kept.record.class_state == 2)
    of_middle = lda(level)(held[:, 16:].float())
    torch.testing.assert_close(scorer(held.float()), of_middle)

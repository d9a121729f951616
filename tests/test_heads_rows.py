"""The paper's heads against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from memoryless import heads

W = torch.tensor([[1.0, 2, 3, 6], [-2.0, 0, 0, 2]])


b = torch.tensor([3.0, -4.0])


ROOT = 14**0.5 / 2  # population std of 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9


EXPECTED = {
    "current": (W, b),
    "initial": (W, b),
    "l2": (W / torch.tensor([[50**0.5], [8**0.5]]), b / 5),
    "mean": (torch.tensor([[-0.4, -0.2, 0, 0.6], [-0.5, 0, 0, 0.5]]), b),
    "min_max": (torch.tensor([[0, 0.2, 0.4, 1], [0, 0.5, 0.5, 1]]), b),
    "siw": (torch.tensor([[-2, -1, 0, 3], [-(2**0.5) * ROOT, 0, 0, 2**0.5 * ROOT]]) / ROOT, b),
}


rows = arrays(np.float32, (3, 8), elements=st.floats(-5, 5, width=32), unique=True)


@pytest.mark.parametrize("name", [h.name for h in heads.HEADS.values() if h.gives_logits])
def test_head_by_hand(name):
    torch.testing.assert_close(heads.HEADS[name].make(W, b), EXPECTED[name])


@pytest.mark.parametrize("name", [h.name for h in heads.HEADS.values() if h.gives_logits])
def test_head_contract(name):
    """Shapes stay, inputs are left alone, and rows without spread give finite numbers."""
    degenerate = torch.stack([torch.zeros(5), torch.full((5,), 0.1), torch.arange(5.0)])
    before = degenerate.clone(), torch.zeros(3)
    out_W, out_b = heads.HEADS[name].make(degenerate, torch.zeros(3))
    assert out_W.shape == (3, 5)
    assert out_b.shape == (3,)
    assert out_W.isfinite().all()
    assert out_b.isfinite().all()
    torch.testing.assert_close(degenerate, before[0])


@given(rows)
def test_siw_is_the_centred_unit_vector(values):
    given_rows = torch.from_numpy(values).double()
    standardised, _ = heads.siw(given_rows, torch.zeros(3, dtype=torch.float64))
    centred = given_rows - given_rows.mean(1, keepdim=True)
    unit = centred / centred.norm(dim=1, keepdim=True)
    torch.testing.assert_close(standardised, 8**0.5 * unit)


@given(rows, arrays(np.float64, 8, elements=st.floats(-5, 5), unique=True))
def test_siw_ranks_as_pearson_correlation(values, feature):
    standardised, _ = heads.siw(torch.from_numpy(values).double(), torch.zeros(3))
    scores = standardised.numpy() @ feature
    correlations = np.array([pearsonr(row, feature).statistic for row in values.astype(np.float64)])
    # score = sqrt(d) |f - mean(f)| r: the same factor for every class
    np.testing.assert_allclose(
        scores, 8**0.5 * np.linalg.norm(feature - feature.mean()) * correlations, atol=1e-6
    )


@pytest.mark.parametrize("name", ["l2", "mean", "min_max", "siw"])
def test_normalised_rows_do_not_depend_on_their_length(name):
    expected, _ = heads.HEADS[name].make(W, b)
    torch.testing.assert_close(heads.HEADS[name].make(W / 1000, b)[0], expected)


@pytest.mark.parametrize("name", ["mean", "min_max", "siw"])
def test_rows_without_spread_become_zero_rows(name):
    """Values whose mean is rounded, so that centring alone would leave something over."""
    flat = torch.tensor([0.1, 1 / 3, 1e4 / 7])[:, None].expand(3, 7)
    assert torch.equal(heads.HEADS[name].make(flat, torch.zeros(3))[0], torch.zeros(3, 7))


def test_lengths_of_biases_below_one_count_too():
    _, biases = heads.l2(W, torch.tensor([0.3, -0.4]))
    torch.testing.assert_close(biases, torch.tensor([0.6, -0.8]))

"""The paper's heads against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from memoryless.stats import heads

W = np.array([[1.0, 2, 3, 6], [-2.0, 0, 0, 2]])
b = np.array([3.0, -4.0])
ROOT = 14**0.5 / 2  # population std of 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9

EXPECTED = {
    "current": (W, b),
    "initial": (W, b),
    "l2": (W / np.array([[50**0.5], [8**0.5]]), b / 5),
    "mean": (np.array([[-0.4, -0.2, 0, 0.6], [-0.5, 0, 0, 0.5]]), b),
    "min_max": (np.array([[0, 0.2, 0.4, 1], [0, 0.5, 0.5, 1]]), b),
    "siw": (np.array([[-2, -1, 0, 3], [-(2**0.5) * ROOT, 0, 0, 2**0.5 * ROOT]]) / ROOT, b),
}
ROW_HEADS = [head.name for head in heads.HEADS.values() if head.gives_logits]

rows = arrays(np.float32, (3, 8), elements=st.floats(-5, 5, width=32), unique=True)


@pytest.mark.parametrize("name", ROW_HEADS)
def test_head_by_hand(name):
    out_W, out_b = heads.HEADS[name].make(W, b)
    np.testing.assert_allclose(out_W, EXPECTED[name][0], atol=1e-12)
    np.testing.assert_allclose(out_b, EXPECTED[name][1])


@pytest.mark.parametrize("name", ROW_HEADS)
def test_head_contract(name):
    """Shapes and precision stay, inputs are left alone; rows without spread become zero rows.

    The mean of equal values is rounded, so that centring alone would leave something over.
    """
    flat = np.array([[0.0] * 7, [0.1] * 7, [1 / 3] * 7, [1e4 / 7] * 7, range(7)], np.float32)
    before = flat.copy()
    out_W, out_b = heads.HEADS[name].make(flat, np.zeros(5, np.float32))
    assert (out_W.shape, out_b.shape) == ((5, 7), (5,))
    assert out_W.dtype == out_b.dtype == np.float32
    assert np.isfinite(out_W).all()
    assert np.isfinite(out_b).all()
    assert np.array_equal(flat, before)
    if name in ("mean", "min_max", "siw"):
        assert not out_W[:4].any()


@given(rows, arrays(np.float64, 8, elements=st.floats(-5, 5), unique=True))
def test_siw_ranks_as_pearson_correlation(values, feature):
    standardised, _ = heads.siw(values.astype(np.float64), np.zeros(3))
    scores = standardised @ feature
    correlations = np.array([pearsonr(row, feature).statistic for row in values.astype(np.float64)])
    # score = sqrt(d) |f - mean(f)| r: the same factor for every class
    np.testing.assert_allclose(
        scores, 8**0.5 * np.linalg.norm(feature - feature.mean()) * correlations, atol=1e-6
    )


@pytest.mark.parametrize("name", ["l2", "mean", "min_max", "siw"])
def test_normalised_rows_do_not_depend_on_their_length(name):
    for found, expected in zip(heads.HEADS[name].make(W / 1000, b), EXPECTED[name], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_biases_shorter_than_one_come_to_length_one():
    np.testing.assert_allclose(heads.l2(W, b / 1000)[1], b / 5)

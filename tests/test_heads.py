"""The paper's heads, mc and folding against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr

from memoryless import heads
from memoryless.build import EndOfState, build_scorers
from memoryless.calibration import fold, mc_factors
from memoryless.lab.scoring import score, share_products
from memoryless.methods import METHODS, methods_of
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.scorers import Linear

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


def test_mc_factors_by_hand():
    mu = torch.tensor([8.0, 2.0, 4.0])
    class_state = torch.tensor([0, 0, 1, 2])
    torch.testing.assert_close(mc_factors(mu, class_state, 2), torch.tensor([0.5, 0.5, 2.0, 1.0]))
    torch.testing.assert_close(mc_factors(mu, class_state[:3], 1), torch.tensor([0.25, 0.25, 1.0]))


@pytest.mark.parametrize(
    ("mu", "expected"), [([0, 4], [1, 1]), ([-1, 4], [1, 1]), ([4, 0], [1, 1]), ([4, -2], [1, 1])]
)
def test_mc_leaves_alone_what_has_no_positive_mu(mu, expected):
    factors = mc_factors(torch.tensor(mu).float(), torch.tensor([0, 1]), 1)
    assert factors.tolist() == expected


@given(
    arrays(np.float32, (5, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, (4, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(0.125, 4, width=32)),
)
def test_folding_equals_scoring_then_calibrating(features, weights, biases, factors):
    f, w, bias, c = map(torch.from_numpy, (features, weights, biases, factors))
    folded = fold(Linear(w, bias), c, bias)
    assert isinstance(folded, Linear)
    expected = (f @ w.T + bias) * c + bias
    torch.testing.assert_close(folded(f), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_as_the_paper_writes_it(name):
    """Eq. 5 spelled out image by image and class by class."""
    method = METHODS[name]
    generator = torch.Generator().manual_seed(1)
    initial_W, current_W = torch.randn(2, 4, 6, generator=generator)
    initial_b, current_b = torch.randn(2, 4, generator=generator)
    record = Record(initial_W, initial_b, torch.tensor([0, 0, 1, 1]), torch.tensor([6.0, 3.0]))
    features = torch.randn(5, 6, generator=generator)
    labels = torch.tensor([0, 1, 2, 3, 0])
    is_current = method.head == "current"
    head_W, head_b = heads.HEADS[method.head].make(
        current_W if is_current else initial_W, current_b if is_current else initial_b
    )
    expected = torch.zeros(5, 4)
    if method.strategy == "lucir":  # whose layer reads features at length one
        features = torch.nn.functional.normalize(features)
    for i in range(5):
        for c in range(4):
            factor = 0.5 if method.calibration == "mc" and c < 2 else 1.0
            expected[i, c] = (features[i] @ head_W[c] + head_b[c]) * factor
    kept = EndOfState(record, (current_W, current_b))
    layer = build_scorers({"it": method}, kept)["it"]
    torch.testing.assert_close(layer(features), expected)
    beside = build_scorers({"it": METHODS["inFT"]}, kept)["it"]
    outcome = score(features, labels, {"inFT": beside, name: layer})[name]
    assert outcome.predictions.tolist() == expected.argmax(1).tolist()
    assert outcome.ranks.tolist() == ranks(expected, labels).tolist()


def test_scoring_in_chunks_changes_nothing(monkeypatch):
    features, labels = torch.randn(50, 6), torch.randint(0, 4, (50,))
    layers = {name: Linear(torch.randn(4, 6), torch.randn(4), name == "b") for name in "ab"}
    whole = score(features, labels, layers)
    monkeypatch.setattr("memoryless.lab.scoring.CHUNK", 7)
    parts = score(features, labels, layers)
    for name in layers:
        assert (whole[name].ranks == parts[name].ranks).all()
        assert (whole[name].predictions == parts[name].predictions).all()


def test_the_nine_methods_need_two_products():
    """One for the current layer, one for all heads of the initial rows, degenerate rows too."""
    record = Record(torch.randn(6, 40), torch.randn(6), torch.arange(6) % 2, torch.tensor([3, 2.0]))
    record.W[2] = 0.7
    record.W[3] = 0
    layer = torch.randn(6, 40), torch.randn(6)
    methods = methods_of("finetune")
    layers = build_scorers(methods, EndOfState(record, layer))
    products, readouts = share_products(layers)
    assert len(products) == 2
    features = torch.rand(30, 40) * 3
    for name, scorer in layers.items():
        r = readouts[name]
        scores = features @ products[r.product].T * r.gain + features.sum(1)[:, None] * r.tilt
        torch.testing.assert_close(scores + r.offset, scorer(features))


def test_scores_of_nan_are_wrong_answers():
    layers = {"a": Linear(torch.full((9, 6), torch.nan), torch.zeros(9))}
    outcome = score(torch.randn(5, 6), torch.arange(5), layers)["a"]
    assert (outcome.ranks == 8).all()


def test_shared_products_are_as_exact_as_direct_ones():
    """Rows far from 0, where a difference of large numbers would lose digits."""
    rows = 1 + 0.01 * torch.randn(40, 64)
    record = Record(rows, torch.zeros(40), torch.zeros(40).long(), torch.ones(1))
    methods = {name: METHODS[name] for name in ("inFT", "inFT_siw")}
    kept = EndOfState(record, (rows, torch.zeros(40)))
    layers = build_scorers(methods, kept)
    features, labels = torch.rand(500, 64), torch.randint(0, 40, (500,))
    exact = features.double() @ layers["inFT_siw"].W.double().T
    wrong = score(features, labels, layers)["inFT_siw"].ranks != ranks(exact, labels).numpy()
    assert wrong.sum() <= 1


def test_other_rows_get_a_product_of_their_own():
    rows = torch.randn(4, 6)
    nudged = rows.clone()
    nudged[3, 5] += 0.01
    products, _ = share_products(
        {n: Linear(w, torch.zeros(4)) for n, w in (("a", rows), ("b", nudged))}
    )
    assert len(products) == 2

"""Many scorers over the same features score as each would alone."""

from __future__ import annotations

import pytest
import torch

from memoryless.build import EndOfState, build_scorers
from memoryless.lab.scoring import score, share_products
from memoryless.methods import METHODS, methods_of
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.scorers import Affine, Linear, Quadratic, Viewed


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


def test_features_may_be_stored_in_half_precision():
    features, labels = torch.randn(9, 6).half(), torch.arange(9) % 4
    layers = {name: Linear(torch.randn(4, 6), torch.randn(4), name == "b") for name in "ab"}
    half, full = (score(f, labels, layers) for f in (features, features.float()))
    for name in layers:
        assert half[name].ranks.tolist() == full[name].ranks.tolist()


def test_features_of_zero_have_scores():
    layers = {"a": Linear(torch.randn(4, 6), torch.tensor([0.0, 3, 1, 2]), unit=True)}
    outcome = score(torch.zeros(2, 6), torch.tensor([1, 0]), layers)["a"]
    assert (outcome.predictions.tolist(), outcome.ranks.tolist()) == ([1, 1], [0, 3])


@pytest.mark.parametrize("unit", [False, True])
def test_features_after_those_of_rows_are_not_read(unit):
    """A run may keep features of the middle behind; scorers without rows still see them."""
    features, labels = torch.randn(9, 10), torch.arange(9) % 4
    rows = Linear(torch.randn(4, 6), torch.randn(4), unit)
    behind = Viewed(Linear(torch.randn(4, 4), torch.randn(4)), 6, False)
    outcomes = score(features, labels, {"rows": rows, "behind": behind})
    for name, scorer in (("rows", rows), ("behind", behind)):
        scores = scorer(features)
        assert outcomes[name].ranks.tolist() == ranks(scores, labels).tolist()
        assert outcomes[name].predictions.tolist() == scores.argmax(1).tolist()


def test_scorers_without_any_layer_are_scored():
    features, labels = torch.randn(5, 3), torch.arange(5) % 2
    quadratic = Quadratic(torch.randn(2, 3), torch.rand(2, 3, 3).triu())
    outcome = score(features, labels, {"it": quadratic})["it"]
    assert outcome.ranks.tolist() == ranks(quadratic(features), labels).tolist()


def test_multiples_of_rows_share_their_product_whatever_their_sign():
    rows = -torch.rand(4, 6) - 1
    factors = torch.tensor([2.0, -1.0, 0.5, 3.0])
    layers = {
        "a": Linear(rows, torch.zeros(4)),
        "b": Linear(rows * factors[:, None], torch.ones(4)),
    }
    products, shared = share_products(layers)
    assert len(products) == 1
    torch.testing.assert_close(shared["b"].gain, factors)
    torch.testing.assert_close(shared["b"].tilt, rows.mean(1) * factors)
    assert shared["b"].offset.tolist() == [1.0] * 4


def test_a_calibration_does_not_spoil_what_it_shares():
    """Scores are overwritten in place, but not those that another scorer starts from."""
    features, labels = torch.randn(9, 3), torch.arange(9) % 2
    base = Quadratic(torch.randn(2, 3), torch.rand(2, 3, 3).triu())
    doubled = Affine(base, torch.tensor([2.0, 1.0]), torch.tensor([0.0, 1.0]))
    scorers = {"first": base, "doubled": doubled, "again": base}
    outcomes = score(features, labels, scorers)
    for name, scorer in scorers.items():
        assert outcomes[name].ranks.tolist() == ranks(scorer(features), labels).tolist()

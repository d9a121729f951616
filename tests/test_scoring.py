"""Many scorers over the same features score as each would alone."""

from __future__ import annotations

import torch

from memoryless.build import EndOfState, build_scorers
from memoryless.lab.scoring import score, share_products
from memoryless.methods import METHODS, methods_of
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.scorers import Linear


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

"""Heads over class statistics against scikit-learn, SciPy and numbers worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.distance import mahalanobis as scipy_mahalanobis
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge

from memoryless.build import EndOfState, build_scorers, choose_shrinkage
from memoryless.calibration import CALIBRATIONS, StateNumbers, block_logsumexp
from memoryless.errors import ConfigError
from memoryless.heads import HEADS, Head, ProjectionSums
from memoryless.heads.classes import lda, mahalanobis, ncm, rda, ridge, ridge_rows
from memoryless.heads.fitted import DECAY, SCALE, fetril, fit_logistic, gaussian_replay
from memoryless.lab.scoring import score
from memoryless.methods import Method
from memoryless.record import Record
from memoryless.scorers import Linear, Quadratic
from memoryless.statistics import Statistics
from test_statistics import EVERY_FORM, gather

Labelled = tuple[torch.Tensor, torch.Tensor]


def on_sphere(number: int = 40, d: int = 6, classes: int = 3) -> Labelled:
    """Unit features of classes around means of length one, where approximations are exact."""
    generator = torch.Generator().manual_seed(3)
    centres = F.normalize(torch.randn(classes, d, generator=generator))
    labels = torch.arange(classes).repeat_interleave(number)
    noise = 0.2 * torch.randn(len(labels), d, generator=generator)
    return F.normalize(centres[labels] + noise), labels


@pytest.fixture
def data() -> Labelled:
    return on_sphere()


@pytest.fixture
def statistics(data) -> Statistics:
    return gather(*data, "full")


def random() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_ncm_ranks_by_cosine(statistics):
    features = torch.randn(20, 6)
    cosines = F.cosine_similarity(features[:, None], statistics.mean[None], dim=2)
    assert (ncm(statistics)(features).argsort(1) == cosines.argsort(1)).all()


def test_lda_is_scikit_learns(data):
    """Means and new features of length one, equal counts: nothing is left to differ."""
    features, labels = data
    means = gather(features, labels, "full").mean
    features = features + (F.normalize(means) - means)[labels]
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(features.numpy(), labels.numpy())
    new = F.normalize(torch.randn(30, 6))
    mine = lda(gather(features, labels, "full"), shrinkage=0.0)(new)
    expected = theirs.decision_function(new.numpy())
    differences = mine - mine[:, :1], expected - expected[:, :1]
    np.testing.assert_allclose(*differences, rtol=1e-3, atol=1e-3)


def test_ridge_is_scikit_learns(data):
    features, labels = data
    gram, hot = features.T @ features, F.one_hot(labels).float()
    g = 0.05
    theirs = Ridge(alpha=g * float(gram.trace()) / 6, fit_intercept=False)
    theirs.fit(features.numpy(), hot.numpy())
    rows = ridge_rows(gram, hot.T @ features, g)
    np.testing.assert_allclose(rows, theirs.coef_, rtol=1e-4, atol=1e-5)
    by_statistics = ridge(gather(features, labels, "full"), g)
    torch.testing.assert_close(by_statistics.W, F.normalize(rows), rtol=1e-3, atol=1e-4)


def test_mahalanobis_is_scipys(statistics):
    features = F.normalize(torch.randn(5, 6))
    scores = mahalanobis(statistics, shrinkage=0.5)(features)
    for c in range(3):
        S = statistics.full[c].double().numpy()
        S = S + 0.5 * np.trace(S) / 6 * np.eye(6)
        width = np.sqrt(np.diag(S))
        inverse = np.linalg.inv(S / np.outer(width, width))
        centre = F.normalize(statistics.mean[c], dim=0).numpy()
        for i, f in enumerate(features.numpy()):
            expected = -(scipy_mahalanobis(f, centre, inverse) ** 2)
            assert scores[i, c] == pytest.approx(expected, rel=1e-3)


def test_rda_by_scipy(statistics):
    """Distances with half the class's and half the shared covariance, on the unit sphere."""
    features = F.normalize(torch.randn(10, statistics.mean.shape[1]))
    length = statistics.mean.norm(dim=1)
    m, own = F.normalize(statistics.mean), statistics.full / length.square()[:, None, None]
    shared = torch.einsum("n,nij->ij", statistics.count / statistics.count.sum(), own)
    scores = rda(statistics, 0.3)(features)
    for c in range(len(m)):
        wide = 0.3 * shared.diagonal().mean() * torch.eye(len(shared))
        inverse = np.linalg.inv(((own[c] + shared) / 2 + wide).double().numpy())
        for i, f in enumerate(features):
            expected = -(scipy_mahalanobis(f.numpy(), m[c].numpy(), inverse) ** 2)
            assert scores[i, c].item() == pytest.approx(expected, rel=1e-3)


def test_quadratic_scores_in_parts_change_nothing(statistics, monkeypatch):
    features = torch.randn(50, 6)
    whole = mahalanobis(statistics)(features)
    monkeypatch.setattr("memoryless.scorers.MOST_VALUES", 100)
    monkeypatch.setattr("memoryless.scorers.COLUMNS", 4)
    torch.testing.assert_close(mahalanobis(statistics)(features), whole)


@pytest.mark.parametrize("form", EVERY_FORM[1:])
@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.reads_statistics and not h.fitted]
)
def test_contract_of_class_heads(head, form):
    """Finite scores, also with fewer images than features, a constant feature, a lone image."""
    features, labels = on_sphere(number=4)
    features[:, 2] = 0.3
    features, labels = features[3:], labels[3:]  # one image of class 0 is left
    scorer = HEADS[head].make(gather(features, labels, form))
    scores = scorer(torch.randn(10, 6))
    assert scores.shape == (10, 3)
    assert scores.isfinite().all()
    quadratic = head in ("mahalanobis", "rda")
    assert scorer.cost == (3 * 6 * 7 // 2 if quadratic else 3 * 6)
    assert isinstance(scorer, Quadratic if quadratic else Linear)
    nothing = gather(torch.zeros(6, 6), torch.arange(6) % 3, form)
    assert HEADS[head].make(nothing)(torch.randn(4, 6)).isfinite().all()


@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.reads_statistics and not h.fitted]
)
def test_class_heads_tell_classes_apart(head, data):
    features, labels = data
    scores = HEADS[head].make(gather(features, labels, "full"))(features)
    assert (scores.argmax(1) == labels).float().mean() > 0.9


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinkages])
def test_a_shrinkage_chosen_without_past_images(head, data):
    """It is one of those offered, and no other is right more often on what was asked."""
    features, labels = data
    statistics = gather(features, labels, "full")
    held_out = features[labels == 2][:9], labels[labels == 2][:9]
    assert choose_shrinkage(HEADS[head], statistics, *held_out) in HEADS[head].shrinkages
    first_state = choose_shrinkage(HEADS[head], statistics, features, labels)
    right = {g: (HEADS[head].make(statistics, g)(features).argmax(1) == labels).sum()
             for g in HEADS[head].shrinkages}  # fmt: skip
    assert right[first_state] == max(right.values())


def test_fetril_moves_the_nearest_new_class(data):
    """Its features have the past class's mean and the donor's covariance."""
    features, labels = data
    statistics = gather(features, labels, "full")
    new = labels > 0
    made, owner = fetril(statistics, features[new], labels[new], random())
    assert (owner == 0).all()
    cosine = F.normalize(statistics.mean[:1]) @ F.normalize(statistics.mean[1:]).T
    donor = 1 + int(cosine.argmax())
    torch.testing.assert_close(made.mean(0), statistics.mean[0])
    torch.testing.assert_close(torch.cov(made.T, correction=0), statistics.full[donor])


def test_gaussian_replay_draws_from_the_past():
    features, labels = on_sphere(number=3000)
    statistics = gather(features, labels, "full")
    new = labels == 2
    made, owner = gaussian_replay(statistics, features[new], labels[new], random())
    assert owner.bincount().tolist() == [3000, 3000]
    for c in (0, 1):
        torch.testing.assert_close(made[owner == c].mean(0), statistics.mean[c], rtol=0, atol=0.02)
        spread = torch.cov(made[owner == c].T, correction=0)
        torch.testing.assert_close(spread, statistics.full[c], rtol=0, atol=0.01)


def test_logistic_regression_is_scikit_learns(data):
    features, labels = data
    theirs = LogisticRegression(C=1 / (DECAY * len(labels)), tol=1e-8, max_iter=5000)
    theirs.fit(SCALE * features.numpy(), labels.numpy())
    mine = fit_logistic(features, labels, 3)
    ours = mine(features).softmax(1)
    np.testing.assert_allclose(ours, theirs.predict_proba(SCALE * features.numpy()), atol=0.05)


@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.fitted and h.reads_statistics]
)
def test_fitted_heads_know_past_and_new(head, data):
    features, labels = data
    statistics = gather(features, labels, "full")
    new = labels > 0
    layer = HEADS[head].make(statistics, features[new], labels[new], random())
    assert (layer(features).argmax(1) == labels).float().mean() > 0.8
    again = HEADS[head].make(statistics, features[new], labels[new], random())
    torch.testing.assert_close(again.W, layer.W, rtol=0, atol=0)
    first = HEADS[head].make(statistics, features, labels, random())  # a first state has no past
    assert (first(features).argmax(1) == labels).float().mean() > 0.9


def test_projection_in_ten_states_is_learning_at_once():
    features, labels = torch.randn(200, 8), torch.arange(200) % 20
    at_once = ProjectionSums.empty(50).add(features, labels, 20)
    in_states = ProjectionSums.empty(50)
    for first in range(0, 20, 2):
        new = (labels >= first) & (labels < first + 2)
        in_states = in_states.add(features[new], labels[new], 2)
    torch.testing.assert_close(in_states.sums, at_once.sums)
    test = torch.randn(30, 8)
    torch.testing.assert_close(
        in_states.scorer(8)(test), at_once.scorer(8)(test), rtol=1e-4, atol=1e-4
    )
    assert at_once.scorer(8).cost == 8 * 50 + 50 * 20


NUMBERS = StateNumbers(
    torch.tensor([4.0, 2.0, 3.0]),
    torch.tensor([0, 0, 0, 1, 1, 2, 2]),
    (torch.randn(12, 5, generator=random()), torch.tensor([5, 6] * 6)),
)


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("unit", [False, True])
def test_contract_of_calibrations(name, unit):
    """Finite, and no change of order within a state; a linear scorer is left alone or folded."""
    scorer = Linear(torch.randn(7, 5), torch.randn(7), unit)
    features = torch.randn(40, 5)
    calibrated = CALIBRATIONS[name].fit(scorer, NUMBERS)
    scores = calibrated(features)
    assert scores.isfinite().all()
    assert isinstance(calibrated, Linear) == (name not in ("block_z", "energy"))
    assert calibrated.cost == scorer.cost
    for state in range(3):
        block = NUMBERS.class_state == state
        before, after = (s[:, block].argsort(1) for s in (scorer(features), scores))
        assert (before == after).all()


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrations_bear_scores_without_spread(name):
    flat = Linear(torch.zeros(7, 5), torch.zeros(7))
    assert CALIBRATIONS[name].fit(flat, NUMBERS)(torch.randn(4, 5)).isfinite().all()


@pytest.mark.parametrize("name", ["bg_z", "block_z", "energy"])
def test_scorers_that_are_not_linear_are_calibrated_too(name, statistics):
    quadratic = mahalanobis(statistics)
    numbers = StateNumbers(
        torch.ones(2), torch.tensor([0, 1, 1]), (torch.randn(4, 6), torch.ones(4).long())
    )
    scores = CALIBRATIONS[name].fit(quadratic, numbers)(torch.randn(3, 6))
    assert scores.shape == (3, 3)
    assert scores.isfinite().all()


def test_a_head_is_made_and_scored_once_for_all_its_calibrations(monkeypatch):
    calls = []

    class Counting:
        cost = 0

        def __call__(self, features: torch.Tensor) -> torch.Tensor:
            calls.append(len(features))
            return features @ torch.ones(5, 7)

    def make(statistics: Statistics) -> Counting:
        calls.append("made")
        return Counting()

    monkeypatch.setitem(HEADS, "ncm", Head("ncm", "counts", "means", make))
    record = Record(torch.zeros(7, 5), torch.zeros(7), NUMBERS.class_state, NUMBERS.mu)
    record = replace(record, statistics={"none": Statistics(torch.ones(7), torch.zeros(7, 5))})
    kept = EndOfState(record, (record.W, record.b), held_out=NUMBERS.held_out)
    names = ("none", "bg_z", "block_z", "energy")
    scorers = build_scorers({c: Method("finetune", "ncm", c) for c in names}, kept)
    assert calls == ["made", 12, 12]  # bg_z and energy look at the held-out images
    score(torch.rand(9, 5), torch.zeros(9, dtype=torch.long), scorers)
    assert calls[3:] == [9]


def test_bg_z_by_hand():
    """Two states of one and two classes; held-out images of class 2 score as their features."""
    features = torch.tensor([[1.0, 2, 9], [3.0, 6, 9]])
    numbers = StateNumbers(torch.ones(2), torch.tensor([0, 1, 1]), (features, torch.tensor([2, 2])))
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(3), torch.zeros(3)), numbers)
    # state 0: 1 and 3, mean 2, deviation 1; state 1 without the own class: 2 and 6, mean 4, 2
    torch.testing.assert_close(scorer(torch.tensor([[4.0, 4, 8]])), torch.tensor([[2.0, 0, 2]]))


def test_block_z_by_hand():
    numbers = StateNumbers(torch.ones(2), torch.tensor([0, 0, 1, 1]))
    scorer = CALIBRATIONS["block_z"].fit(Linear(torch.eye(4), torch.zeros(4)), numbers)
    scores = scorer(torch.tensor([[1.0, 3, 10, 50]]))
    torch.testing.assert_close(scores, torch.tensor([[-1.0, 1, -1, 1]]))


def test_energy_by_hand():
    class_state = torch.tensor([0, 0, 1])
    held_out = torch.tensor([[0.0, 0, 1], [0.0, 0, 5]])
    numbers = StateNumbers(torch.ones(2), class_state, (held_out, torch.tensor([2, 2])))
    scorer = CALIBRATIONS["energy"].fit(Linear(torch.eye(3), torch.zeros(3)), numbers)
    scores = scorer(torch.tensor([[1.0, 1, 7]]))
    # state 1: logsumexp 1 and 5, mean 3, deviation 2; 7 is 2 deviations up and alone in its state
    assert scores[0, 2] == pytest.approx(2.0)
    # state 0: always log 2, no deviation: 1 + log 2 is 1 above its mean; log-softmax is -log 2
    assert scores[0, 0] == pytest.approx(1 - np.log(2))
    torch.testing.assert_close(
        block_logsumexp(held_out, class_state, 2)[:, 1], torch.tensor([1.0, 5.0])
    )


def test_without_held_out_images_there_is_no_background():
    numbers = StateNumbers(torch.ones(1), torch.zeros(2).long())
    with pytest.raises(ConfigError, match="train with `held_out"):
        CALIBRATIONS["bg_z"].fit(Linear(torch.eye(2), torch.zeros(2)), numbers)


def test_a_lone_new_class_is_no_outlier_by_bg_z():
    """Its only images are its own: it is moved and scaled as other states are."""
    numbers = StateNumbers(
        torch.ones(2), torch.tensor([0, 0, 1]), (torch.tensor([[1.0, 3, 90]]), torch.tensor([2]))
    )
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(3), torch.zeros(3)), numbers)
    torch.testing.assert_close(scorer(torch.tensor([[2.0, 3, 4]])), torch.tensor([[0.0, 1, 2]]))


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinkages])
def test_no_shrinkage_at_all_and_more_features_than_images(head):
    """Singular covariances with one wide direction, where rounding decides."""
    generator = random()
    features = torch.randn(3 * 20, 128, generator=generator) * torch.logspace(2, -3, 128)
    labels = torch.arange(60) % 3
    statistics = gather(features, labels, "full")
    assert HEADS[head].make(statistics, 0.0)(features).isfinite().all()
    draws, _ = gaussian_replay(statistics, features[labels == 2], labels[labels == 2], generator)
    assert draws.isfinite().all()

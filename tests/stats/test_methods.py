"""Methods: those with a meaning, a sentence for each of the others, and the scorers they make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import gather, single
from memoryless.errors import ConfigError
from memoryless.lab.evaluate import score
from memoryless.settings import ModelSettings
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.class_statistics import ClassStatistics, Group
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import (
    METHODS,
    Method,
    build_scorer,
    grid_of,
    headline,
    lacking,
    methods_of,
    needed,
    parse_method,
    parts_used,
)
from memoryless.stats.metrics import ranks
from memoryless.stats.record import EndOfState, Record
from memoryless.stats.scorers import Linear, View, unit
from memoryless.strategies import STRATEGIES


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("inFT_siw_mc", ("finetune", "siw", "mc")),
        ("lwf_kd", ("lwf_kd", "current", "none")),
        ("lwf_kd+mc", ("lwf_kd", "current", "mc")),
        ("frozen+siw", ("frozen", "siw", "none")),
        *((f"finetune+lda:{g}", ("finetune", "lda", "none", "none", g)) for g in ("0", "1e-4")),
    ],
)
def test_methods_by_name_and_by_parts(name, parts):
    assert parse_method(name) == Method(*parts)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lucir+siw", "its row heads are current"),
        ("joint+initial", "its row heads are current"),
        ("finetune+siw+md", "unknown head, calibration or transport 'md'"),
        ("finetume+siw", "did you mean 'finetune'"),
        ("finetune+siw+mc+mc", "more than one calibration"),
        ("finetune+lda+mc", "head lda has none"),
        ("finetune+ncm+widened", "head ncm reads means: choose none or"),
        ("finetune+siw+linear", "head siw reads rows: choose none"),
        ("fixed+lda+linear", "never does: leave it out"),
        ("finetune+projection", "the strategy frozen"),
        ("finetune+ncm:3", "only lda, mahalanobis, rda, ridge take"),
        *((f"finetune+lda:{g}", "number from 0 up") for g in ("-1", "inf", "nan", "auto", "0,3")),
    ],
)
def test_other_names_are_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        parse_method(name)


def test_settings_that_a_method_needs_are_those_that_it_lacks_without_them():
    plain = ModelSettings()
    for method in (method for strategy in STRATEGIES for method in grid_of(strategy).values()):
        head, needs = HEADS[method.head], needed(method, plain)
        measured = head.reads_statistics or method.transport != "none"
        least = "full" if head.reads == "covariances" else "mean"
        assert needs.get("statistics") == (least if measured else None)
        assert needs.get("projection") == (1000 if head.reads == "projection" else None)
        assert needs.get("held_out") == (0.1 if CALIBRATIONS[method.calibration].held_out else None)
        full = replace(plain, **needs)
        assert lacking(method, full) is None, method
        for name in needs:
            without = replace(full, **{name: getattr(plain, name)})
            assert f"`{name}=" in (lacking(method, without) or ""), (method, name)
        with_means = replace(full, statistics="mean")
        assert bool(lacking(method, with_means)) == (head.reads == "covariances")
        advice = f"train with `transports={method.transport}`" if measured else None
        assert lacking(method, replace(full, transports=("other",))) == advice
        given = ModelSettings(statistics="tied", projection=50, held_out=0.3)
        assert needed(method, given).keys() <= {"transports"}  # what is given stays


LEDGER = ["W", "b", "class_state", "mu", "none.count", "none.mean", "none.own", "linear.count"]
LEDGER += ["linear.mean", "linear.own", "projection.gram", "projection.sums"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("FT", ""),
        ("finetune+mc", "class_state mu"),
        ("inFT", "W b"),
        ("inFT_siw_mc", "W b class_state mu"),
        ("finetune+siw+bg_z", "W b class_state"),
        ("finetune+ncm", "none.mean"),
        ("finetune+ncm+linear", "linear.mean"),
        ("finetune+lda+linear", "linear.count linear.mean linear.own"),
        ("frozen+projection", "projection.gram projection.sums"),
    ],
)
def test_parts_of_the_record_that_a_method_reads(name, parts):
    assert parts_used(parse_method(name), dict.fromkeys(LEDGER, 1)) == parts.split()


def test_methods_of_a_strategy_beyond_the_paper_are_those_of_fine_tuning():
    named = [(m.head, m.calibration) for m in methods_of("finetune").values()]
    for strategy in STRATEGIES.keys() - {m.strategy for m in METHODS.values()}:
        methods = methods_of(strategy)
        assert [(m.head, m.calibration) for m in methods.values()] == named
        assert {m.strategy for m in methods.values()} == {strategy}
        assert all(parse_method(name) == method for name, method in methods.items())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_headline_of_every_strategy_has_at_most_six_methods_and_begins_with_itself(strategy):
    named = methods_of(strategy) | grid_of(strategy)
    shown = headline(named)
    assert shown[0] == strategy
    assert 1 < len(shown) <= 6
    moved = "" if STRATEGIES[strategy].backbone_stays else "+widened"
    assert shown[-1] == f"{strategy}+{STRATEGIES[strategy].recommended}{moved}"


def test_a_headline_shows_what_there_is_under_its_strongest_transport():
    names = ["inFT_siw", "FT", "inFT_siw_mc"]
    names += ["finetune+lda:0.3", "finetune+ncm", "finetune+ncm+sdc"]
    assert headline(names) == ["FT", "inFT_siw", "finetune+ncm"]
    assert headline([*names, "finetune+ncm+linear"])[-1] == "finetune+ncm+linear"
    assert headline([]) == []


STATES = np.array([0, 0, 1])


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_as_the_paper_writes_it(name):
    """Eq. 5 spelled out image by image and class by class."""
    method = METHODS[name]
    (initial_W, current_W), (initial_b, current_b) = single(2, 4, 6, seed=1), single(2, 4, seed=2)
    record = Record(initial_W, initial_b, np.array([0, 0, 1, 1]), np.array([6, 3], np.float32))
    features, labels = single(5, 6, seed=3), np.array([0, 1, 2, 3, 0])
    is_current = method.head == "current"
    head_W, head_b = HEADS[method.head].make(
        current_W if is_current else initial_W, current_b if is_current else initial_b
    )
    expected = np.zeros((5, 4))
    if method.strategy == "lucir":  # whose layer reads features at length one
        features = unit(features)
    for i in range(5):
        for c in range(4):
            factor = 0.5 if method.calibration == "mc" and c < 2 else 1.0
            expected[i, c] = (features[i] @ head_W[c] + head_b[c]) * factor
    end = EndOfState(record, (current_W, current_b))
    assert_close(build_scorer(method, end)(features), expected)
    outcome = score(features, labels, {"inFT": METHODS["inFT"], name: method}, end)[name]
    assert outcome.predictions.tolist() == expected.argmax(1).tolist()
    assert outcome.ranks.tolist() == ranks(expected, labels).tolist()


@pytest.mark.parametrize("view", [View(), View(3), View(0, True), View(3, True)])
def test_heads_over_statistics_read_their_view_and_rows_do_not(view):
    features, d = np.abs(single(9, 8)), 8 - view.start
    W, b = single(2, view.start or 8, seed=1), np.zeros(2, np.float32)
    statistics = ClassStatistics(np.ones(2), (Group(single(2, d, seed=2)),))
    record = Record(W, b, np.zeros(2, int), np.ones(1), {"none": statistics})
    fitted = Linear(single(2, d, seed=3), b)
    kept = {"fetril+none": fitted, "none+fetril": Linear(W, b)}
    end = EndOfState(record, (W, b), kept, view=view)
    methods = {head: Method("finetune", head) for head in ("initial", "current", "ncm", "fetril")}
    made = {head: build_scorer(method, end) for head, method in methods.items()}
    assert_close(made["initial"](features), features[:, : view.start or 8] @ W.T)
    assert_close(made["current"](features), made["initial"](features))
    assert_close(made["ncm"](features), HEADS["ncm"].over(statistics)(view(features)))
    assert_close(made["fetril"](features), fitted(view(features)))
    assert isinstance(made["ncm"], Linear) == (view == View())


def end_with(statistics: ClassStatistics) -> EndOfState:
    """Two past classes and a new one, of six features."""
    rows, biases = np.zeros((3, 6), np.float32), np.zeros(3, np.float32)
    record = Record(rows, biases, STATES, np.ones(2, np.float32), {"none": statistics})
    return EndOfState(record, (rows, biases))


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinkage is not None])
def test_a_shrinkage_in_a_methods_name_is_used(head, data):
    statistics = gather(*data, "full").levelled(STATES == 1)
    end = end_with(statistics)
    for name, used in (("", HEADS[head].shrinkage), ("0.5", 0.5), ("0", 0.0)):
        found = build_scorer(Method("finetune", head, shrinkage=name), end)
        np.testing.assert_allclose(
            found(data[0]), HEADS[head].make(statistics, used)(data[0]), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize(("strategy", "levels"), [("finetune", True), ("frozen", False)])
@pytest.mark.parametrize("head", ["lda", "rda"])
def test_lengths_are_levelled_where_the_backbone_changed(head, strategy, levels, data):
    features = np.where(data[1][:, None] == 2, data[0], data[0] / 2)  # past means are short
    statistics = gather(features, data[1], "full")
    made = build_scorer(Method(strategy, head), end_with(statistics))
    read = statistics.levelled(STATES == 1) if levels else statistics
    assert_close(made(data[0]), HEADS[head].over(read)(data[0]))


@pytest.mark.parametrize(
    ("fixed", "name", "used"), [(False, "", 0.1), (True, "", 1.0), (True, "0.3", 0.3)]
)
def test_statistics_of_fixed_features_have_a_shrinkage_of_their_own(fixed, name, used, data):
    statistics, lda = ClassStatistics.of(*data, 3, fixed=fixed), HEADS["lda"]
    made = build_scorer(Method("untrained", "lda", shrinkage=name), end_with(statistics))
    assert_close(made(data[0]), lda.make(statistics, used)(data[0]))

"""Methods by name: those with a meaning, and one sentence for each of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryless.errors import ConfigError
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import (
    METHODS,
    Method,
    grid_of,
    headline,
    lacking,
    methods_of,
    parse_method,
    parts_used,
    settings_for,
)
from memoryless.strategies import STRATEGIES
from memoryless.train.settings import ModelSettings


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


def every_method() -> list[Method]:
    """The grid of every strategy."""
    return [method for strategy in STRATEGIES for method in grid_of(strategy).values()]


def test_what_settings_a_method_needs_is_what_it_lacks_without_them():
    plain = ModelSettings()
    for method in every_method():
        needs = settings_for(method, plain)
        full = replace(plain, **needs)
        assert lacking(method, full) is None, method
        for name in needs.keys() - {"transports"}:
            without = replace(full, **{name: getattr(plain, name)})
            assert f"`{name}=" in (lacking(method, without) or ""), (method, name)
        assert needs["transports"] == (method.transport,)


def test_settings_that_a_method_needs():
    for method in every_method():
        head, moved = HEADS[method.head], method.transport != "none"
        needs = settings_for(method, ModelSettings())
        measured = head.reads_statistics or moved
        least = "full" if head.reads == "covariances" else "mean"
        assert needs.get("statistics") == (least if measured else None)
        assert needs.get("projection") == (1000 if head.reads == "projection" else None)
        assert needs.get("held_out") == (0.1 if CALIBRATIONS[method.calibration].held_out else None)
        with_means = replace(ModelSettings(), **needs | {"statistics": "mean"})
        assert bool(lacking(method, with_means)) == (head.reads == "covariances")
        other = replace(ModelSettings(), **needs | {"transports": ("other",)})
        advice = f"train with `transports={method.transport}`" if measured else None
        assert lacking(method, other) == advice


def test_what_is_given_stays():
    given = ModelSettings(statistics="tied", projection=50, held_out=0.3)
    for method in every_method():
        assert settings_for(method, given) == {"transports": (method.transport,)}


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

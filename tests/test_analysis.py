"""Tables made of finished runs without training."""

from __future__ import annotations

import pytest

from memoryless.errors import ConfigError
from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.analysis.summary import summarise
from memoryless.methods import METHODS, Method, parse_method


def test_methods_by_name_and_by_parts():
    assert parse_method("inFT_siw_mc") == METHODS["inFT_siw_mc"]
    assert parse_method("lwf_kd") == Method("lwf_kd", "current", "none")
    assert parse_method("lwf_kd+mc") == Method("lwf_kd", "current", "mc")
    assert parse_method("frozen+siw") == Method("frozen", "siw", "none")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lucir+siw", "head siw has no meaning for lucir: its row heads are current"),
        ("joint+initial", "head initial has no meaning for joint"),
        ("finetune+siw+md", "unknown head, calibration or transport 'md'"),
        ("finetume+siw", "did you mean 'finetune'"),
        ("finetune+siw+mc+mc", "names more than one calibration"),
        ("finetune+lda+mc", "compares logits, and head lda has none"),
        (
            "finetune+lda+backward",
            "moves rows, and head lda reads covariances: choose none or linear",
        ),
        (
            "finetune+ncm+widened",
            "moves covariances, and head ncm reads means: choose none or",
        ),
        (
            "finetune+siw+linear",
            "and head siw reads rows: choose none or backward",
        ),
        ("finetune+projection", "the strategy frozen"),
        ("finetune+ncm:3", "only lda, mahalanobis, rda, ridge take a shrinkage"),
        ("finetune+lda:much", "a number from 0 up, or auto"),
    ],
)
def test_methods_that_are_none(name, message):
    with pytest.raises(ConfigError, match=message):
        parse_method(name)


def test_rescoring_gives_what_the_run_scored(finished):
    names = ["FT", "inFT_siw_mc", "finetune+l2+mc", "lwf+siw"]
    stored = finished.results()
    for state, again in zip(stored, results_with(finished, names), strict=True):
        assert list(again["methods"]) == names[:3]  # lwf is another strategy
        assert again["methods"]["FT"]["top1"] == state["methods"]["FT"]["top1"]
        assert again["methods"]["finetune+l2+mc"]["top5"] == state["methods"]["inFT_L2_mc"]["top5"]


def test_new_combinations_are_summarised(finished):
    (row,) = summarise([finished], methods=["finetune+min_max+mc"])
    assert row.method == "finetune+min_max+mc"
    assert 0 <= row.top1 <= 100

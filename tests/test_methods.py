"""Methods by name: those with a meaning, and one sentence for each of the others."""

from __future__ import annotations

import pytest

from memoryless.errors import ConfigError
from memoryless.heads import HEADS
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
        (
            "finetune+ncm:3",
            f"only {', '.join(h.name for h in HEADS.values() if h.shrinkages)} take a shrinkage",
        ),
        ("finetune+lda:much", "a number from 0 up, or auto"),
    ],
)
def test_methods_that_are_none(name, message):
    with pytest.raises(ConfigError, match=message):
        parse_method(name)

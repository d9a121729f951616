"""memoryless list explains everything in the tables."""

from __future__ import annotations

import pytest

from conftest import call
from memoryless.embed import WITH_LITE2
from memoryless.lab.list_names import KINDS, about, meanings
from memoryless.lab.presets import PRESETS
from memoryless.stats.methods import METHODS, method_name
from memoryless.strategies import STRATEGIES
from memoryless.train.backbones import BACKBONES
from memoryless.train.schedules import LR_RULES, SCHEDULES


def test_list_explains_everything(capsys):
    code, out, _ = call("list", capsys=capsys)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert [line for line in out.splitlines() if not line.startswith(" ")] == KINDS
    text = " ".join(out.split())
    for kind in KINDS:
        for name, meaning in meanings(kind).items():
            assert len(meaning) > 5, (kind, name)
            assert " ".join(f"{name} {meaning}".split()) in text


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_alone(kind, capsys):
    head, *lines = call("list", kind, capsys=capsys)[1].splitlines()
    assert head == kind
    named = [line.split()[0] for line in lines if line[2:3].strip()]
    assert named[-len(meanings(kind)) :] == [name.split()[0] for name in meanings(kind)]


def test_every_backbone_is_explained():
    others = [WITH_LITE2, "timm:NAME", "onnx:FILE", "none"]
    assert [*BACKBONES, *others] == [*meanings("backbones")]


def test_a_method_has_its_name_in_the_paper_beside_it(capsys):
    out = " ".join(call("list", "methods", capsys=capsys)[1].split())
    for name, method in METHODS.items():
        assert f" {method_name(method)} {name} in the paper: " in out
    for name, one in STRATEGIES.items():
        row = f" {name}+{one.recommended}"
        assert (row in out) == one.memoryless
    assert " finetune+rda+widened the reference method of finetune " in out
    assert " untrained+lda the control " in out


@pytest.mark.parametrize(
    ("entry", "meaning"),
    [("as it is", "as it is"),
     (SCHEDULES["cosine"], "lower the learning rate to 0 along half a cosine"),
     (LR_RULES["t"], "lr/t in state t, as in the paper's text"),
     (PRESETS["ilsvrc"], "ILSVRC, 1,000 classes, as published")],
)  # fmt: skip
def test_a_meaning_is_said_where_the_thing_is_defined(entry, meaning):
    assert about(entry) == meaning

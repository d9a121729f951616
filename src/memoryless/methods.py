"""The paper's names for (strategy, head, calibration)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    strategy: str
    head: str
    calibration: str = "none"


METHODS: dict[str, Method] = {
    "FT": Method("finetune", "current"),
    "inFT": Method("finetune", "initial"),
    "inFT_L2": Method("finetune", "l2"),
    "inFT_mc": Method("finetune", "initial", "mc"),
    "inFT_L2_mc": Method("finetune", "l2", "mc"),
    "inFT_mean": Method("finetune", "mean"),
    "inFT_min_max": Method("finetune", "min_max"),
    "inFT_siw": Method("finetune", "siw"),
    "inFT_siw_mc": Method("finetune", "siw", "mc"),
    "LwF": Method("lwf", "current"),
    "inLwF": Method("lwf", "initial"),
    "inLwF_siw": Method("lwf", "siw"),
    "inLwF_siw_mc": Method("lwf", "siw", "mc"),
    "LUCIR": Method("lucir", "current"),
    "LUCIR_mc": Method("lucir", "current", "mc"),
    "Full": Method("joint", "current"),
}


def methods_of(strategy: str) -> dict[str, Method]:
    """All methods that one training with this strategy serves.

    A strategy that the paper does not name serves the combinations that the paper has of
    fine-tuning, called `strategy+head+calibration`.

    >>> list(methods_of("lucir"))
    ['LUCIR', 'LUCIR_mc']
    >>> list(methods_of("frozen"))[:4]
    ['frozen', 'frozen+initial', 'frozen+l2', 'frozen+initial+mc']
    """
    named = {name: method for name, method in METHODS.items() if method.strategy == strategy}
    if named:
        return named
    combinations = [(m.head, m.calibration) for m in METHODS.values() if m.strategy == "finetune"]
    return {_name(strategy, *c): Method(strategy, *c) for c in combinations}


def parse_method(name: str) -> Method:
    """A method by the paper's name, or as `strategy+head+calibration`.

    >>> parse_method("frozen+l2+mc")
    Method(strategy='frozen', head='l2', calibration='mc')
    """
    if name in METHODS:
        return METHODS[name]
    strategy, *rest = name.split("+")
    head = rest.pop(0) if rest and rest[0] != "mc" else "current"
    return Method(strategy, head, *rest)


def parts_used(method: Method) -> tuple[str, ...]:
    """What a method reads of a record.

    >>> parts_used(METHODS["FT"]), parts_used(METHODS["LUCIR_mc"])
    ((), ('class_state', 'mu'))
    """
    rows = () if method.head == "current" else ("W", "b")
    return rows + (() if method.calibration == "none" else ("class_state", "mu"))


def _name(strategy: str, head: str, calibration: str) -> str:
    parts = [strategy] if (head, calibration) == ("current", "none") else [strategy, head]
    return "+".join(parts + [calibration] * (calibration != "none"))

"""Methods by name, the paper's and any strategy+head+calibration+transport with a meaning, and
the scorers that they make of what a state left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from memoryless.errors import ConfigError
from memoryless.names import choose, in_words
from memoryless.stats.calibration import CALIBRATIONS, fold
from memoryless.stats.heads import HEADS
from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import Linear, Scorer, View, Viewed
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES


@dataclass(frozen=True)
class Method:
    """A method names its strategy, head, calibration and transport."""

    strategy: str
    head: str = "current"
    calibration: str = "none"
    transport: str = "none"
    shrinkage: str = ""
    """Shrinkage of covariances: a number, or nothing for the head's own."""


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
    """Return all methods of the paper's kind that one training with this strategy serves.

    A strategy that the paper does not name serves the combinations that the paper has of
    fine-tuning.

    >>> list(methods_of("lucir"))
    ['lucir', 'lucir+current+mc']
    >>> list(methods_of("frozen"))[:4]
    ['frozen', 'frozen+initial', 'frozen+l2', 'frozen+initial+mc']
    """
    named = [method for method in METHODS.values() if method.strategy == strategy]
    of_finetune = [(m.head, m.calibration) for m in METHODS.values() if m.strategy == "finetune"]
    methods = named or [Method(strategy, *combination) for combination in of_finetune]
    return {method_name(method): method for method in methods}


def grid_of(strategy: str) -> dict[str, Method]:
    """Return every head, calibration and transport that means something with this strategy.

    >>> [name for name in grid_of("finetune") if "ncm" in name][:4]
    ['finetune+ncm', 'finetune+ncm+linear', 'finetune+ncm+sdc', 'finetune+ncm+bg_z']
    """
    combinations = [
        Method(strategy, head, calibration, transport)
        for head in HEADS
        for calibration in CALIBRATIONS
        for transport in TRANSPORTS
    ]
    return {method_name(method): method for method in combinations if not misfit(method)}


SHOWN_FIRST = ("current", "initial", "siw", "ncm", "lda", "rda")
STRONGEST = ("widened", "linear", "none")


def headline(names: Iterable[str]) -> list[str]:
    """Return a strategy's methods to show first, each under its strongest transport.

    The last is the one that is recommended. The order is fixed, so that no test image has a part
    in the choice; it was found on held-out images.

    >>> headline(["finetune", "finetune+siw", "finetune+rda", "finetune+rda+linear"])
    ['finetune', 'finetune+siw', 'finetune+rda+linear']
    """
    methods = {name: parse_method(name) for name in names}
    plain = {  # by head and transport
        (m.head, m.transport): name
        for name, m in methods.items()
        if m.calibration == "none" and not m.shrinkage
    }
    strategies = [STRATEGIES[m.strategy] for m in methods.values()]
    transports = ("none",) if any(s.backbone_stays for s in strategies) else STRONGEST
    last = {s.recommended for s in strategies}
    heads = sorted(SHOWN_FIRST, key=lambda head: head in last)
    found = [[plain[h, t] for t in transports if (h, t) in plain] for h in heads]
    return [names[0] for names in found if names]


def parse_method(name: str) -> Method:
    """Return a method by the paper's name, or by its parts after the strategy, in any order.

    >>> parse_method("frozen+l2+mc")
    Method(strategy='frozen', head='l2', calibration='mc', transport='none', shrinkage='')
    >>> parse_method("lwf_kd+linear+lda:0.3").shrinkage
    '0.3'
    """
    if name in METHODS:
        return METHODS[name]
    strategy, *parts = name.split("+")
    if parts:
        choose("strategy", strategy, STRATEGIES)
    else:  # a name of the paper may be meant
        choose("method", name, {**METHODS, **STRATEGIES})
    found: dict[str, str] = {}
    kinds = dict.fromkeys(HEADS, "head") | dict.fromkeys(CALIBRATIONS, "calibration")
    kinds |= dict.fromkeys(TRANSPORTS, "transport")
    for part in parts:
        plain, _, shrinkage = part.partition(":")
        kind = choose("head, calibration or transport", plain, kinds)
        if kind in found:
            raise ConfigError(f"method '{name}' names more than one {kind}")
        found[kind] = plain
        if shrinkage:
            found["shrinkage"] = _shrinkage(name, plain, shrinkage)
    method = Method(strategy, **found)
    if problem := misfit(method):
        raise ConfigError(problem)
    return method


def method_name(method: Method) -> str:
    """Return a method's name by its parts, defaults left out.

    >>> method_name(Method("lwf_kd", "lda", "none", "linear", "0.3"))
    'lwf_kd+lda:0.3+linear'
    """
    head = f"{method.head}:{method.shrinkage}" if method.shrinkage else method.head
    if (head, method.calibration) == ("current", "none"):
        return method.strategy
    rest = [part for part in (method.calibration, method.transport) if part != "none"]
    return "+".join([method.strategy, head, *rest])


def paper_name(method: Method) -> str:
    """Return a method's name in the paper, or nothing.

    >>> paper_name(parse_method("finetune+mc+siw")), paper_name(parse_method("frozen"))
    ('inFT_siw_mc', '')
    """
    return next((name for name, same in METHODS.items() if same == method), "")


def _shrinkage(name: str, head: str, text: str) -> str:
    if head not in HEADS or HEADS[head].shrinkage is None:
        able = [other.name for other in HEADS.values() if other.shrinkage is not None]
        raise ConfigError(f"method '{name}': only {', '.join(able)} take a shrinkage")
    try:
        sound = 0 <= float(text) < math.inf
    except ValueError:
        sound = False
    if not sound:
        raise ConfigError(f"method '{name}': a shrinkage is a number from 0 up")
    return text


def misfit(method: Method) -> str | None:
    """Say why the parts of a method do not go together, if so."""
    strategy, head = STRATEGIES[method.strategy], HEADS[method.head]
    calibration, transport = CALIBRATIONS[method.calibration], TRANSPORTS[method.transport]
    allowed = strategy.row_heads
    if head.gives_logits and allowed and head.name not in allowed:
        return (
            f"head {head.name} has no meaning for {method.strategy}: its row heads are "
            f"{', '.join(allowed)}"
        )
    if head.reads == "projection" and not strategy.backbone_stays:
        return (
            f"head {head.name} needs a backbone that stays as it is: the strategy frozen, fixed or "
            "untrained"
        )
    if calibration.logits_only and not head.gives_logits:
        return (
            f"calibration {calibration.name} compares logits, and head {head.name} has none: "
            "choose another"
        )
    if transport.name != "none" and not strategy.backbone_learns:
        return (
            f"transport {transport.name} moves what was kept when the backbone learns, and with "
            f"{method.strategy} it never does: leave it out"
        )
    if head.reads not in transport.moves:
        able = [t.name for t in TRANSPORTS.values() if head.reads in t.moves]
        return (
            f"transport {transport.name} moves {' and '.join(transport.moves)}, and head "
            f"{head.name} reads {head.reads}: choose {' or '.join(able)}"
        )
    return None


def needed(method: Method, settings: Any) -> dict[str, Any]:
    """Return settings, with values, that training needs for this method and does not have yet."""
    head = HEADS[method.head]
    needs: dict[str, Any] = {}
    if head.reads == "projection" and not settings.projection:
        needs["projection"] = 1000
    if head.reads_statistics or method.transport != "none":
        if head.reads == "covariances" and settings.statistics in ("none", "mean"):
            needs["statistics"] = "full"
        elif settings.statistics == "none":
            needs["statistics"] = "mean"
        if method.transport not in settings.transports:
            needs["transports"] = (method.transport,)
    if CALIBRATIONS[method.calibration].held_out and not settings.held_out:
        needs["held_out"] = 0.1
    return needs


def lacking(method: Method, settings: Any) -> str | None:
    """Say which settings a training lacked for this method, if any."""
    needs = needed(method, settings)
    if "statistics" in needs:
        needs["statistics"] = "full"  # which serves every head
    found = [f"`{name}={in_words(value)}`" for name, value in needs.items()]
    return f"train with {' and '.join(found)}" if found else None


def bytes_needed(method: Method, record: Mapping[str, np.ndarray]) -> int:
    """Return the bytes of the past that a method reads, of a record with these arrays.

    A head over one covariance for all classes needs one triangle, even of a record that holds a
    covariance of each class.

    >>> record = {"none.count": np.zeros(3), "none.mean": np.zeros((3, 4))}
    >>> record["none.own"] = np.zeros((3, 4, 4))
    >>> [bytes_needed(Method("finetune", head), record) // 8 for head in ("ncm", "lda", "rda")]
    [12, 25, 63]
    """
    used = {part: record[part] for part in parts_used(method, record)}
    whole = sum(array.nbytes for array in used.values())
    covariances = [used[part] for part in used if part.endswith((".own", ".factors", ".rest"))]
    if not HEADS[method.head].one_covariance or not covariances:
        return whole
    d, of_covariances = covariances[0].shape[-1], sum(array.nbytes for array in covariances)
    triangle = d * (d + 1) // 2 * covariances[0].itemsize
    return whole - max(0, of_covariances - triangle)


def parts_used(method: Method, record: Iterable[str]) -> list[str]:
    """Return the parts of a record that a method reads; `record` names them all.

    >>> record = ["W", "b", "class_state", "mu", "linear.count", "linear.mean"]
    >>> parts_used(METHODS["FT"], record), parts_used(METHODS["LUCIR_mc"], record)
    ([], ['class_state', 'mu'])
    >>> parts_used(Method("finetune", "ncm", transport="linear"), record)
    ['linear.mean']
    """
    transport = method.transport
    all_groups = HEADS[method.head].all_groups and not method.shrinkage
    parts_of_heads: dict[str, Callable[[str], bool]] = {
        "layer": lambda part: False,
        "rows": lambda part: part in ("W", "b"),
        "means": lambda part: part == f"{transport}.mean",
        "covariances": lambda part: (
            part.startswith(f"{transport}.") and (all_groups or not part.split(".")[1].isdigit())
        ),
        "projection": lambda part: part.startswith("projection."),
    }
    of_head = parts_of_heads[HEADS[method.head].reads]
    return [p for p in record if of_head(p) or p in CALIBRATIONS[method.calibration].reads]


def build_scorer(method: Method, end: EndOfState) -> Any:
    """Return a method as a scorer: one layer, where head and calibration are linear."""
    head, fit = head_scorer(method, end), CALIBRATIONS[method.calibration].fit
    return fold(head, *fit(head, end)) if fit else head


def head_scorer(method: Method, end: EndOfState) -> Scorer:
    """Return a method's head as a scorer, without its calibration."""
    head = HEADS[method.head]
    if head.reads == "layer":
        W, b = head.make(*end.layer)
        return Linear(W, b, unit=STRATEGIES[method.strategy].unit_features)
    source = end.record.source(head.reads, method.transport)
    if head.reads == "rows":
        return Linear(*head.make(*source))
    if head.reads == "covariances" and not STRATEGIES[method.strategy].backbone_stays:
        source = source.levelled(end.record.class_state == end.record.states - 1)
    view = end.view
    if head.fitted:
        scorer = end.fitted[fitted_name(head.name, method.transport)]
    else:
        scorer = head.over(source, float(method.shrinkage) if method.shrinkage else None)
        if head.all_groups and source.fixed and not method.shrinkage:
            view = replace(view, groups=source.sizes)
    return scorer if view == View() else Viewed(scorer, **asdict(view))


def fitted_name(head: str, transport: str) -> str:
    """Return the name of a fitted head among what a state leaves."""
    return f"{head}+{transport}"


def view_of(settings: Any, row: int) -> View:
    """Return which features class statistics are computed from, where rows have this length.

    Of fixed features it is the first group, always as square roots.
    """
    if settings.statistics == "none" and not settings.projection:
        return View()
    fixed, middle = not STRATEGIES[settings.strategy].backbone_learns, settings.level == "middle"
    groups = (row,) if fixed and not middle else ()
    return View(row if middle else 0, fixed or settings.square_roots, groups)

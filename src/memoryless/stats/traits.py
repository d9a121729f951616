"""What heads, transports and methods need to know about each strategy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What a strategy does to the backbone and to its features."""

    backbone_learns: bool = True
    """Whether the backbone is trained. If not, features are fixed: they are taken once for each
    state, the layer is trained on them, and nothing that was kept ever moves."""
    backbone_stays: bool = False
    """Whether the backbone is the same from state 0 on, so that sums over its features add up."""
    unit_features: bool = False
    """Whether its layer reads features at length one."""
    row_heads: tuple[str, ...] = ()
    """The row heads that mean something for it; all where none are named."""
    recommended: str = "rda"
    """The head that is recommended where covariances are kept, by held-out images."""


TRAITS: dict[str, Traits] = {
    "finetune": Traits(),
    "lwf": Traits(),
    "lwf_kd": Traits(),
    "lucir": Traits(unit_features=True, row_heads=("current",)),
    "frozen": Traits(backbone_stays=True),
    "fixed": Traits(backbone_learns=False, backbone_stays=True, recommended="lda"),
    "untrained": Traits(backbone_learns=False, backbone_stays=True, recommended="lda"),
    "joint": Traits(row_heads=("current",)),
    "independent": Traits(),
    "replay": Traits(),
}

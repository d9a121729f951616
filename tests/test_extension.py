"""A head, a calibration and a transport, added in one place each, work end to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memoryless.cli import main
from memoryless.lab.experiment import run
from memoryless.lab.frame import results_with
from memoryless.lab.runs import RunFolder, last_record
from memoryless.stats.calibration import CALIBRATIONS, Calibration
from memoryless.stats.heads import HEADS, Head
from memoryless.stats.methods import grid_of, parse_method
from memoryless.stats.scorers import Linear
from memoryless.stats.transports import TRANSPORTS, Transport


def test_one_of_each_added_on_the_fly(tiny, toy, monkeypatch, capsys):
    head = Head("dots", "products with means", "means", lambda s: Linear(s.mean, s.mean[:, 0] * 0))
    sign = Calibration(
        "halved",
        "scores by half",
        lambda scorer, end: (end.record.blocks.sum(1) / 2, end.record.blocks.sum(1) * 0),
        reads=("mu",),
    )
    shift = Transport(
        "shift",
        "means moved by the mean drift",
        moves=("means",),
        measure=lambda passage, past: {"shift": (passage.new - passage.old).mean(0)},
        move=lambda past, drift: past.with_parts(mean=past.mean + drift["shift"]),
    )
    monkeypatch.setitem(HEADS, "dots", head)
    monkeypatch.setitem(CALIBRATIONS, "halved", sign)
    monkeypatch.setitem(TRANSPORTS, "shift", shift)
    name = "finetune+dots+halved+shift"
    assert name in grid_of("finetune")
    config = replace(tiny, statistics="mean", transports=("none", "shift"), methods=(name,))
    folder = RunFolder(run(config, toy)[0])
    stored = folder.results()[-1].methods[name]
    assert stored.bytes == 6 * 16 * 4 + 3 * 4  # means under the transport, and mu
    again = results_with(folder, [name])[-1].methods[name]
    assert (again.top1, again.bytes) == (stored.top1, stored.bytes)
    record = last_record(folder)
    assert not np.array_equal(record.statistics["shift"].mean, record.statistics["none"].mean)
    assert parse_method(name).transport == "shift"
    assert main(["compare", str(folder.path), "--methods", name]) == 0
    assert name in capsys.readouterr().out
    assert main(["list"]) == 0
    assert "shift" in capsys.readouterr().out

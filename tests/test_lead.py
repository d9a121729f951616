"""The first sentences of a report say what to use, what is forgotten, what is kept: all true."""

from __future__ import annotations

import pytest

from conftest import FakeRun
from memoryless.lab.analysis.lead import sentences
from memoryless.lab.analysis.side_by_side import comparisons

MIDDLE = {"statistics": "full", "level": "middle", "square_roots": True}
COMMAND = ["memoryless", "run", "--output", "my runs", "--no-control"]
RUNS = {"FT": [90.0, 20.0, 10.0], "finetune+rda+widened": [90.0, 70.0, 60.0]}


def made(values=RUNS, path="f/seed-0", config=MIDDLE, **about) -> FakeRun:
    return FakeRun(values, path, config=config, **{"command": COMMAND} | about)


def control(top1: float, seed: int = 0) -> FakeRun:
    values = {"untrained": [5.0, 5.0, 5.0], "untrained+lda": [50.0, top1, top1]}
    return made(values, f"u/seed-{seed}", MIDDLE | {"strategy": "untrained"}, seed=seed)


def told(*runs: FakeRun) -> list[str]:
    return list(sentences(comparisons(runs)[0]))


def test_the_sentences_by_hand():
    assert told(made(), control(50.0)) == [
        "Use finetune+rda+widened: on toy in 3 states it gets 65.0 % of the test images right "
        "(top-1, average over states 1 and later), where guessing gets 20.8 %.",
        "It forgets 20.0 points of the accuracy that it once had on a state; the trained layer "
        "alone (FT) forgets 45.0 points.",
        "It keeps 300 bytes of the past and no image; the images would take 9.0 kB.",
        "An untrained network of the same shape gets 50.0 % (untrained+lda): training adds 15.0 "
        "points (one seed).",
    ]


def test_seeds_have_a_spread():
    runs = [made({"FT": [90.0, v, v]}, f"f/seed-{v}", {}, seed=v) for v in (20, 40)]
    assert told(*runs)[0].startswith("Use FT: on toy in 3 states it gets 30.0±14.1 % of the test")


def test_a_control_that_is_ahead_is_told_first():
    first, forgets, needs, last = told(made(), control(70.0))
    assert first == (
        "Training does not pay here: on toy in 3 states, an untrained network with untrained+lda "
        "gets 70.0 % of the test images right (top-1, average over states 1 and later), "
        "finetune+rda+widened gets 65.0 % (one seed)."
    )
    assert forgets.startswith("finetune+rda+widened forgets 20.0 points of the accuracy")
    assert needs.startswith("It keeps 300 bytes")
    assert last == (
        "The untrained network keeps 300 bytes of the past: full statistics of middle stages, "
        "roots."
    )


def test_what_takes_more_than_the_images_says_so():
    run = made()
    results = run.results()
    results[-1].methods["finetune+rda+widened"].bytes = 12_000
    run.results = lambda: results
    assert told(run)[2] == (
        "It keeps 12.0 kB of the past and no image: more than the 9.0 kB that the images "
        "themselves would take."
    )


def seeds(*top1: float) -> list[FakeRun]:
    values = [RUNS | {"finetune+rda+widened": [90.0, value, value]} for value in top1]
    return [made(v, f"f/seed-{seed}", seed=seed) for seed, v in enumerate(values)]


def test_a_control_within_the_spread_of_seeds_is_as_good():
    runs = [control(top1, seed) for seed, top1 in enumerate((60.0, 71.0))]
    assert told(*seeds(65.0, 65.0), *runs)[-1].endswith(
        ": training makes no difference beyond that of seeds."
    )
    assert told(*seeds(80.0, 80.0), *runs)[-1].endswith(": training adds 14.5 points.")


@pytest.mark.parametrize("top1", [64.96, 65.0, 65.04])
def test_a_difference_that_rounds_to_nothing_is_none(top1):
    assert told(made(), control(top1))[-1] == (
        "An untrained network of the same shape gets 65.0 % (untrained+lda): training adds nothing "
        "on these data (one seed)."
    )


SHOWS = (
    "a run with `--statistics full --level middle --square-roots` would show whether training pays"
)


@pytest.mark.parametrize(
    "config",
    [{"statistics": "tied"}, {"level": "last"}, {"square_roots": False}, {"statistics": "none"}],
)
def test_what_reads_other_statistics_than_the_control_shows_nothing_of_training(config):
    assert told(made(config=MIDDLE | config), control(60.0))[-1] == (
        "An untrained network of the same shape gets 60.0 % (untrained+lda); it keeps 300 bytes of "
        f"the past: full statistics of middle stages, roots, so {SHOWS} (one seed)."
    )


@pytest.mark.parametrize("values", [RUNS, {"FT": RUNS["FT"]}])
def test_a_control_that_reads_other_statistics_is_told_to_be_ahead_and_no_more(values):
    first, *_, last = told(made(values, config=MIDDLE | {"statistics": "tied"}), control(70.0))
    assert first.startswith(
        "An untrained network is ahead here: on toy in 3 states, untrained+lda gets 70.0 % of "
    )
    assert last == (
        "The untrained network keeps 300 bytes of the past: full statistics of middle stages, "
        f"roots, so {SHOWS}."
    )


def test_one_state_is_told_by_what_it_reaches():
    one = made({"finetune+rda": [65.0]})
    never = made({"untrained+lda": [50.0]}, "u/seed-0", MIDDLE | {"strategy": "untrained"})
    assert told(one, never)[-1] == (
        "An untrained network of the same shape gets 50.0 % (untrained+lda): training adds 15.0 "
        "points (one seed)."
    )


def test_without_a_control_the_command_that_adds_one():
    assert told(made())[-1] == (
        "No untrained control is among these runs, so nothing shows whether training pays: "
        "`memoryless run --output 'my runs'`, typed again, adds one."
    )
    assert told(made(command=["pytest", "x"]))[-1].endswith(
        "pays: in Python, `run(control_of(config, dataset), dataset)` adds one."
    )


def test_what_never_trains_needs_no_control():
    fixed = made({"fixed": [9.0, 9.0, 9.0]}, config={"strategy": "fixed"})
    assert len(told(fixed)) == 3
    assert len(told(control(9.0))) == 3


def test_what_keeps_nothing_or_images_says_so():
    run = made({"FT": [9.0, 9.0]}, config={})
    results = run.results()
    for state in results:
        state.methods["FT"].bytes = 0
    run.results = lambda: results
    assert told(run)[2].startswith("It keeps nothing of the past and no image; ")
    replay = made({"replay": [9.0, 9.0]}, config={"strategy": "replay"}, memoryless=False)
    first, _, kept = told(replay)
    assert first.startswith("No run of toy is memoryless: in 2 states, replay gets 9.0 % ")
    assert kept == "It keeps images of the past, up to 9.0 kB."


def test_one_state_has_neither_average_nor_forgetting():
    joint = made({"Full": [80.0]}, config={"strategy": "joint"}, memoryless=False)
    first, kept = told(joint)
    assert first == (
        "No run of toy is memoryless: in 1 state, Full gets 80.0 % of the test images right "
        "(top-1)."
    )
    assert kept.startswith("It keeps images")


def test_a_run_without_a_command_is_told_about_all_the_same():
    assert "in Python" in told(made(command=[]))[-1]

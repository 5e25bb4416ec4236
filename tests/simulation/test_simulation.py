"""The slice of the simulation that belongs to the default suite. `make campaign` runs more of the same."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.faults import Violation
from tests.simulation.mutants import CANARIES, FIRST, MUTANTS, find, removed, seeds_needed
from tests.simulation.simulate import replay_command, run_seed

ROOT = Path(__file__).resolve().parents[2]
SLICE = range(1, 501)


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    """The engine logs every fault, and there are thousands."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("first", range(SLICE.start, SLICE.stop, 20))
def test_seeds(first: int) -> None:
    for seed in range(first, first + 20):
        run_seed(seed)


@pytest.mark.parametrize("name", CANARIES)
def test_canaries_are_caught(name: str) -> None:
    """A harness that notices nothing would pass everything."""
    assert seeds_needed(find(name), most=20) is not None


def test_every_mutant_finds_what_it_removes() -> None:
    """All are run by `python -m tests.simulation --mutants`; one whose text is gone would stop that run."""
    for mutant in MUTANTS:
        with removed(mutant):
            pass


def test_a_failing_seed_says_how_to_see_it_again() -> None:
    mutant = find("claim: the fence does not grow")
    caught = seeds_needed(mutant, most=50)
    assert caught is not None
    seed = FIRST + caught[0] - 1
    with removed(mutant), pytest.raises(Violation, match=replay_command(seed)):
        run_seed(seed)
    assert run_seed(seed).runs, "the guard is back"


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Here, again, and in processes that order their sets in other ways."""
    seeds = (5, 1304)
    here = {seed: run_seed(seed).digest for seed in seeds}
    assert {seed: run_seed(seed).digest for seed in seeds} == here
    for hash_seed in ("6",):
        for seed in seeds:
            done = subprocess.run(
                [sys.executable, "-m", "tests.simulation", "--seed", str(seed)],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                capture_output=True,
                text=True,
                check=True,
            )
            assert here[seed] in done.stdout

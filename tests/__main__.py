"""`python -m tests [pytest's arguments]`: the default suite, as `make test` runs it.

What needs no browser runs in two processes, a file in one of them as a whole, since fixtures of a module are dear. What
drives a browser runs afterwards and alone: two Chromiums beside two servers on two cores would measure patience.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PARTS = (["-m", "not slow and not browser", "-n", "2", "--dist", "loadfile"], ["-m", "not slow and browser"])
EMPTY = int(pytest.ExitCode.NO_TESTS_COLLECTED)


def main(arguments: list[str]) -> int:
    """The worse exit code of both parts; a part without chosen tests counts only if the other has none either."""
    codes = [subprocess.call([sys.executable, "-m", "pytest", *part, *arguments]) for part in PARTS]
    return max((code for code in codes if code != EMPTY), default=EMPTY, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Sets this checkout up: finds a Python, makes .venv, installs the pinned lock, then the project itself.

Runs under any Python from 3.8 on and uses the standard library only. Doing it again is cheap: a stamp in the venv
holds a digest of everything that was installed.

    python3 .ci/bootstrap.py             .venv with .ci/lock.txt
    python3 .ci/bootstrap.py --browser   also finds or installs a Chromium and records it (see tests/browser.py), and
                                         PostgreSQL's server programs where they can be had (see tests/postgres.py)
    python3 .ci/bootstrap.py --bench     .venv-bench with .ci/lock-bench.txt (the peers we measure against)
    python3 .ci/bootstrap.py --audit     .venv-audit with .ci/lock-audit.txt (what looks at the packages we use)

SIGNOFF_PYTHON names the interpreter to use; SIGNOFF_CHROMIUM the browser; SIGNOFF_POSTGRES the folder with initdb.
"""

import argparse
import contextlib
import glob
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MINIMUM = (3, 12)
# The lock is made for 3.12 and tested with 3.12 and 3.13; developing on the oldest keeps us honest about it.
PREFERRED = ((3, 12), (3, 13))


class SetupError(Exception):
    """Something is missing that a person has to provide; the message says what and how."""


def say(text):
    print("setup: " + text, file=sys.stderr, flush=True)


def version_of(python):
    """(major, minor) of an interpreter, or None when it does not run (a pyenv shim, say)."""
    code = "import sys; print('%d %d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30)
        major, minor = done.stdout.decode().split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def candidate_pythons():
    """Interpreters in the order in which they are tried: this one, the PATH, pyenv's, the usual folders, uv's."""
    yield sys.executable
    names = ["python3.%d" % minor for minor in range(12, 20)] + ["python3", "python"]
    folders = [f for f in os.environ.get("PATH", "").split(os.pathsep) if f]
    folders += ["/usr/local/bin", "/opt/homebrew/bin", os.path.expanduser("~/.local/bin")]
    for folder in folders:
        for name in names:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                yield path
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for path in sorted(glob.glob(os.path.join(pyenv, "versions", "3.*", "bin", "python"))):
        yield path
    uv = shutil.which("uv")
    if uv:
        command = [uv, "python", "list", "--only-installed", "--no-python-downloads"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in done.stdout.decode().splitlines():
            if len(line.split()) > 1:
                yield line.split()[1]


def find_python():
    """The path of a Python that can carry the project.

    Raises:
        SetupError: there is none.
    """
    named = os.environ.get("SIGNOFF_PYTHON")
    if named:
        path = shutil.which(named)
        version = version_of(path) if path else None
        if version is None or version < MINIMUM:
            found = "Python %d.%d" % version if version else "no Python that runs"
            raise SetupError("SIGNOFF_PYTHON names '%s', which is %s. Name a Python 3.12 or newer." % (named, found))
        return path
    seen = {}
    for path in candidate_pythons():
        key = os.path.abspath(path)
        if key not in seen:
            seen[key] = version_of(path)
            if seen[key] == PREFERRED[0]:
                return path
    fitting = {path: version for path, version in seen.items() if version and version >= MINIMUM}
    for wanted in PREFERRED:
        for path, version in fitting.items():
            if version == wanted:
                return path
    if fitting:
        path, version = max(fitting.items(), key=lambda item: item[1])
        say("using Python %d.%d, which is newer than what the lock was tested with (3.12, 3.13)" % version)
        return path
    return python_from_uv(seen)


def python_from_uv(seen):
    """Asks uv to bring a Python, when uv is there; the last resort."""
    uv = shutil.which("uv")
    if uv:
        say("no Python 3.12 or newer found; asking uv for one")
        if subprocess.run([uv, "python", "install", "3.12"]).returncode == 0:
            done = subprocess.run([uv, "python", "find", "3.12"], stdout=subprocess.PIPE)
            path = done.stdout.decode().strip()
            if path and (version_of(path) or (0, 0)) >= MINIMUM:
                return path
    tried = sorted({"%d.%d" % version for version in seen.values() if version})
    raise SetupError(
        "Signoff needs Python 3.12 or newer, but this machine has only: %s.\n"
        "Looked on the PATH, in ~/.pyenv/versions and, where present, at uv. What helps, any one of these:\n"
        "  - install it from your system's packages or python.org, then run the same command again\n"
        "  - pyenv install 3.12        (needs no other step; it is found in ~/.pyenv/versions)\n"
        "  - uv python install 3.12\n"
        "  - SIGNOFF_PYTHON=/path/to/python3.12 make ..." % (", ".join(tried) or "no Python that runs")
    )


def digest(python_version, lock):
    """One digest over everything that decides what ends up in the venv."""
    text = hashlib.sha256(("%d.%d" % python_version).encode() + ROOT.encode())
    for path in (lock, os.path.join(ROOT, "pyproject.toml"), os.path.abspath(__file__)):
        with open(path, "rb") as file:
            text.update(hashlib.sha256(file.read()).digest())
    return text.hexdigest()


def run(command, failure):
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        raise SetupError(failure)


def make_venv(venv, lock, project):
    """Creates or updates a venv from a lock, with the project itself if wanted. Returns its interpreter.

    There is nothing to do when the stamp fits.
    """
    python = os.path.join(venv, "Scripts" if os.name == "nt" else "bin", "python")
    stamp = os.path.join(venv, "signoff-setup.txt")
    version = version_of(python) if os.path.exists(python) else None
    if version and version >= MINIMUM and os.path.exists(stamp):
        with open(stamp) as file:
            if file.read().strip() == digest(version, lock):
                return python
    name = os.path.basename(venv)
    if version is None or version < MINIMUM:
        base = find_python()
        version = version_of(base)
        say("making %s with Python %d.%d (%s)" % ((name,) + version + (base,)))
        run(
            [base, "-m", "venv", "--clear", venv],
            "'%s -m venv' failed. On Debian and Ubuntu the package python3-venv (or python3.12-venv) brings it." % base,
        )
    if os.path.exists(stamp):
        os.remove(stamp)
    say("installing %s into %s (a minute or two the first time)" % (os.path.relpath(lock, ROOT), name))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    run(
        pip + ["--require-hashes", "--no-deps", "-r", lock],
        "The pinned packages could not be installed; pip's message is above. It needs the package index (or a mirror "
        "set in pip's own configuration) and about 1 GB of disk. Running the same command again continues.",
    )
    if project:
        # The build back end comes from the lock too, so that building the project asks nothing more of the network.
        run(
            pip + ["--no-deps", "--no-build-isolation", "--editable", ROOT],
            "The project itself could not be installed; pip's message is above.",
        )
    with open(stamp, "w") as file:
        file.write(digest(version, lock) + "\n")
    return python


@contextlib.contextmanager
def one_at_a_time():
    """Two commands started together must not install into the same venv."""
    folder = os.path.join(ROOT, ".build")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "setup.lock"), "w") as file:
        try:
            import fcntl
        except ImportError:  # Windows
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main():
    parser = argparse.ArgumentParser(description="Sets this checkout up.")
    parser.add_argument("--browser", action="store_true", help="also find or install a Chromium and PostgreSQL")
    parser.add_argument("--bench", action="store_true", help="set up .venv-bench instead of .venv")
    parser.add_argument("--audit", action="store_true", help="set up .venv-audit instead of .venv")
    options = parser.parse_args()
    name = "-bench" if options.bench else "-audit" if options.audit else ""
    try:
        with one_at_a_time():
            lock = os.path.join(ROOT, ".ci", "lock%s.txt" % name)
            python = make_venv(os.path.join(ROOT, ".venv" + name), lock, project=not name)
            if options.browser:
                subprocess.run([python, "-m", "tests.postgres", "ensure"], cwd=ROOT)  # without it its tests are skipped
                return subprocess.run([python, "-m", "tests.browser", "ensure"], cwd=ROOT).returncode
    except SetupError as error:
        print("setup: " + str(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

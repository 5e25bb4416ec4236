"""What we ship with and whether anybody warns of it: a bill of materials, and the advisories of every pinned package.

    .venv/bin/python .ci/supply_chain.py sbom     writes .build/sbom.json (CycloneDX) from what is installed in .venv
    .venv/bin/python .ci/supply_chain.py audit    asks the advisory service about every line of both locks

The programs it calls live in .venv-audit (`make setup-audit`), so that what looks at the product is no part of it.

Exit: 0 all is well; 1 a package with a known vulnerability, or a bill that does not fit the lock; 75 nobody could be
asked (no network, or an index that carries no advisories). 75 is no "nothing found": it has not been looked.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = (".ci/lock.txt", ".ci/lock-audit.txt")
NOT_ASKED = 75  # EX_TEMPFAIL
SERVICE_GIVES_UP_S = 15


def tool(name):
    """The path of a program of .venv-audit."""
    path = ROOT / ".venv-audit" / "bin" / name
    if not path.exists():
        raise SystemExit("supply chain: %s is not installed; run `make setup-audit`" % name)
    return str(path)


def pins(lock):
    """{canonical name: version} of a lock."""
    found = re.findall(r"^([\w.-]+)==([\w.!+]+)", (ROOT / lock).read_text(), re.M)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def bill():
    """Writes the bill of materials, reads it again and holds it against the lock."""
    target = ROOT / ".build" / "sbom.json"
    target.parent.mkdir(exist_ok=True)
    command = [tool("cyclonedx-py"), "environment", "--pyproject", "pyproject.toml", "--output-reproducible"]
    command += ["--validate", "--of", "JSON", "--output-file", str(target), str(ROOT / ".venv" / "bin" / "python")]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        return 1
    parts = json.loads(target.read_text())["components"]
    listed = {re.sub(r"[-_.]+", "-", part["name"]).lower(): part["version"] for part in parts}
    wrong = list(differences(pins(LOCKS[0]), listed))
    for line in wrong:
        print("sbom: " + line)
    print("sbom: %d packages in %s" % (len(listed), target.relative_to(ROOT)))
    return 1 if wrong else 0


def differences(locked, listed):
    """What the bill has and the lock does not, in sentences. A locked package may be missing: not for this system."""
    for name, version in sorted(listed.items()):
        if name in ("signoff", "pip"):
            continue
        if name not in locked:
            yield "%s %s is installed and in no line of the lock" % (name, version)
        elif locked[name] != version:
            yield "%s is installed as %s and locked as %s" % (name, version, locked[name])


def audit():
    """Asks about every lock; a finding counts before what could not be asked."""
    codes = [judged(lock, *asked(lock)) for lock in LOCKS]
    return 1 if 1 in codes else max(codes)


def asked(lock):
    """(what pip-audit answered or None, its own words)."""
    command = [tool("pip-audit"), "--requirement", lock, "--require-hashes", "--disable-pip", "--no-deps"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", str(SERVICE_GIVES_UP_S)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout), done.stderr
    except ValueError:
        return None, done.stderr


def judged(lock, answer, words):
    """The exit code for one lock. A package that was skipped was not looked at, whatever the tool's own exit says."""
    if answer is None:
        last = (words.strip().splitlines() or ["no answer"])[-1]
        print("audit: NOT LOOKED, the advisory service could not be asked about %s: %s" % (lock, last))
        return NOT_ASKED
    packages = answer["dependencies"]
    skipped = [part for part in packages if "skip_reason" in part]
    hit = [part for part in packages if part.get("vulns")]
    for part in hit:
        for found in part["vulns"]:
            mended = ", ".join(found["fix_versions"]) or "none yet"
            print("audit: %s %s: %s; mended in: %s" % (part["name"], part["version"], found["id"], mended))
    asked_of = len(packages) - len(skipped)
    print("audit: %s: %d of %d packages looked at, %d with advisories" % (lock, asked_of, len(packages), len(hit)))
    if hit:
        return 1
    if skipped or not packages:
        reason = skipped[0]["skip_reason"] if skipped else "the lock is empty"
        print("audit: NOT LOOKED at %d packages, first: %s" % (len(skipped), reason))
        return NOT_ASKED
    return 0


def main():
    commands = {"sbom": bill, "audit": audit}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        raise SystemExit("supply chain: say `sbom` or `audit`")
    return commands[sys.argv[1]]()


if __name__ == "__main__":
    sys.exit(main())

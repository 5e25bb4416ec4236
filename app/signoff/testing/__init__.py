"""Test definitions that are kept in a repository: given a process, when things happen, then it stands so.

    from signoff.testing import given

    run = given("purchase.json").when_started(by="dan", amount=9000)
    run.approves("manager", "grace")
    run.then(status="succeeded", manager="approved")

Everything runs in memory on the engine's own rules under a fake clock: no database, no worker, nobody is asked, and a
month passes in a millisecond. A new kind of step needs nothing new here: `run.trial` takes any command of the core.
"""

from __future__ import annotations

from signoff.core.script import Answer, Choice, Message, Script, script_of
from signoff.testing.process import Process, Run, given
from signoff.testing.recorded import Recording, from_history

__all__ = [
    "Answer",
    "Choice",
    "Message",
    "Process",
    "Recording",
    "Run",
    "Script",
    "from_history",
    "given",
    "script_of",
]

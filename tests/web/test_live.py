"""Changes reach an open page by push; how fast is measured by `python -m tests.bench.live`."""

from __future__ import annotations

from tests.web.conftest import Visitors
from tests.web.latency import STEPS, chain, one_round
from tests.web.office import Office


def test_every_change_reaches_an_open_page(visit: Visitors, office: Office) -> None:
    office.publish(chain())
    assert len(one_round(visit, office)) >= STEPS

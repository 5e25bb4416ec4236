"""Random operations on the scheduler and the reference model, compared after every one."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.scheduler.pair import Pair

IDS = st.sampled_from("abcdef")
LISTS = st.lists(IDS, max_size=3)
GENERATIONS = st.sampled_from([None, None, None, 1, 2, 3])


class SchedulerMachine(RuleBasedStateMachine):
    @initialize(
        slots=st.sampled_from([None, None, 0, 1, 2]),
        open_graph=st.booleans(),
        strict=st.sampled_from([False, False, True]),
        watched=st.booleans(),
    )
    def begin(self, slots: int | None, open_graph: bool, strict: bool, watched: bool) -> None:
        self.pair = Pair(slots=slots, open_graph=open_graph, strict=strict, watched=watched)

    @rule(task=IDS, required=LISTS, optional=LISTS | st.just([]), generation=GENERATIONS)
    def submit(self, task: str, required: list[str], optional: list[str], generation: int | None) -> None:
        self.pair.submit(task, required, optional, generation)

    @rule(task=IDS, required=LISTS)
    def submit_plain(self, task: str, required: list[str]) -> None:
        self.pair.submit(task, required)

    @rule(graph=st.dictionaries(IDS, LISTS, max_size=4))
    def submit_many(self, graph: dict[str, list[str]]) -> None:
        self.pair.submit_many(graph)

    @rule(limit=st.sampled_from([None, None, 0, 1, 2]), all_or_nothing=st.booleans())
    def ready(self, limit: int | None, all_or_nothing: bool) -> None:
        self.pair.ready(limit, all_or_nothing)

    @rule(data=st.data(), success=st.booleans())
    def answer_a_claim(self, data: st.DataObject, success: bool) -> None:
        if self.pair.claims:
            claim = data.draw(st.sampled_from(self.pair.claims))
            (self.pair.complete if success else self.pair.fail)(*claim)

    @rule(task=IDS, generation=st.sampled_from([1, 2]), success=st.booleans())
    def answer_anything(self, task: str, generation: int, success: bool) -> None:
        (self.pair.complete if success else self.pair.fail)(task, generation)

    @rule(task=IDS, generation=GENERATIONS, confirmed=st.booleans())
    def cancel(self, task: str, generation: int | None, confirmed: bool) -> None:
        self.pair.cancel(task, generation, confirmed)

    @rule(task=IDS, dependency=IDS, optional=st.booleans())
    def add_dependency(self, task: str, dependency: str, optional: bool) -> None:
        self.pair.add_dependency(task, dependency, optional)

    @rule(queued=st.sampled_from(["cancel", "keep"]), really=st.sampled_from([False, False, False, True]))
    def close(self, queued: str, really: bool) -> None:
        if really:
            self.pair.close(queued)


SchedulerMachine.TestCase.settings = settings(
    max_examples=300, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSchedulerMachine = SchedulerMachine.TestCase

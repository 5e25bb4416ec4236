"""Recorded histories of Step Functions, played against what its machines became.

A record has the input, the types of the events in order and the end, but neither names of states nor what each task
answered. So a history is first given to its machine (by the names both have, and only where its states can be walked
in that order), then activities answer as they did there: done or failed, in order, with the error that the end or the
output names, and with that part of the final output where their result was put. What is compared is the order of the
states entered, whether the execution succeeded, and with which error it failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from signoff.core.document import read_document
from signoff.core.events import Event
from signoff.core.script import Answer, Message, Script
from signoff.core.simulate import Trial
from signoff.interchange.asl import translate
from signoff.interchange.translated import Translated
from tests.interchange.material import CORPUS

HISTORIES = CORPUS / "conformance" / "asl_recorded_histories.jsonl"
MACHINES = CORPUS / "asl" / "localstack"
KINDS = ("Task", "Pass", "Wait", "Choice", "Succeed", "Fail", "Parallel", "Map")
SOON = timedelta(seconds=1)
WELL = ("TaskSucceeded", "LambdaFunctionSucceeded", "ActivitySucceeded")
BADLY = (
    "TaskFailed",
    "LambdaFunctionFailed",
    "ActivityFailed",
    "TaskTimedOut",
    "LambdaFunctionTimedOut",
    "EvaluationFailed",
)

PLACEHOLDERS = ('"Items": "_tbd_"', '"ItemsVar": "_tbd_"')

_NESTED = "MAP_STATE_NESTED_CONFIG_DISTRIBUTED_NO_MAX_CONCURRENCY"
OTHER_NAMES = {
    "test_assign_in_wait_state": "BASE_ASSIGN_IN_WAIT",
    "test_assign_in_catch_state": "BASE_ASSIGN_IN_CATCH",
    "test_state_fail_intrinsic": "RAISE_FAILURE_PATH_INTRINSIC",
    "test_state_fail_path": "RAISE_FAILURE_PATH",
    "test_state_pass_result_null_input_output_paths": "PASS_RESULT_NULL_INPUT_OUTPUT_PATHS",
    "test_sqs_wait_for_task_tok_with_heartbeat": "SERVICE_SQS_SEND_AND_WAIT_FOR_TASK_TOKEN_WITH_HEARTBEAT",
    "test_multiple_executions_and_heartbeat_notifications": "SERVICE_SQS_SEND_AND_WAIT_FOR_TASK_TOKEN_WITH_HEARTBEAT",
    "test_heartbeat_timeout": "SERVICE_SQS_SEND_AND_WAIT_FOR_TASK_TOKEN_WITH_HEARTBEAT",
    "test_start_execution_sync2": "SFN_START_EXECUTION_SYNC2",
    "test_input_path": "CONTEXT_OBJECT_INPUT_PATH",
    "test_invalid_secret_name": "AWS_SDK_TASK_ERROR_SECRETSMANAGER_CRATE_SECRET",
    "test_no_such_bucket": "AWS_SDK_TASK_ERROR_S3_LIST_OBJECTS",
    "test_raise_exception_catch_output_path": "TASK_SERVICE_LAMBDA_INVOKE_CATCH_ALL_OUTPUT_PATH",
    "test_raise_exception_catch": "TASK_SERVICE_LAMBDA_INVOKE_CATCH_RELEVANT",
    "test_raise_custom_exception": "TASK_LAMBDA_INVOKE_CATCH_RELEVANT",
    "test_send_message_empty_body": "TASK_SERVICE_SQS_SEND_MSG_CATCH",
    "test_map_state_parameters_singleton_legacy": "MAP_STATE_PARAMETERS_SINGLETONS_LEGACY",
    "test_choice_unsorted_parameters": "CHOICE_STATE_UNSORTED_CHOICE_PARAMETERS",
    "test_choice_aws_docs_scenario": "CHOICE_STATE_AWS_SCENARIO",
    "test_choice_singleton_composite": "CHOICE_STATE_SINGLETON_COMPOSITE",
    "test_map_item_reader_csv_max_items_paths": "MAP_ITEM_READER_BASE_CSV_MAX_ITEMS_PATH",
    "test_map_state_items_eval_jsonata": "MAP_STATE_ITEMS_LITERAL",
    "test_map_state_items_eval_jsonata_fail": "MAP_STATE_ITEMS_LITERAL",
    "test_map_state_items_variable_sampling": "MAP_STATE_ITEMS_VARIABLE",
    "test_map_state_items_eval_jsonata_variable_sampling_fail": "MAP_STATE_ITEMS_VARIABLE",
    "test_map_state_nested_config_distributed_no_max_max_concurrency": _NESTED,
    "test_invoke_with_query_parameters": "API_GATEWAY_INVOKE_WITH_QUERY_PARAMETERS",
    "test_invoke_error": "API_GATEWAY_INVOKE_BASE",
    "test_s3_get_object": "AWS_SDK_S3_GET_OBJECT",
    "test_sfn_send_task_outcome_with_no_such_token": "AWS_SDK_SFN_SEND_TASK_SUCCESS",
    "test_put_events_base": "EVENTS_PUT_EVENTS",
    "test_put_events_no_source": "EVENTS_PUT_EVENTS",
    "test_lambda_task_filter_parameters_input": "LAMBDA_INPUT_PARAMETERS_FILTER",
    "test_publish_base": "SNS_PUBLISH",
    "test_publish_message_attributes": "SNS_PUBLISH_MESSAGE_ATTRIBUTES",
    "test_send_message": "SQS_SEND_MSG",
    "test_get_execution_history_reversed": "BASE_PASS_STATE_MACHINE",
    "test_parse": "PARSE_JSONATA",
    "test_math_random_seeded": "MATH_RANDOM_SEEDED_JSONATA",
    "test_parallel_state_lambda": "PARALLEL_STATE_SERVICE_LAMBDA",
    "test_query_language_field_override": "BASE_PASS_JSONATA_OVERRIDE",
}  # fmt: skip
"""Machines of recordings whose test and machine are called differently."""

OF_FILES = {
    ("test_lambda_task", "test_invoke_bytes_payload"): "LAMBDA_INVOKE_RESOURCE",
    ("test_lambda_task", "test_invoke_json_values"): "LAMBDA_INVOKE_RESOURCE",
    ("test_lambda_task", "test_invoke_string_payload"): "LAMBDA_INVOKE_RESOURCE",
    ("test_sfn_task_service", "test_start_execution"): "SFN_START_EXECUTION",
    ("test_sfn_api", "test_start_execution"): "BASE_PASS_STATE_MACHINE",
}


@dataclass(frozen=True)
class History:
    """One record. `number` is its line, from 1."""

    number: int
    group: str
    test: str
    case: str
    input: Any
    types: tuple[str, ...]
    final: str
    result: dict[str, Any]

    @property
    def entered(self) -> list[str]:
        """Types of the states entered, those inside iterations of a Map left out."""
        return [kind for kind, _ in states_of(self.types)]


@dataclass
class Match:
    """What became of one history: `matches`, `differs`, `refused`, `no machine`, `another machine`."""

    history: History
    machine: str
    verdict: str
    why: str = ""
    order_of_branches: bool = True
    same_output: bool = False
    ours: list[str] = field(default_factory=list)


def read_histories() -> list[History]:
    found = []
    for number, line in enumerate(HISTORIES.read_text("utf-8").splitlines(), 1):
        data = json.loads(line)
        match = re.match(r"(test_[^\[]+)(?:\[(.*)\])?$", data["test"].split("::")[-1], re.S)
        assert match is not None
        types = tuple(data["types"])
        final = data["final"]
        if types[-1] == "ExecutionStarted" and len(types) > 1:  # asked for in reverse
            types, final = types[::-1], types[0]
        group = Path(data["file"]).name.removesuffix(".snapshot.json")
        result = data["result"] if data["final"] == final else {}
        found.append(History(number, group, match[1], match[2] or "", data["input"], types, final, result))
    return found


def read_machines() -> dict[str, tuple[str, dict[str, Any]]]:
    """By name, in capitals, and by comment: (name of the file, machine)."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for file in sorted(MACHINES.glob("*.json")):
        machine = json.loads(file.read_text("utf-8"))
        name = file.stem.split("__", 1)[1]
        found.setdefault(name.upper(), (file.stem, machine))
    for stem, machine in list(found.values()):
        found.setdefault(str(machine.get("Comment", "")), (stem, machine))
    return found


def machine_name(history: History, known: dict[str, Any]) -> str:
    """Which machine was recorded, or empty where it is not among those at hand."""
    case = history.case.split(".json5")[0].upper()
    base = history.test.removeprefix("test_").upper()
    explicit = OF_FILES.get((history.group, history.test)) or OTHER_NAMES.get(history.test, "")
    for name in (case, explicit, base, f"BASE_{base}", f"BASE_{case}" if case and not explicit else ""):
        if name and name in known:
            return name
    return ""


def states_of(types: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """States entered with the events inside each, iterations of a Map left out (they count as the Map's)."""
    found: list[tuple[str, list[str]]] = []
    depth = 0
    for t in types:
        if t == "MapIterationStarted":
            depth += 1
        elif t.startswith("MapIteration"):
            depth -= 1
        if t.endswith("StateEntered") and not depth:
            found.append((t.removesuffix("StateEntered"), []))
        elif found:
            found[-1][1].append(t)
    return found


def can_walk(machine: dict[str, Any], kinds: list[str]) -> bool:
    """Whether the states of the machine can be entered in this order; branches side by side in any order."""
    states = machine["States"]
    if "Parallel" in kinds or any(s["Type"] == "Parallel" for s in states.values()):
        return set(kinds) <= {s["Type"] for s in _all_states(machine)}
    at = {machine["StartAt"]}
    for number, kind in enumerate(kinds):
        at = {n for n in at if states[n]["Type"] == kind}
        if not at:
            return False
        if number < len(kinds) - 1:
            at = {t for n in at for t in _nexts(states[n])}
    return True


def _all_states(machine: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for state in machine["States"].values():
        yield state
        for branch in state.get("Branches") or ():
            yield from _all_states(branch)


def _nexts(state: dict[str, Any]) -> list[str]:
    listed = [*(state.get("Choices") or ()), *(state.get("Catch") or ())]
    return [t for t in (state.get("Next"), state.get("Default"), *(x.get("Next") for x in listed)) if t]


def errors_in(value: Any) -> Iterator[tuple[str, str]]:
    """Everything in an output that looks like an error that was caught."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            value = json.loads(value)
        except ValueError:
            return
    if isinstance(value, dict):
        if isinstance(value.get("Error"), str):
            yield value["Error"], str(value.get("Cause", ""))
        for v in value.values():
            yield from errors_in(v)
    elif isinstance(value, list):
        for v in value:
            yield from errors_in(v)


class Play:
    """One history against one translation."""

    def __init__(self, history: History, machine: dict[str, Any], translated: Translated) -> None:
        self.history, self.machine, self.translated = history, machine, translated
        self.states = {n: s for m in _machines(machine) for n, s in m["States"].items()}
        self.step_of: dict[tuple[str, str], str] = {}
        for step, source in translated.origin.items():
            self.step_of[(source, translated.shares.get(step, ""))] = step
        self.alone = all(s["Type"] != "Parallel" for s in self.states.values())
        self.answers: dict[str, list[Answer]] = {}
        self.messages: dict[str, list[Message]] = {}

    def script(self) -> Script:
        """Answers in the order of the record; each state that was entered takes the next state of its type."""
        walked = self._walk()
        for (kind, inside), name in zip(states_of(self.history.types), walked, strict=True):
            if name:
                self._answer(kind, name, inside)
        for name, follower in pairwise(walked):
            step = self.step_of.get((name, ""))
            if name and step and self.states[name]["Type"] == "Choice":
                self.answers[step] = [Answer({"next": follower})]
        return Script(answers=self.answers, messages=self.messages)

    def _walk(self) -> list[str]:
        """Names for the recorded types, where they are certain; empty texts where they are not."""
        kinds = self.history.entered
        if not self.alone:
            left = list(self.states)
            found = []
            for kind in kinds:
                name = next((n for n in left if self.states[n]["Type"] == kind), "")
                if name:
                    left.remove(name)
                found.append(name)
            return found
        paths = [[self.machine["StartAt"]]]
        for kind in kinds[1:]:
            paths = [[*p, t] for p in paths for t in dict.fromkeys(_nexts(self.states[p[-1]])) if self._is(t, kind)]
        said = json.dumps(self.history.result)
        return max(paths, key=lambda p: sum(self._told(n, said) for n in p)) if paths else []

    def _is(self, name: str, kind: str) -> bool:
        return bool(self.states[name]["Type"] == kind)

    def _told(self, name: str, said: str) -> bool:
        """Of several states of one type the one whose result stands in the output."""
        state = self.states[name]
        result = json.dumps(state.get("Result", state.get("Parameters", state.get("Error", "")))).strip("{}")
        return len(result) > 2 and result in said

    def _answer(self, kind: str, name: str, inside: list[str]) -> None:
        step, waiting = self.step_of.get((name, "")), self.step_of.get((name, "answer"))
        if step is None:
            return
        if not self.alone and not any(t in BADLY for t in self.history.types):  # who answered what is not told
            inside = ["TaskSubmitted", "TaskSucceeded"]
        ends = [t for t in inside if t in WELL or t in BADLY]
        if kind == "Map":
            failed = self.history.final == "ExecutionFailed" and self._is_last(name)
            if failed or any(t in ("MapStateFailed", "MapRunFailed") for t in inside):
                self.answers[step] = [self._failed(name)]
            return
        if kind in ("Pass", "Wait") and not any(t in BADLY for t in inside) and self.history.final != "ExecutionFailed":
            connector = next(s for s in self.document["steps"] if s["id"] == step).get("connector")
            if connector not in (None, "pass"):
                self.answers[step] = [Answer(self._output(name))]
            return
        if kind in ("Pass", "Wait") and not self._is_last(name):
            return
        if kind in ("Task", "Pass", "Wait"):
            self._task(name, step, waiting, inside, ends)

    def _task(self, name: str, step: str, waiting: str | None, inside: list[str], ends: list[str]) -> None:
        if waiting and "TaskSubmitted" in inside:
            if any(t in WELL for t in inside):
                told = self._output(name)
                self.messages[waiting] = [Message(told if isinstance(told, dict) else {"value": told}, after=SOON)]
            elif any("TimedOut" in t for t in inside) or self.history.result.get("error") == "States.Timeout":
                self.messages[waiting] = [Message(comes=False)]
            else:
                error = self._failed(name)
                self.messages[waiting] = [Message({"error": error.error, "cause": error.message}, after=SOON)]
            return
        answers = [Answer(self._output(name)) if t in WELL else self._failed(name) for t in ends]
        exited = any(t.endswith("StateExited") for t in inside)
        if not answers:
            answers = [Answer(self._output(name))] if exited else [self._failed(name)]
        self.answers[step] = answers

    @property
    def document(self) -> dict[str, Any]:
        assert self.translated.document is not None
        return self.translated.document

    def _is_last(self, name: str) -> bool:
        return bool(self.history.entered) and self._walk()[-1] == name

    def _output(self, name: str) -> Any:
        """What a task may have given: the part of the final output where its result was put, or all of it."""
        output, at = self.history.result.get("output", {}), self.states[name].get("ResultPath", "$")
        for part in re.findall(r"\w+", at or ""):
            output = output.get(part, {}) if isinstance(output, dict) else {}
        if str(self.states[name].get("Resource")).endswith("lambda:invoke") and "Payload" not in str(output):
            output = {"Payload": output, "StatusCode": 200}
        return output if output is not None else {}

    def _failed(self, name: str) -> Answer:
        result, state = self.history.result, self.states[name]
        codes = [c for r in state.get("Catch") or () for c in r["ErrorEquals"] if c != "States.ALL"]
        found = next(errors_in(result.get("output")), None)
        if found is None and self.history.final == "ExecutionFailed":
            caught = any(s == "Fail" for s in self.history.entered)
            found = None if caught and codes else (str(result.get("error", "")), "")
        code = (found[0] if found else "") or (codes[0] if codes else "States.TaskFailed")
        return Answer(None, code, (found[1] if found else "")[:300] or "It failed.", after=timedelta(seconds=1))


def _machines(machine: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield machine
    for state in machine["States"].values():
        for branch in state.get("Branches") or ():
            yield from _machines(branch)


def begun(events: list[Event], origin: dict[str, str]) -> list[str]:
    """Names of the states whose steps began, in order."""
    found: list[str] = []
    seen: set[str] = set()
    starts = ("activity.scheduled", "activity.items_opened", "wait.armed", "signal.awaited", "step.failed")
    for event in events:
        step = getattr(event, "step", "")
        if event.wire in starts and step in origin and origin[step] not in seen:
            seen.add(origin[step])
            found.append(origin[step])
    return found


def with_points(machine: dict[str, Any], names: list[str], succeeded: bool) -> list[str]:
    """With the Choice and Succeed states that became conditions put back where they were gone through."""
    states = machine["States"]
    full: list[str] = []
    at = [machine["StartAt"]]
    for name in names:
        full += [*_between(states, at, name), name]
        at = _nexts(states[name])
    if succeeded and at:
        ends = [n for n, s in states.items() if s["Type"] == "Succeed"]
        tails = [[*_between(states, at, e), e] for e in ends if _reaches(states, at, e)]
        full += min(tails, key=len, default=[])
    return full


def _reaches(states: dict[str, Any], at: list[str], goal: str) -> bool:
    return goal in at or bool(_between(states, at, goal))


def _between(states: dict[str, Any], at: list[str], goal: str) -> list[str]:
    """The Choice states on the shortest way to a state."""
    paths = [[n] for n in dict.fromkeys(at)]
    for _ in range(len(states)):
        for p in paths:
            if p[-1] == goal:
                return p[:-1]
        paths = [
            [*p, t] for p in paths if states[p[-1]]["Type"] == "Choice" for t in dict.fromkeys(_nexts(states[p[-1]]))
        ]
    return []


def play(history: History, known: dict[str, tuple[str, dict[str, Any]]]) -> Match:
    """Find its machine, translate it, run it as recorded, and compare."""
    name = machine_name(history, known)
    if not name:
        return Match(history, "", "no machine")
    stem, machine = known[name]
    if any(p in json.dumps(machine) for p in PLACEHOLDERS):
        return Match(history, stem, "another machine", "the recording put its own items in the place of a placeholder")
    if not can_walk(machine, history.entered):
        return Match(history, stem, "another machine", " > ".join(history.entered))
    translated = translate(machine, name=stem.split("__", 1)[1])
    if translated.document is None:
        return Match(history, stem, "refused", translated.refusals[0].message)
    definition, _ = read_document(translated.document)
    assert definition is not None
    values: dict[str, Any] = {}
    if definition.input:
        given = history.input
        if not isinstance(given, list if str(definition.input[0].type) == "list" else dict):
            return Match(history, stem, "refused", "The recorded input is no object.")
        values = {"data": _with_times(given)}
    trial = Trial(definition, values, script=Play(history, machine, translated).script())
    if trial.refused:
        return Match(history, stem, "differs", trial.refused.sentence)
    trial.play()
    return _compare(history, stem, machine, translated, trial)


def _with_times(value: Any) -> Any:
    if value in ("<timestamp>", "date"):
        return "2027-01-04T10:00:00Z"
    if isinstance(value, dict):
        return {k: _with_times(v) for k, v in value.items()}
    return value


def _compare(history: History, stem: str, machine: dict[str, Any], translated: Translated, trial: Trial) -> Match:
    names = begun(trial.events, dict(translated.origin))
    status = str(trial.state.status)
    parallel = any(s["Type"] == "Parallel" for s in machine["States"].values())
    if parallel:
        types = {n: s["Type"] for m in _machines(machine) for n, s in m["States"].items()}
        drawn = ("Task", "Pass", "Wait", "Fail", "Map")
        ours = sorted(types[n] for n in names if types[n] in drawn)
        theirs = sorted(k for k in history.entered if k in drawn)
    else:
        full = with_points(machine, names, status == "succeeded")
        ours, theirs = [machine["States"][n]["Type"] for n in full], history.entered
    wanted = "succeeded" if history.final == "ExecutionSucceeded" else "failed"
    why = []
    if ours != theirs:
        why.append(f"states {' > '.join(ours)} instead of {' > '.join(theirs)}")
    if status != wanted:
        why.append(f"the run is {status} instead of {wanted}: {trial.stopped or trial.state.reason}")
    if status == wanted == "failed" and not why and (wrong := _other_error(history, trial)):
        why.append(wrong)
    last = list(trial.state.outputs)[-1:]
    same = (
        bool(last)
        and trial.state.outputs[last[0]] == history.result.get("output")
        and last[0] not in trial.script.answers
    )
    return Match(history, stem, "differs" if why else "matches", "; ".join(why), not parallel, same, ours)


def _other_error(history: History, trial: Trial) -> str:
    wanted = history.result.get("error", "")
    found = {s.error.code for s in trial.state.steps.values() if s.error and s.outcome == "failed"}
    if any(s.outcome == "expired" for s in trial.state.steps.values()):
        found.add("States.Timeout")
    ours = ("failed", "mapping_error", "expression_error")
    if wanted in found or (not wanted and found) or (wanted.startswith("States.") and found & set(ours)):
        return ""
    return f"the error is {', '.join(sorted(found))} instead of {wanted}"


def play_all() -> list[Match]:
    known = read_machines()
    return [play(h, known) for h in read_histories()]

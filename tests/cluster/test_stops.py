"""All tasks stop at one step, whoever asks and however their programs run."""

import pytest

from stratax.cluster._stops import Stops, StopsOfAll
from stratax.errors import PeerLostError
from tests.cluster.processes import run_tasks
from tests.cluster.programs import TRAIN


def test_the_stop_is_the_first_step_that_no_task_has_begun():
    every, tasks = StopsOfAll(3), [Stops() for _ in range(3)]
    for task, step in zip(tasks, (4, 7, 5), strict=True):
        task.get("fit").begun = step
    assert every.ask("fit")
    answers = [task.note_asked("fit", "enough") for task in tasks]
    assert [every.answer("fit", index, each["step"]) for index, each in enumerate(answers)] == [
        None,
        None,
        8,
    ]
    tasks[0].settle("fit", 8)
    assert tasks[0].get("fit").agreed.result(0) == 8


def test_a_second_request_for_the_same_stop_changes_nothing():
    every, task = StopsOfAll(1), Stops()
    assert every.ask("fit")
    assert every.answer("fit", 0, task.note_asked("fit", "enough")["step"]) == 0
    assert not every.ask("fit")
    task.settle("fit", 0)
    task.settle("fit", 5)
    assert task.get("fit").agreed.result(0) == 0


def test_stops_of_different_names_do_not_meet():
    every = StopsOfAll(2)
    assert [every.ask("first"), every.ask("second")] == [True, True]
    assert [
        every.answer("first", 0, 3),
        every.answer("second", 0, 30),
        every.answer("first", 1, 2),
    ] == [
        None,
        None,
        4,
    ]


def test_whoever_waits_for_a_stop_learns_of_a_lost_task():
    task = Stops()
    task.note_asked("fit", "enough")
    task.fail(PeerLostError("worker 1 died", tasks=("/job:worker/task:1",)))
    with pytest.raises(PeerLostError, match="worker 1 died"):
        task.get("fit").agreed.result(0)


MANY_LOOPS = (
    TRAIN
    + """
import random
where = random.Random(1)  # The same numbers in all tasks.
for loop in range(60):
    asker, chosen = where.randrange(cluster.num_processes), where.randrange(8)
    name, step = f"loop {loop}", 0
    while not cluster.agree_on_stop(step, name=name):
        if cluster.process_index == asker and step == chosen:
            cluster.request_stop("enough", name=name)
        with phase("step", step=step):
            # The result is waited for: a task that stopped one step before the others would hang them here.
            add(ones).block_until_ready()
        step += 1
    report(**{name: [step, chosen]})
report(reason=cluster.stop_reason)
"""
)


@pytest.mark.programs
@pytest.mark.processes
def test_loops_with_a_collective_in_each_step_stop_at_the_same_step_in_all_tasks():
    results = run_tasks(3, MANY_LOOPS, variables={"TEST_LIMITS": '{"step_timeout": 10}'})
    assert [result.code for result in results] == [0, 0, 0], [result.err for result in results]
    first, *others = [result.report for result in results]
    assert all(other == first for other in others)
    assert first.pop("reason") is None
    assert all(stopped > chosen for stopped, chosen in first.values()), first

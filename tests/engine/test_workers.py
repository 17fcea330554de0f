"""Two workers end a loop of steps before the same step, whoever asks for it, and resume it (in real processes)."""

import numpy as np
import pytest

from tests.cluster.processes import run_tasks
from tests.engine.conftest import expected_weights

pytestmark = pytest.mark.processes

PROGRAM = """
import json
import numpy as np, keras
import stratax as sx
from stratax import engine
from tests.engine.conftest import Training

options = sx.distribute.CommunicationOptions(timeout_seconds=20.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
worker = strategy.extended.membership.share.index

class Stopper(engine.Hook):
    '''Asks for a stop in one worker, at a step that only it looks at.'''

    def __init__(self, at, who):
        self.at, self.who, self.stopped = at, who, []

    def after_dispatch(self, loop, steps, outputs):
        if worker == self.who and loop.step >= self.at:
            loop.request_stop()

    def on_stop(self, loop):
        self.stopped.append(loop.step)

def run(at=10**6, who=0, until=13, passes=None, state=None, weights=None, k=3):
    training, stopper = Training(strategy), Stopper(at, who)
    loop = training.loop(steps_per_dispatch=k, hooks=[stopper])
    if state is not None:
        loop.set_state(state)
        training.weights.assign(np.asarray(weights))
    with training.input:
        loop.run(training.input, until=until, passes=passes)
    found = {"step": loop.step, "passes": loop.passes, "stopped": stopper.stopped}
    return found | {"weights": training.weights.numpy().tolist(), "state": loop.get_state()}

whole = run()
report(whole=whole)
report(resumed=run(until=20, state=json.loads(json.dumps(whole["state"])), weights=whole["weights"]))
for who in range(2):
    report(**{f"stop {who}": run(at=4, who=who, until=500, k=1)})
    report(**{f"blocks {who}": run(at=4, who=who, until=500)})
    report(**{f"pass {who}": run(at=6, who=who, passes=80, until=None)})
report(chief=[strategy.extended.membership.is_chief, engine.from_chief(strategy, {"worker": worker}),
              engine.parts_of_all(strategy, worker)])
engine.wait_for_all(strategy)
"""


@pytest.fixture(scope="module")
def reports():
    results = run_tasks(2, PROGRAM)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return [result.report for result in results]


@pytest.mark.programs
def test_workers_train_exactly_as_many_steps_and_go_on_where_they_were(reports):
    for report in reports:
        for name, steps, passes in (("whole", 13, 2), ("resumed", 20, 3)):
            assert (report[name]["step"], report[name]["passes"]) == (steps, passes)
            assert report[name]["stopped"] == []
            np.testing.assert_allclose(report[name]["weights"], expected_weights(steps), rtol=1e-5, atol=1e-6)


@pytest.mark.programs
@pytest.mark.parametrize("name", ["stop", "blocks", "pass"])
@pytest.mark.parametrize("who", [0, 1])
def test_a_stop_that_one_worker_asks_for_ends_all_before_the_same_step(reports, name, who):
    first, second = (report[f"{name} {who}"] for report in reports)
    assert first["step"] == second["step"]
    assert first["stopped"] == second["stopped"] == [first["step"]]
    assert first["weights"] == second["weights"]
    # A few steps after the wish, which is made again and again; the other worker has begun some meanwhile.
    assert 4 <= first["step"] < 480
    np.testing.assert_allclose(first["weights"], expected_weights(first["step"]), rtol=1e-4, atol=1e-5)


@pytest.mark.programs
def test_the_chief_is_one_worker_and_its_values_reach_all(reports):
    assert [report["chief"] for report in reports] == [
        [True, {"worker": 0}, [0, 1]],
        [False, {"worker": 0}, [0, 1]],
    ]

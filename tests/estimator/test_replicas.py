"""A `model_fn` with losses, metrics and optimizers of TensorFlow 1 gives the same on every strategy."""

import numpy as np
import pytest

import stratax as sx
from tests.cluster.processes import run_tasks
from tests.estimator.v1_model import trained

pytestmark = pytest.mark.exact

STRATEGIES = {
    "mirrored": lambda: sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(8)]),
    "central": lambda: sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(1, 5)]),
}
PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.estimator.v1_model import trained

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
found, variables = trained(sys.argv[1], strategy)
report(found={key: float(value) for key, value in found.items()},
       variables={name: np.asarray(value).tolist() for name, value in variables.items()})
"""


@pytest.fixture(scope="module")
def of_one_device(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("one"))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_training_and_evaluation_are_one_devices(strategy, of_one_device, tmp_path):
    wanted, variables = of_one_device
    found, own = trained(tmp_path, STRATEGIES[strategy]())
    assert found["global_step"] == wanted["global_step"] == 6
    assert found.keys() == {"accuracy", "auc", "error", "global_step", "loss", "mixed", "recall", "root"}
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
    assert own.keys() == variables.keys()
    assert {"logits/kernel/Adam_1", "logits/kernel/ExponentialMovingAverage", "beta1_power"} <= own.keys()
    for name, value in variables.items():
        np.testing.assert_allclose(own[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    accuracy = found["accuracy"]
    assert found["error"] == pytest.approx(1 - accuracy)
    assert found["root"] == pytest.approx(accuracy**0.5)
    assert found["mixed"] == pytest.approx(2 * max(1 - accuracy, 0.25) / (accuracy + accuracy**0.5))


@pytest.mark.processes
def test_two_workers_with_four_replicas_are_one_device(of_one_device, tmp_path):
    wanted, variables = of_one_device
    results = run_tasks(2, PROGRAM, str(tmp_path), devices=4)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    for result in results:
        for key, value in wanted.items():
            np.testing.assert_allclose(result.report["found"][key], value, rtol=1e-5, atol=1e-6, err_msg=key)
        for name, value in variables.items():
            own = result.report["variables"][name]
            np.testing.assert_allclose(own, value, rtol=1e-5, atol=1e-6, err_msg=name)

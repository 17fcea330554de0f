"""A canned estimator gives the same on every strategy."""

import numpy as np
import pytest

import stratax as sx
from tests.cluster.processes import run_tasks
from tests.stressed import but
from tests.tensorflow.estimator.canned.canned_model import trained

PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.tensorflow.estimator.canned.canned_model import trained

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
found, variables = trained(sys.argv[1], strategy)
report(found={key: float(value) for key, value in found.items()},
       variables={name: np.asarray(value).tolist() for name, value in variables.items()})
"""


def check_same(found, variables, wanted):
    metrics, values = wanted
    assert (
        found.keys() == metrics.keys() >= {"accuracy", "accuracy_baseline", "auc", "average_loss", "recall"}
    )
    assert variables.keys() == values.keys()
    for key, value in metrics.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
    for name, value in values.items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.fixture(scope="module")
def of_one_device(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("one"))


@pytest.mark.parametrize("replicas", but(lambda replicas: replicas == 2, [2, 8]))
def test_training_and_evaluation_on_replicas_are_one_devices(replicas, of_one_device, tmp_path):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])
    check_same(*trained(tmp_path, strategy), of_one_device)


@pytest.mark.stress
def test_sums_of_losses_on_eight_replicas_are_one_devices(tmp_path):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(8)])
    wanted = trained(tmp_path / "one", is_first=True)
    check_same(*trained(tmp_path / "eight", strategy, is_first=True), wanted)


@pytest.mark.stress
@pytest.mark.processes
def test_two_workers_with_four_replicas_are_one_device(of_one_device, tmp_path):
    results = run_tasks(2, PROGRAM, str(tmp_path), devices=4)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    for result in results:
        check_same(result.report["found"], result.report["variables"], of_one_device)

"""A `model_fn` with losses, metrics and optimizers of TensorFlow 1 gives the same on every strategy."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, RunConfig, SessionRunArgs, SessionRunHook
from tests.cluster.processes import run_tasks
from tests.stressed import but
from tests.tensorflow.estimator.v1_model import trained

STRATEGIES = {
    "mirrored": lambda: sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(8)]),
    "central": lambda: sx.distribute.CentralStorageStrategy([f"/cpu:{index}" for index in range(1, 5)]),
}
PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.tensorflow.estimator.v1_model import trained

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
if sys.argv[2] == "parts":
    strategy = sx.distribute.ShardedStrategy(layout={"hidden/kernel": (None, "shard"), "logits/kernel": ("shard",)})
else:
    strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
found, variables = trained(sys.argv[1], strategy)
report(found={key: float(value) for key, value in found.items()},
       variables={name: np.asarray(value).tolist() for name, value in variables.items()})
"""


@pytest.fixture(scope="module")
def of_one_device(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("one"))


@pytest.mark.parametrize("strategy", but(lambda strategy: strategy == "mirrored", STRATEGIES))
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


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("kind", ["copies", "parts"])
def test_two_workers_with_four_replicas_are_one_device(of_one_device, tmp_path, kind):
    wanted, variables = of_one_device
    results = run_tasks(2, PROGRAM, str(tmp_path), kind, devices=4)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    for result in results:
        for key, value in wanted.items():
            np.testing.assert_allclose(result.report["found"][key], value, rtol=1e-5, atol=1e-6, err_msg=key)
        for name, value in variables.items():
            own = result.report["variables"][name]
            np.testing.assert_allclose(own, value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_hooks_find_what_is_behind_a_loss_and_its_gradients_where_one_replica_stands_for_all(tmp_path):
    found = []

    class Watch(SessionRunHook):
        def __init__(self, tensor):
            self.tensor = tensor

        def before_run(self, run_context):
            return SessionRunArgs(self.tensor)

        def after_run(self, run_context, run_values):
            found.append(float(run_values.results))

    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        loss = tf.losses.mean_squared_error(labels, features * weight, weights=features)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
        seven = 0 * loss + 7.0
        tf.reduce_sum(features)
        return EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[Watch(seven)])

    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    made = Estimator(model_fn, str(tmp_path), RunConfig(train_distribute=strategy))
    rows = np.ones(9, np.float32)
    # The last step has a row for one replica.
    made.train(lambda: sx.data.Dataset.from_tensor_slices((rows, rows)).batch(2))
    assert found == [7.0, 7.0]

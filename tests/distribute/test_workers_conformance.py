"""Two workers of two devices, one worker of four, and one device give the same weights and metrics (real processes).

Also where the devices of both workers have parts of the variables.
"""

import numpy as np
import pytest

from tests.cluster.processes import run_tasks
from tests.distribute.conformance import check, check_assigned_variables, check_own_values
from tests.stressed import but

pytestmark = pytest.mark.processes

PROGRAM = """
import numpy as np, keras
import stratax as sx
rng = np.random.default_rng(0)
images = rng.normal(size=(46, 8, 8, 1)).astype("float32")
labels = rng.integers(0, 3, 46)
rows = images.reshape(46, 64)

def strategy(**options):
    if sys.argv[1:]:
        return sx.distribute.ShardedStrategy(
            layout={"conv.*kernel": (None, None, None, "shard"), "dense.*kernel": ("shard",)})
    return sx.distribute.MultiWorkerMirroredStrategy(
        communication_options=sx.distribute.CommunicationOptions(**options))

def fitted(strategy, layers, optimizer, data, steps=1, epochs=2):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential(layers())
        model.compile(optimizer(), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                      metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)], steps_per_execution=steps)
    arguments = {"epochs": epochs, "verbose": 0, "shuffle": False}
    if isinstance(data, np.ndarray):
        history = model.fit(data, labels, batch_size=12, validation_data=(data[:7], labels[:7]), **arguments)
    else:
        history = model.fit(data(strategy), **arguments)
    return {"history": history.history, "weights": [w.tolist() for w in model.get_weights()]}

def network():
    return [keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.MaxPooling2D(),
            keras.layers.Flatten(), keras.layers.Dense(3)]

def perceptron():
    return [keras.Input((64,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)]

RING = sx.distribute.CommunicationImplementation.RING
AUTO = sx.distribute.CommunicationImplementation.AUTO
report(cnn_clipped_ring=fitted(
    strategy(implementation=RING, bytes_per_pack=512), network,
    lambda: keras.optimizers.Adam(0.01, clipnorm=0.3), images))
report(accumulated=fitted(
    strategy(implementation=AUTO, timeout_seconds=60.0), perceptron,
    lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.5, gradient_accumulation_steps=2), rows, steps=2))

# One worker has data for 10 steps and the other for 7; one process sees the same examples in each step.
mine = [[slice(2 * i, 2 * i + 2) for i in range(10)], [slice(20 + 2 * i, 22 + 2 * i) for i in range(7)]]

def uneven(strategy):
    if strategy.num_workers == 1:
        parts = [[batches[i] for batches in mine if i < len(batches)] for i in range(10)]
        return ((np.concatenate([rows[p] for p in each]), np.concatenate([labels[p] for p in each])) for each in parts)
    def of_worker(context):
        own = mine[context.input_pipeline_id]
        whole = slice(own[0].start, own[-1].stop)
        return sx.data.Dataset.from_tensor_slices((rows[whole], labels[whole])).batch(1)  # For each replica.
    return strategy.distribute_datasets_from_function(of_worker)

report(uneven=fitted(strategy(), perceptron, lambda: keras.optimizers.SGD(0.1, momentum=0.9), uneven, epochs=1))
"""

CUSTOM_LOOP = """
import stratax as sx
from tests.distribute.conformance import EPOCHS, Training, assigned_variables, own_values
strategy = sx.distribute.MultiWorkerMirroredStrategy()
for with_tape in (False, True):
    training = Training(strategy, with_tape)
    losses = [loss for _ in range(EPOCHS) for loss in training.epoch()]
    report(**{str(with_tape): training.outcome(losses), f"programs {with_tape}": training.step.num_programs})
report(variables=assigned_variables(strategy))
report(own=own_values(strategy))
"""

SHARDED_LOOPS = """
import stratax as sx
from tests.distribute.conformance import EPOCHS, Training, assigned_variables, own_values
CASES = {
    # Six devices, each of which has a part: those of both workers.
    "shard": (dict(devices=["/cpu:0", "/cpu:1", "/cpu:2"]), "shard"),
    "model": (dict(replicas=2, model=2), "model"),
}
for name, (options, axis) in CASES.items():
    layout = {"first/kernel": (None, axis), "first/bias": (axis,), "second/kernel": (axis,)}
    strategy = sx.distribute.ShardedStrategy(**options, layout=layout)
    training = Training(strategy, name == "shard")
    losses = [loss for _ in range(EPOCHS) for loss in training.epoch()]
    parts = [v.value.sharding.shard_shape(v.shape) for v in training.model.trainable_variables]
    report(**{name: training.outcome(losses), f"programs {name}": training.step.num_programs,
              f"parts {name}": parts, f"slots {name}": [
                  v.value.sharding.shard_shape(v.shape) for v in training.optimizer.variables[2:]]})
    report(**{f"variables {name}": assigned_variables(strategy), f"own {name}": own_values(strategy)})
"""


@pytest.mark.programs
def test_a_custom_loop_on_two_workers_of_two_devices_gives_one_devices_numbers():
    first, second = run_tasks(2, CUSTOM_LOOP, devices=2)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    report, other = first.report, second.report
    for each, replicas in ((report, (0, 1)), (other, (2, 3))):
        check_own_values(each.pop("own"), replicas)
    assert report == other
    for with_tape in (False, True):
        check(**report[str(with_tape)])
        assert report[f"programs {with_tape}"] == 2
    check_assigned_variables(report["variables"], num_replicas=4, num_local=2)


@pytest.mark.programs
def test_custom_loops_of_workers_whose_devices_have_parts_give_one_devices_numbers():
    first, second = run_tasks(2, SHARDED_LOOPS, devices=4)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    report, other = first.report, second.report
    for name, own, count in (("shard", (range(3), range(3, 6)), 6), ("model", (range(2), range(2, 4)), 4)):
        for each, replicas in zip((report, other), own, strict=True):
            check_own_values(each.pop(f"own {name}"), replicas)
        check(**report[name])
        assert report[f"programs {name}"] == 2
        check_assigned_variables(report[f"variables {name}"], num_replicas=count, num_local=count // 2)
    assert report == other
    assert report["parts shard"] == [[5, 4], [4], [4, 3], [3]]
    assert report["parts model"] == [[5, 12], [12], [12, 3], [3]]
    assert report["slots shard"] == [part for part in report["parts shard"] for _ in range(2)]


CASES = ("cnn_clipped_ring", "accumulated", "uneven")


def reports(workers, devices, *arguments):
    results = run_tasks(workers, PROGRAM, *arguments, devices=devices)
    assert [result.code for result in results] == [0] * workers, [result.err for result in results]
    return [result.report for result in results]


@pytest.fixture(scope="module")
def one_device():
    return reports(1, 1)[0]


@pytest.fixture(scope="module")
def two_by_two():
    return reports(2, 2)


@pytest.fixture(scope="module")
def in_parts():
    return reports(2, 2, "sharded")


@pytest.fixture(scope="module")
def one_by_four():
    return reports(1, 4)


@pytest.mark.programs
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "layout", but(lambda layout: layout != "one_by_four", ["two_by_two", "in_parts", "one_by_four"])
)
def test_the_layout_of_devices_does_not_change_the_training(layout, case, one_device, request):
    expected, all_reports = one_device[case], request.getfixturevalue(layout)
    for report in all_reports:
        got = report[case]
        assert list(got["history"]) == list(expected["history"])
        for name, values in expected["history"].items():
            np.testing.assert_allclose(got["history"][name], values, rtol=2e-5, atol=2e-6, err_msg=name)
        for ours, theirs in zip(got["weights"], expected["weights"], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=3e-6)
    assert all(report == all_reports[0] for report in all_reports)

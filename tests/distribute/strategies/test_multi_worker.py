"""MultiWorkerMirroredStrategy in real processes (they are started by these tests): the same numbers as one process."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.cluster import _connection, _hooks
from tests.cluster.processes import environment, no_tasks, run_tasks

SHARED = pathlib.Path(__file__).resolve().parents[3].parent / "shared"
GOLDEN = SHARED / "golden" / "mirrored_custom_loop.npz"

pytestmark = pytest.mark.processes

CUSTOM_LOOP = """
import numpy as np, keras, sys
import stratax.tf as tf
golden, mnist = np.load(sys.argv[1]), np.load(sys.argv[2])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = mnist["x_train"][:170].reshape(170, 784).astype("float32") / 255
y = mnist["y_train"][:170].astype("int32")
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(40))
with strategy.scope():
    model = keras.Sequential([keras.Input((784,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(10)])
    model.set_weights([golden[name] for name in ("W0", "b0", "W1", "b1")])
    optimizer = keras.optimizers.Adam(0.01)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    losses = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

def step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.nn.compute_average_loss(losses(labels, logits), global_batch_size=40)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    accuracy.update_state(labels, logits)
    return loss

@tf.function
def train(batch):
    return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)

found = [float(train(batch)) for _ in range(2) for batch in dataset]
report(losses=found, accuracy=float(accuracy.result()), weights=[w.tolist() for w in model.get_weights()],
       replicas=strategy.num_replicas_in_sync, share=strategy.extended.membership.share.index)
"""


@pytest.mark.programs
@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden numbers are not beside the checkout")
def test_two_workers_of_two_devices_give_tensorflows_own_numbers():
    results = run_tasks(2, CUSTOM_LOOP, str(GOLDEN), str(SHARED / "data" / "mnist.npz"), devices=2)
    golden = np.load(GOLDEN)
    for result in results:
        assert result.code == 0, result.err
        report = result.report
        assert report["replicas"] == 4
        np.testing.assert_allclose(report["losses"], golden["ctl_adam_r4_loss"], rtol=0, atol=1e-5)
        assert report["accuracy"] == pytest.approx(float(golden["ctl_adam_r4_acc"]), abs=1e-6)
        for index, weights in enumerate(report["weights"]):
            np.testing.assert_allclose(weights, golden[f"ctl_adam_r4_w{index}"], rtol=0, atol=1e-4)
    assert results[0].report["weights"] == results[1].report["weights"]


FIT = """
import grain, numpy as np, keras
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
rng = np.random.default_rng(0)
x, y = rng.normal(size=(170, 20)).astype("float32"), rng.integers(0, 10, 170)

def model():
    keras.utils.set_random_seed(3)
    with strategy.scope():
        made = keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(10)])
        made.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"],
                     steps_per_execution=steps)
    return made

for steps in (1, 3):
    each = model()
    history = each.fit(x, y, batch_size=40, epochs=2, verbose=0, validation_data=(x[:33], y[:33])).history
    report(**{f"history{steps}": history, f"weights{steps}": [w.tolist() for w in each.get_weights()]})

class Sequence(keras.utils.PyDataset):
    def __len__(self):
        return 5
    def __getitem__(self, index):
        return batches[index]

class Loader:
    def __len__(self):
        return 5
    def __iter__(self):
        return iter(batches)

batches = [(x[i : i + 40], y[i : i + 40]) for i in range(0, 170, 40)]
rows = list(zip(x, y))
each = model()
for name, source in {
    "sequence": Sequence(),
    "generator": (batch for batch in batches),
    "iterable": sx.data.as_dataset(Loader()),
    "dataset": sx.data.Dataset.from_tensor_slices((x, y)).shuffle(170, seed=1).batch(40),
    "streamed": sx.data.Dataset.from_tensor_slices((x, y)).filter(lambda x, y: y < 9).batch(40),
    "grain map": grain.MapDataset.source(rows).shuffle(seed=1).batch(40),
    "grain iter": grain.MapDataset.source(rows).to_iter_dataset().batch(40),
    "grain loader": grain.DataLoader(
        data_source=rows, sampler=grain.samplers.IndexSampler(170, num_epochs=1),
        operations=[grain.transforms.Batch(40)]),
}.items():
    report(**{name: each.fit(source, verbose=0, shuffle=False).history["loss"]})
report(evaluation=each.evaluate(x[:37], y[:37], verbose=0), predictions=each.predict(x[:37], verbose=0).tolist(),
       on_batch=each.train_on_batch(x[:40], y[:40], return_dict=True)["loss"])
shuffled = sx.data.Dataset.from_tensor_slices((x, y)).shuffle(170).batch(24)
report(unseeded=each.fit(shuffled, epochs=2, verbose=0).history["loss"])
report(numpy=float(np.asarray(each.weights[0]).sum()), eager=float((each.weights[0] * 2).sum()))

class Confusion(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="confusion")
        self.matrix = self.add_weight(shape=(2, 2), initializer="zeros", name="matrix")

    def update_state(self, y_true, y_pred, sample_weight=None):
        true, predicted = (keras.ops.one_hot(keras.ops.cast(y[:, 0] > 0.5, "int32"), 2) for y in (y_true, y_pred))
        self.matrix.assign_add(keras.ops.matmul(keras.ops.transpose(true), predicted))

    def result(self):
        return keras.ops.sum(self.matrix)

keras.utils.set_random_seed(3)
with strategy.scope():
    binary = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1, "sigmoid")])
    binary.compile("sgd", "binary_crossentropy", metrics=[Confusion(), keras.metrics.AUC(name="auc")])
many = rng.normal(size=(1003, 20)).astype("float32")
found = binary.evaluate(many, (many[:, :1] > 0).astype("float32"), batch_size=40, verbose=0, return_dict=True)
(matrix,) = [v.numpy().tolist() for v in binary.metrics_variables if v.name == "matrix"]
report(counted=found["confusion"], matrix=matrix, auc=found["auc"])
"""


@pytest.fixture(scope="module")
def fitted():
    results = run_tasks(2, FIT, devices=2)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return [result.report for result in results]


@pytest.mark.programs
def test_input_of_every_kind_is_the_same_on_all_workers(fitted):
    first, second = fitted
    assert first == second
    assert first["eager"] == pytest.approx(2 * first["numpy"], rel=1e-5)


@pytest.fixture(scope="module")
def alone():
    (result,) = run_tasks(1, FIT, devices=1)
    assert result.code == 0, result.err
    return result.report


@pytest.mark.programs
def test_fit_of_arrays_equals_one_process(fitted, alone):
    for got in fitted:
        for name in ("history1", "history3"):
            for metric, values in alone[name].items():
                np.testing.assert_allclose(got[name][metric], values, rtol=0, atol=1e-5)


@pytest.mark.programs
@pytest.mark.parametrize(
    "name",
    ["sequence", "generator", "iterable", "dataset", "streamed", "grain map", "grain iter", "grain loader"],
)
def test_every_kind_of_input_trains_as_in_one_process(name, fitted, alone):
    for got in fitted:
        np.testing.assert_allclose(got[name], alone[name], rtol=0, atol=1e-4)


@pytest.mark.programs
def test_evaluate_and_predict_equal_one_process(fitted, alone):
    for got in fitted:
        for name in ("evaluation", "predictions", "on_batch"):
            np.testing.assert_allclose(got[name], alone[name], rtol=0, atol=1e-3)


@pytest.mark.programs
def test_a_confusion_matrix_and_auc_of_1003_examples_are_those_of_one_process(fitted, alone):
    for got in fitted:
        assert got["counted"] == np.sum(got["matrix"]) == 1003
        assert got["matrix"] == alone["matrix"]
        assert got["auc"] == pytest.approx(alone["auc"], abs=1e-5)


UNEVEN = """
import numpy as np, jax.numpy as jnp
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()

def rows(context):
    count = [55, 42][context.input_pipeline_id]
    values = np.arange(count) + 1000.0 * context.input_pipeline_id
    return sx.data.Dataset.from_tensor_slices(values.astype("float32")).batch(3)

dataset = strategy.distribute_datasets_from_function(rows)

@sx.function
def totals(batch):
    parts = strategy.run(lambda x: (jnp.sum(x), jnp.float32(x.shape[0])), args=(batch,))
    return strategy.reduce("SUM", parts, axis=None)

for name in ("first", "second"):
    seen = [totals(batch) for batch in dataset]
    report(**{name: [sum(float(t) for t, _ in seen), sum(float(n) for _, n in seen), len(seen)]})
iterator = iter(dataset)
taken = [float(totals(next(iterator))[0]) for _ in range(8)]
state = iterator.get_state()
rest = [float(totals(batch)[0]) for batch in iterator]
again = iter(dataset)
again.set_state(state)
report(length=len(dataset), same=rest == [float(totals(batch)[0]) for batch in again], rest=len(rest))
"""


@pytest.mark.programs
def test_workers_with_different_amounts_of_data_use_all_of_it():
    expected = [float(np.arange(55).sum() + (np.arange(42) + 1000.0).sum()), 97.0, 10]
    for result in run_tasks(2, UNEVEN, devices=2):
        assert result.code == 0, result.err
        assert result.report["first"] == result.report["second"] == expected
        assert result.report["length"] == 10
        assert result.report["rest"] == 2
        assert result.report["same"]


EQUAL_START = """
import keras, numpy as np, random
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    layer = keras.layers.Dense(4)
    layer.build((None, 3))
    dropout = keras.layers.Dropout(0.5)
report(kernel=layer.kernel.numpy().tolist(), drawn=random.random(), numpy=float(np.random.rand()),
       values=[v.numpy().tolist() for v in dropout.variables])
values = strategy.experimental_distribute_values_from_function(lambda c: np.float32(c.replica_id_in_sync_group))
report(local=[float(v) for v in strategy.experimental_local_results(values)])
report(gathered=strategy.gather(strategy.run(lambda v: v[None] * 2, args=(values,)), axis=0).tolist())
report(reduced=float(strategy.reduce("SUM", values, axis=None)))

with strategy.scope():
    v = sx.Variable(1.0)

def add(value):
    def merge(strategy, value):
        total = strategy.extended.reduce_to("SUM", value, v)
        return strategy.extended.update(v, lambda v, x: v.assign_add(x), args=(total,))
    return sx.distribute.get_replica_context().merge_call(merge, args=(value,))

strategy.run(add, args=(values,))
everywhere, here = strategy.extended.reduce_to("SUM", values, v), strategy.extended.reduce_to("MEAN", values, "CPU:0")
for argument in (everywhere, values, here):
    strategy.extended.update(v, lambda v, x: v.assign(2 * v + x), args=(argument,))
report(updated=float(v.numpy()), own=strategy.extended.worker_devices, all=strategy.device_names)
"""


@pytest.mark.programs
def test_workers_begin_with_the_same_variables_and_random_states():
    first, second = (result.report for result in run_tasks(2, EQUAL_START, devices=2))
    for name in ("kernel", "drawn", "numpy", "values", "gathered", "reduced", "updated"):
        assert first[name] == second[name]
    assert first["local"] == [0.0, 1.0]
    assert second["local"] == [2.0, 3.0]
    assert first["gathered"] == [0.0, 2.0, 4.0, 6.0]
    assert first["reduced"] == 6.0
    # 1 + 6 in the replicas; then 2 * 7 + 6, 2 * 20 + 0 (the first replica's) and 2 * 40 + 1.5.
    assert first["updated"] == 81.5
    assert len(first["own"]) == 2
    assert [*first["own"], *second["own"]] == first["all"] == second["all"]


def test_without_tf_config_there_is_one_worker_and_it_says_so(caplog, monkeypatch):
    # Forgotten afterwards: other tests are about a process that is connected to nothing.
    monkeypatch.setattr(_connection._state, "cluster", None)
    monkeypatch.setattr(_hooks._state, "cluster", None)
    strategy = sx.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_workers == 1
    assert strategy.num_replicas_in_sync == 8
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("stratax", "WARNING")
    assert "has one worker, this process: TFConfigClusterResolver found no cluster" in record.getMessage()


ALONE = """
import logging, sys
import stratax as sx
logging.basicConfig(level=logging.INFO)
report(workers=sx.distribute.MultiWorkerMirroredStrategy().num_workers)
"""


@pytest.mark.parametrize(
    ("job", "said"),
    [("worker", "its cluster names no other"), ("evaluator", "an evaluator computes on its own")],
)
def test_a_worker_without_others_and_an_evaluator_are_alone(job, said):
    with no_tasks() as running:
        running.start(ALONE, environment({"worker": ["127.0.0.1:1234"]}, job, 0))
        (result,) = running.wait()
    assert result.code == 0, result.err
    assert result.report["workers"] == 1
    assert said in result.err


def test_wrong_arguments_are_refused():
    with pytest.raises(errors.BadTypeError, match="communication_options must be"):
        sx.distribute.MultiWorkerMirroredStrategy(communication_options="ring")
    with pytest.raises(errors.BadArgumentError, match="implementation must be one of"):
        sx.distribute.CommunicationOptions(implementation="gloo")
    for seconds in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(errors.BadArgumentError, match="must be positive and finite"):
            sx.distribute.CommunicationOptions(timeout_seconds=seconds)
    with pytest.raises(errors.BadArgumentError, match="must not be negative"):
        sx.distribute.CommunicationOptions(bytes_per_pack=-1)
    with pytest.raises(errors.BadTypeError, match="must be an integer"):
        sx.distribute.CommunicationOptions(bytes_per_pack=1.5)
    with pytest.raises(errors.BadTypeError, match="must be a number"):
        sx.distribute.CommunicationOptions(timeout_seconds="1")


def test_numbers_of_numpy_are_numbers():
    options = sx.distribute.CommunicationOptions(
        bytes_per_pack=np.int64(1024), timeout_seconds=np.float32(2.5)
    )
    assert (options.bytes_per_pack, options.timeout_seconds) == (1024, 2.5)
    assert json.dumps(dataclasses.asdict(options)["timeout_seconds"]) == "2.5"


def test_the_implementation_decides_what_combines_values():
    options = sx.distribute.CommunicationOptions(bytes_per_pack=1024, implementation="ring")
    assert isinstance(options.cross_device_ops(False), sx.distribute.RingAllReduce)
    with pytest.warns(RuntimeWarning, match="there are no GPUs"):
        sx.distribute.CommunicationOptions(implementation="nccl").cross_device_ops(False)


DIVIDED = """
import numpy as np, sys
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
policy = sx.data.AutoShardPolicy
options = sx.data.Options()
options.experimental_distribute.auto_shard_policy = policy[sys.argv[1]]
plain = sx.data.Dataset.from_tensor_slices(np.arange(50, dtype=np.float32)).shuffle(50)
dataset = {
    "memory": lambda: plain.batch(12),
    "mapped": lambda: plain.map(lambda x: x * 1).batch(12),
    "streamed": lambda: plain.filter(lambda x: x != 7).batch(12),
}[sys.argv[2]]().with_options(options)
for batch in strategy.experimental_distribute_dataset(dataset):
    rows = np.concatenate([np.ravel(v) for v in strategy.experimental_local_results(batch)])
    report(**{f"rows{len(rows)}-{rows[0]}": [rows.tolist(), batch.num_components]})
"""


@pytest.mark.programs
@pytest.mark.parametrize("kind", ["memory", "mapped", "streamed"])
def test_workers_divide_each_batch_of_a_shuffled_dataset_without_gap_or_duplicate(kind):
    results = run_tasks(2, DIVIDED, "DATA", kind, devices=1)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    parts = [result.report for result in results]
    everything = sorted(set(range(50)) - ({7} if kind == "streamed" else set()))
    seen: list[float] = []
    for part in parts:
        seen += [row for rows, components in part.values() if components > 1 for row in rows]
    whole = [row for rows, components in parts[0].values() if components == 1 for row in rows]
    assert sorted(seen + whole) == everything


FILES = """
import numpy as np, sys
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
dataset = sx.data.Dataset.list_files(sys.argv[1] + "/*.tfrecord", shuffle=False)
dataset = dataset.interleave(sx.data.TFRecordDataset, cycle_length=2).map(lambda r: np.float32(int(r)))
dataset = dataset.shuffle(10).batch(8).prefetch(2)
for _ in range(2):
    seen = []
    for batch in strategy.experimental_distribute_dataset(dataset):
        rows = np.concatenate([np.ravel(v) for v in strategy.experimental_local_results(batch)]).tolist()
        seen += rows if batch.num_components > 1 or strategy.extended.membership.share.index == 0 else []
    report(**{f"pass{_}": seen})
"""


@pytest.mark.programs
def test_workers_read_files_of_their_own_of_different_length(tmp_path):
    written = iter(range(1000))
    for number, count in enumerate((13, 1, 22, 9)):
        with sx.data.TFRecordWriter(str(tmp_path / f"part-{number}.tfrecord")) as writer:
            for _ in range(count):
                writer.write(str(next(written)).encode())
    results = run_tasks(2, FILES, str(tmp_path), devices=1)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    assert "AUTO chose FILE" in results[0].err
    for name in ("pass0", "pass1"):
        assert sorted(results[0].report[name] + results[1].report[name]) == list(range(45))


POD = """
import stratax.tf as tf, jax, numpy as np
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
topology = tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
cores = np.array(topology.device_coordinates)
assignment = lambda order: tf.tpu.experimental.DeviceAssignment(topology, cores[order].reshape(2, 2, 4))
pairs = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment([2, 3, 0, 1]))
try:
    tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment([0, 2, 1, 3]))
except tf.errors.InvalidArgumentError as error:
    apart = str(error)
values = strategy.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(8))
rows = [[v.tolist() for v in strategy.experimental_local_results(batch)] for batch in dataset]
report(replicas=strategy.num_replicas_in_sync, hosts=strategy.num_workers, rows=rows, apart=apart,
       pairs=(pairs.num_replicas_in_sync, pairs.num_workers),
       ids=[int(v) for v in strategy.experimental_local_results(values)], names=strategy.device_names)
"""


PARTS_OF_POD = """
import stratax as sx, jax, numpy as np, keras
resolver = sx.cluster.TPUClusterResolver()
strategy = sx.distribute.ShardedStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((128,)), keras.layers.Dense(128), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
whole = [each for each in jax.live_arrays() if each.shape == (128, 128) and each.is_fully_addressable]
kernel = model.layers[0].kernel
x = np.random.default_rng(0).normal(size=(20, 128)).astype("float32")
losses = model.fit(x, x[:, :1], batch_size=8, epochs=2, verbose=0, shuffle=False).history["loss"]
made = strategy.shard(lambda key: jax.random.normal(key, (128, 64)), jax.random.key(0))
report(hosts=strategy.num_workers, whole=len(whole), losses=losses, made=made.sharding.shard_shape(made.shape),
       parts=kernel.value.sharding.shard_shape((128, 128)), here=len(kernel.value.addressable_shards))
"""


def run_on_pod(program):
    hosts = ["127.0.0.1", "127.0.0.2"]
    with no_tasks() as pod:
        for host in (0, 1):
            variables = {
                "TPU_WORKER_HOSTNAMES": ",".join(hosts),
                "TPU_WORKER_ID": str(host),
                "STRATAX_SIMULATE": "tpu:2",
            }
            clean = environment({}, "worker", host, variables=variables)
            del clean["TF_CONFIG"]
            pod.start(program, clean)
        results = pod.wait()
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return [result.report for result in results]


@pytest.mark.programs
def test_the_hosts_of_a_tpu_have_parts_of_a_model_and_no_process_has_the_whole():
    first, second = run_on_pod(PARTS_OF_POD)
    assert first == second
    losses = first.pop("losses")
    assert losses[1] < losses[0]
    assert first == {"hosts": 2, "whole": 0, "made": [32, 64], "parts": [32, 128], "here": 2}


@pytest.mark.programs
def test_a_tpu_pod_of_two_hosts_is_one_strategy():
    first, second = run_on_pod(POD)
    assert (first["replicas"], first["hosts"]) == (4, 2)
    assert (first["ids"], second["ids"]) == ([0, 1], [2, 3])
    assert (first["rows"][0], second["rows"][0]) == ([[0, 1], [2, 3]], [[4, 5], [6, 7]])
    assert first["rows"][1] == second["rows"][1] == [[8, 9, 10]]
    assert first["names"][2] == "/job:worker/replica:0/task:1/device:TPU:0"
    # Of replicas of two cores those of one host share a part of the batch, and others are refused, on each host alike.
    assert first["pairs"] == second["pairs"] == [2, 2]
    assert first["apart"] == second["apart"]
    assert (
        "Expected: cores of one host in each replica. Received: ['/job:worker/replica:0/task:0/"
        in first["apart"]
    )
    assert "task:1/device:TPU:0']" in first["apart"]

"""A model that was trained under one strategy is loaded under another one, and trained further."""

import contextlib

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from tests.cluster.processes import run_tasks
from tests.distribute.parameter_servers import strategy_on

pytestmark = pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(32, 4)).astype("float32"), RNG.integers(0, 3, 32)

STRATEGIES = {
    "none": sx.distribute.get_strategy,
    "one device": lambda: sx.distribute.OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    "central storage": lambda: sx.distribute.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
    "one worker": lambda: sx.distribute.MultiWorkerMirroredStrategy(),
    "parameter servers": lambda: strategy_on(2, sx.distribute.FixedShardsPartitioner(2)),
}


@contextlib.contextmanager
def strategy_named(name):
    made = STRATEGIES[name]()
    with (
        made
        if isinstance(made, contextlib.AbstractContextManager)
        else contextlib.nullcontext(made) as strategy
    ):
        yield strategy


def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)


def built():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def values(variables):
    return [np.asarray(each.numpy() if hasattr(each, "numpy") else each) for each in variables]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Files that each strategy has written, and how training would have gone on there."""
    folder = tmp_path_factory.mktemp("trained")
    found = {}

    def of(name):
        if name not in found:
            with strategy_named(name) as strategy:
                with strategy.scope():
                    model = built()
                model.fit(data(), epochs=1, verbose=0)
                model.save(folder / f"{name}.keras")
                model.save_weights(folder / f"{name}.weights.h5")
                tf.saved_model.save(model, folder / f"{name}")
                state = model.predict(X, verbose=0), values(model.optimizer.variables)
                found[name] = (folder, *state, model.fit(data(), epochs=1, verbose=0).history)
        return found[name]

    return of


def check(trained, source, target):
    folder, expected, slots, history = trained(source)
    with strategy_named(target) as strategy:
        with strategy.scope():
            model = keras.models.load_model(folder / f"{source}.keras")
            weights = built()
            weights.load_weights(folder / f"{source}.weights.h5")
            saved = tf.saved_model.load(folder / source)
        np.testing.assert_array_equal(model.predict(X, verbose=0), expected)
        np.testing.assert_array_equal(weights.predict(X, verbose=0), expected)
        np.testing.assert_allclose(saved.signatures["serving_default"](X)["output_0"], expected, atol=1e-6)
        found = values(model.optimizer.variables)
        assert len(found) == len(slots)
        for left, right in zip(found, slots, strict=True):
            np.testing.assert_array_equal(left, right)
        again = model.fit(data(), epochs=1, verbose=0).history
        assert again.keys() == history.keys()
        for name, each in again.items():
            np.testing.assert_allclose(each, history[name], rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "target"),
    [("mirrored", "none"), ("none", "mirrored")],
)
def test_training_goes_on_under_another_strategy(source, target, trained):
    check(trained, source, target)


@pytest.mark.stress
@pytest.mark.exact
@pytest.mark.parametrize("source", STRATEGIES)
@pytest.mark.parametrize("target", STRATEGIES)
def test_training_goes_on_from_each_strategy_under_each(source, target, trained):
    check(trained, source, target)


# How workers write in TensorFlow's tutorial: the chief into the folder, the others beside it.
WORKERS = """
import numpy as np, keras, pathlib
import stratax.tf as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
folder = pathlib.Path(sys.argv[1])
resolver = strategy.cluster_resolver
is_chief = resolver.task_id == 0

def path_of(name):
    base = folder if is_chief else folder / f"workertemp_{resolver.task_id}"
    tf.io.gfile.makedirs(str(base))
    return str(base / name)

x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")

def data():
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)

with strategy.scope():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(data(), epochs=1, verbose=0)
model.save(path_of("model.keras"))
tf.saved_model.save(model, path_of("saved"))
if not is_chief:
    tf.io.gfile.rmtree(str(folder / f"workertemp_{resolver.task_id}"))
# Also where all of them write to one place.
tf.saved_model.save(model, str(folder / "together"))
expected = model.predict(x, verbose=0)
history = model.fit(data(), epochs=1, verbose=0).history["loss"]
with strategy.scope():
    again = keras.models.load_model(folder / "model.keras")
    loaded = tf.saved_model.load(str(folder / "saved"))
report(
    same=bool(np.array_equal(expected, again.predict(x, verbose=0))),
    history=history, again=again.fit(data(), epochs=1, verbose=0).history["loss"],
)
[batch] = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(32))
found = strategy.run(loaded.signatures["serving_default"], args=(batch,))["output_0"]
[own] = strategy.experimental_local_results(found)
half = expected[16 * resolver.task_id :][:16]
report(close=float(np.abs(np.asarray(own) - half).max()), files=sorted(os.listdir(folder)))
"""


@pytest.mark.stress
@pytest.mark.exact
@pytest.mark.processes
def test_workers_save_as_in_tensorflows_tutorial_and_go_on(tmp_path):
    for worker in run_tasks(2, WORKERS, str(tmp_path)):
        assert worker.code == 0, worker.err
        assert worker.report["same"]
        assert worker.report["again"] == pytest.approx(worker.report["history"], rel=1e-5)
        assert worker.report["close"] < 1e-6
        assert worker.report["files"] == ["model.keras", "saved", "together"]

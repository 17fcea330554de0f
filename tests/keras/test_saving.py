"""A model that was trained under one strategy is loaded under another one, and trained further."""

import contextlib
import os

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from tests.cluster import forks
from tests.cluster.processes import run_tasks
from tests.distribute.parameter_servers import strategy_on

pytestmark = pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(48, 4)).astype("float32"), RNG.integers(0, 3, 48)

# A process has one kind of device: tests of TPU cores run in one of their own.
KIND = "tpu" if sx.cluster.simulated_kind() == "TPU" else "cpu"
TWO = [f"/{KIND}:0", f"/{KIND}:1"]
STRATEGIES = {
    "none": sx.distribute.get_strategy,
    "one device": lambda: sx.distribute.OneDeviceStrategy(TWO[1]),
    "mirrored": lambda: sx.distribute.MirroredStrategy(TWO),
    "central storage": lambda: sx.distribute.CentralStorageStrategy(TWO),
    "one worker": lambda: sx.distribute.MultiWorkerMirroredStrategy(),
    "parameter servers": lambda: strategy_on(2, sx.distribute.FixedShardsPartitioner(2)),
}
if KIND == "tpu":
    STRATEGIES["tpu"] = lambda: sx.distribute.TPUStrategy(sx.distribute.TPUClusterResolver(tpu=""))


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
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, "relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(3),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def values(variables):
    return [np.asarray(each.numpy() if hasattr(each, "numpy") else each) for each in variables]


def state(model):
    return values([*model.variables, *model.optimizer.variables])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Files that each strategy has written after three steps, and what it would have had after six."""
    folder = tmp_path_factory.mktemp("trained")
    found = {}

    def of(name):
        if name not in found:
            with strategy_named(name) as strategy:
                with strategy.scope():
                    model = built()
                model.fit(data().take(3), verbose=0)
                model.save(folder / f"{name}.keras")
                model.save_weights(folder / f"{name}.weights.h5")
                tf.saved_model.save(model, folder / f"{name}")
                predicted, after_three = model.predict(X, verbose=0), state(model)
                model.fit(data().skip(3), verbose=0)
                found[name] = (folder, predicted, after_three, state(model))
        return found[name]

    return of


def check(trained, source, target):
    folder, predicted, after_three, after_six = trained(source)
    with strategy_named(target) as strategy:
        with strategy.scope():
            model = keras.models.load_model(folder / f"{source}.keras")
            weights = built()
            weights.load_weights(folder / f"{source}.weights.h5")
            saved = tf.saved_model.load(folder / source)
            # What goes on as the loaded one has to: the same numbers were carried over by hand.
            by_hand = built()
            by_hand.optimizer.build(by_hand.trainable_variables)
            carried = [*by_hand.variables, *by_hand.optimizer.variables]
            for variable, value in zip(carried, after_three, strict=True):
                variable.assign(value)
        np.testing.assert_array_equal(model.predict(X, verbose=0), predicted)
        np.testing.assert_array_equal(weights.predict(X, verbose=0), predicted)
        np.testing.assert_allclose(saved.signatures["serving_default"](X)["output_0"], predicted, atol=1e-6)
        np.testing.assert_allclose(in_replicas(strategy, saved), predicted, atol=1e-6)
        assert_same(state(model), after_three)
        # What is equal now goes on equally, wherever it comes from: a few are trained.
        if source not in ("mirrored", target):
            return
        for each in (model, by_hand):
            each.fit(data().skip(3), verbose=0)
        assert_same(state(model), state(by_hand))
        if source == target:
            assert_same(state(model), after_six)


def in_replicas(strategy, saved):
    """What a loaded signature gives to batches that replicas share."""
    if isinstance(strategy, sx.distribute.ParameterServerStrategy):
        return saved(X)
    parts = []
    for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(16)):
        found = strategy.run(saved.signatures["serving_default"], args=(batch,))["output_0"]
        parts += strategy.experimental_local_results(found)
    return np.concatenate(parts)


def assert_same(found, expected):
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    ("source", "target"),
    [("mirrored", "none"), ("none", "mirrored")],
)
def test_training_goes_on_under_another_strategy(source, target, trained):
    check(trained, source, target)


@pytest.mark.stress
@pytest.mark.parametrize("source", STRATEGIES)
@pytest.mark.parametrize("target", STRATEGIES)
def test_training_goes_on_from_each_strategy_under_each(source, target, trained):
    check(trained, source, target)


@pytest.mark.stress
@pytest.mark.processes
def test_training_goes_on_from_and_under_tpu_cores():
    environment = os.environ | {"STRATAX_SIMULATE": "tpu:2", "XLA_FLAGS": ""}
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "from_each_strategy and tpu"]
    result = forks.run(command, environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{2 * len(STRATEGIES) + 1} passed" in result.stdout


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True),
    "adam": lambda: keras.optimizers.Adam(
        keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), amsgrad=True
    ),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "ftrl": lambda: keras.optimizers.Ftrl(0.1),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "average": lambda: keras.optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=2),
    "accumulating": lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=2),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), dynamic_growth_steps=2
    ),
}


@pytest.mark.stress
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on_as_if_it_had_not_been_saved(name, tmp_path):
    strategy = sx.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(OPTIMIZERS[name](), loss)
    model.fit(data().take(3), verbose=0)
    model.save(tmp_path / "model.keras")
    after_three = state(model)
    with strategy.scope():
        again = keras.models.load_model(tmp_path / "model.keras")
    with sx.distribute.OneDeviceStrategy(TWO[1]).scope():
        one = keras.models.load_model(tmp_path / "model.keras")
    for each in (again, one):
        assert_same(state(each), after_three)
    for each in (model, again, one):
        each.fit(data().skip(3), verbose=0)
    assert_same(state(again), state(model))
    for left, right in zip(state(one), state(model), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


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
report(predicted=expected.tolist(), iterations=int(model.optimizer.iterations) // 2)
"""


@pytest.mark.stress
@pytest.mark.processes
def test_workers_save_as_in_tensorflows_tutorial_and_go_on(tmp_path):
    for worker in run_tasks(2, WORKERS, str(tmp_path)):
        assert worker.code == 0, worker.err
        assert worker.report["same"]
        assert worker.report["again"] == pytest.approx(worker.report["history"], rel=1e-5)
        assert worker.report["close"] < 1e-6
        assert worker.report["files"] == ["model.keras", "saved", "together"]
        # One process goes on with what several have written.
        for name in ("none", "mirrored"):
            with strategy_named(name) as strategy, strategy.scope():
                model = keras.models.load_model(tmp_path / "model.keras")
            x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
            np.testing.assert_array_equal(model.predict(x, verbose=0), worker.report["predicted"])
            assert int(model.optimizer.iterations) == worker.report["iterations"]

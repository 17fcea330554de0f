"""What Keras saves of models that devices have in parts: variable by variable, and everything stays where it was."""

import gc
import re

import h5py
import jax
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.distribute import MirroredStrategy, ShardedStrategy
from stratax.export import load, save
from stratax.seams import keras as seam
from tests.cluster.processes import run_tasks

CPUS = [f"/cpu:{index}" for index in range(8)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 128)).astype("float32")
Y = RNG.integers(0, 5, 32)
SHAPE = (128, 64)


def built(strategy, **options):
    keras.utils.set_random_seed(5)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.layers.Input((128,)),
                keras.layers.Dense(64, "relu", name="first"),
                keras.layers.BatchNormalization(name="normal", synchronized=True),
                keras.layers.Dense(5, name="last"),
            ],
            name="net",
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.01), loss, **options)
        model.optimizer.build(model.trainable_variables)
    return model


def fit(model, epochs=1, **options):
    options = {"batch_size": 8, "shuffle": False, "verbose": 0, **options}
    return model.fit(X, Y, epochs=epochs, **options).history["loss"]


def state_of(model):
    return [each.numpy() for each in [*model.variables, *model.optimizer.variables]]


def check_same(model, state):
    for found, expected in zip(state_of(model), state, strict=True):
        np.testing.assert_array_equal(found, expected)


def check_in_parts(model, count):
    kernels = [each for each in [*model.variables, *model.optimizer.variables] if each.shape == SHAPE]
    assert kernels
    for each in kernels:
        assert each.value.sharding.shard_shape(SHAPE) == (128 // count, 64), each.path


@pytest.fixture
def nothing_whole(monkeypatch):
    """Fails where a kernel goes to a device whole, lies on one, or is kept by an array of parts."""
    owner, name = seam._BY_PATH["keras.src.backend.jax.core:convert_to_tensor"].owner()
    convert, wrong = getattr(owner, name), []

    def converting(x, *args, **kwargs):
        if isinstance(x, np.ndarray) and x.shape == SHAPE:
            wrong.append("to a device")
        return convert(x, *args, **kwargs)

    monkeypatch.setattr(owner, name, converting)
    write = h5py.Group.__setitem__

    def looking(group, key, value):
        arrays = [each for each in jax.live_arrays() if each.shape == SHAPE]
        wrong.extend("on a device" for each in arrays if len(each.devices()) == 1)
        wrong.extend("kept" for each in arrays if getattr(each, "_npy_value", None) is not None)
        write(group, key, value)

    gc.collect()
    monkeypatch.setattr(h5py.Group, "__setitem__", looking)
    yield
    assert wrong == []


@pytest.mark.usefixtures("nothing_whole")
@pytest.mark.parametrize("name", ["a.weights.h5", "a.weights.json", "a.keras"])
def test_weights_are_saved_and_loaded_and_none_lies_whole_anywhere(tmp_path, name):
    model = built(ShardedStrategy(CPUS[:4]))
    fit(model)
    state, weights = state_of(model), model.get_weights()
    if name == "a.keras":
        model.save(tmp_path / name)
    else:
        model.save_weights(tmp_path / name, **({"max_shard_size": 1e-4} if name.endswith("json") else {}))
    model.set_weights([np.zeros_like(each) for each in weights])
    check_in_parts(model, 4)
    model.load_weights(tmp_path / name)
    check_same(model, state)
    check_in_parts(model, 4)


@pytest.mark.exact
@pytest.mark.parametrize(
    "other", [lambda: ShardedStrategy(CPUS, replicas=2), lambda: MirroredStrategy(CPUS[:2])]
)
def test_a_saved_model_goes_on_under_any_strategy_with_its_slots(tmp_path, other):
    model = built(ShardedStrategy(CPUS[:4]))
    fit(model)
    state = state_of(model)
    model.save(tmp_path / "model.keras")
    strategy = other()
    with strategy.scope():
        loaded = keras.models.load_model(tmp_path / "model.keras")
    check_same(loaded, state)
    if isinstance(strategy, ShardedStrategy):
        check_in_parts(loaded, 4)
    np.testing.assert_allclose(fit(loaded), fit(model), rtol=1e-5)


def test_the_weights_of_a_file_go_through_no_memory_where_devices_have_parts(tmp_path, monkeypatch):
    sizes, io_store = [], keras.src.saving.saving_lib.H5IOStore

    class Store(io_store):
        def __init__(self, path_or_io, archive=None, mode="r"):
            sizes.append(archive is not None or not isinstance(path_or_io, str | type(tmp_path)))
            super().__init__(path_or_io, archive=archive, mode=mode)

    monkeypatch.setattr(keras.src.saving.saving_lib, "H5IOStore", Store)
    for strategy, in_memory in ((ShardedStrategy(CPUS[:4]), False), (MirroredStrategy(CPUS[:2]), True)):
        built(strategy).save(tmp_path / "model.keras")
        with strategy.scope():
            keras.models.load_model(tmp_path / "model.keras")
        assert sizes == [in_memory] * 2
        sizes.clear()


@pytest.mark.exact
def test_checkpoint_callbacks_save_and_load_parts(tmp_path):
    model = built(ShardedStrategy(CPUS[:4]))
    paths = [str(tmp_path / "best.keras"), str(tmp_path / "{epoch}.weights.h5")]
    fit(
        model,
        2,
        callbacks=[
            keras.callbacks.ModelCheckpoint(paths[0]),
            keras.callbacks.ModelCheckpoint(paths[1], save_weights_only=True),
        ],
    )
    state = state_of(model)
    check_in_parts(model, 4)
    other = built(ShardedStrategy(CPUS))
    other.load_weights(tmp_path / "2.weights.h5")
    check_same(other, state)
    check_in_parts(other, 8)
    with ShardedStrategy(CPUS[:2]).scope():
        loaded = keras.models.load_model(paths[0])
    check_same(loaded, state)


@pytest.mark.exact
@pytest.mark.parametrize("count", [8, 4, 1])
def test_a_backup_of_four_devices_goes_on_with_any_number(tmp_path, count):
    class Stop(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise KeyboardInterrupt

    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)

    undisturbed = fit(built(ShardedStrategy(CPUS[:4])), 4)
    model = built(ShardedStrategy(CPUS[:4]))
    with pytest.raises(KeyboardInterrupt):
        fit(model, 4, callbacks=[backup(), Stop()])
    again = built(ShardedStrategy(CPUS[:count]))
    np.testing.assert_allclose(fit(again, 4, callbacks=[backup()]), undisturbed[2:], rtol=1e-5)
    check_in_parts(again, count)


def test_exports_and_saved_models_are_written_of_parts_and_read_into_them(tmp_path):
    model = built(ShardedStrategy(CPUS[:4]))
    expected = model.predict(X[:8], verbose=0)
    save(model, tmp_path / "export", platforms=["cpu"])
    tf.saved_model.save(model, str(tmp_path / "saved"))
    check_in_parts(model, 4)
    assert all(each.value._npy_value is None for each in model.variables if each.shape == SHAPE)
    signature = load(tmp_path / "export").signatures["serving_default"]
    np.testing.assert_allclose(signature(X[:8])["output_0"], expected, atol=1e-5)
    with ShardedStrategy(CPUS).scope():
        loaded = tf.saved_model.load(str(tmp_path / "saved"))
    kernels = [each for each in loaded.variables if each.shape == SHAPE]
    assert [each.value.sharding.shard_shape(SHAPE) for each in kernels] == [(16, 64)]
    np.testing.assert_allclose(loaded(X[:8]), expected, atol=1e-5)


def test_parameters_are_counted_whole():
    model, whole = built(ShardedStrategy(CPUS[:4])), built(MirroredStrategy(CPUS[:2]))
    assert model.count_params() == whole.count_params() == 128 * 64 + 64 + 4 * 64 + 64 * 5 + 5
    printed = [[], []]
    for each, lines in zip((model, whole), printed, strict=True):
        each.summary(print_fn=lines.append)
    assert re.sub(r"\s", "", printed[0][0]) == re.sub(r"\s", "", printed[1][0])


@pytest.mark.exact
def test_lora_is_saved_and_loaded_in_its_places(tmp_path):
    def with_lora():
        strategy = ShardedStrategy(CPUS[:4])
        model = built(strategy)
        with strategy.scope():
            model.get_layer("first").enable_lora(4)
            model.compile(keras.optimizers.SGD(0.1), model.loss)
        return model

    def places(model):
        return {each.path: each.value.sharding for each in model.variables if each._layout is not None}

    model, other = with_lora(), with_lora()
    fit(model)
    # Keras saves the sum of the kernel and its adapters.
    model.save_weights(tmp_path / "a.weights.h5")
    before = places(other)
    other.load_weights(tmp_path / "a.weights.h5")
    assert places(other) == before == places(model)
    np.testing.assert_allclose(other.predict(X, verbose=0), model.predict(X, verbose=0), atol=1e-5)
    path = sx.train.Checkpoint(model=model).save(tmp_path / "ckpt")
    again = with_lora()
    sx.train.Checkpoint(model=again).restore(path).assert_consumed()
    assert places(again) == before
    for mine, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=mine.path)


WORKERS = """
import stratax as sx, stratax.tf as tf
import numpy as np, keras
strategy = sx.distribute.ShardedStrategy(layout={"kernel": ("shard",)})
folder = os.path.join(sys.argv[1], str(sx.cluster.current().process_index))
os.makedirs(folder)
x = np.random.default_rng(0).normal(size=(19, 4)).astype("float32")
y = x[:, :1]

def made():
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model

def state(model):
    return [v.numpy().tolist() for v in [*model.variables, *model.optimizer.variables]]

model = made()
model.fit(x, y, batch_size=8, epochs=2, verbose=0)
first, first_bias, second, second_bias = model.get_weights()
plain = (x @ first + first_bias) @ second + second_bias
predicted = model.predict(x, batch_size=8, verbose=0)
report(predicted=float(np.abs(predicted - plain).max()),
       evaluated=model.evaluate(x, y, batch_size=8, verbose=0), error=float(np.mean((plain - y) ** 2)))
model.save(folder + "/model.keras")
model.save_weights(folder + "/model.weights.h5")
tf.saved_model.save(model, folder + "/saved")
with strategy.scope():
    loaded = keras.saving.load_model(folder + "/model.keras")
same = state(loaded) == state(model)
places = [str(layer.kernel.value.sharding.spec) for layer in loaded.layers]
loaded.set_weights([0 * each for each in loaded.get_weights()])
loaded.load_weights(folder + "/model.weights.h5")
report(same=same, places=places, weights=state(loaded)[:4] == state(model)[:4])
signature = tf.saved_model.load(folder + "/saved").signatures["serving_default"]
report(exported=float(np.abs(np.asarray(signature(x)["output_0"]) - predicted).max()))
stop = keras.callbacks.EarlyStopping("loss", baseline=0.0, patience=1, restore_best_weights=True)
loaded.compile(keras.optimizers.SGD(10.0), "mse")
loaded.fit(x, y, batch_size=8, epochs=4, verbose=0, callbacks=[stop])
report(stopped=stop.stopped_epoch, state=state(loaded)[:4])
"""


@pytest.mark.programs
@pytest.mark.processes
def test_workers_of_which_none_has_all_save_load_and_predict_together(tmp_path):
    first, second = run_tasks(2, WORKERS, str(tmp_path), devices=2)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    report = first.report
    assert report == second.report
    assert report["predicted"] < 1e-6
    assert report["evaluated"] == pytest.approx(report["error"], rel=1e-5)
    assert report["same"]
    assert report["weights"]
    assert report["places"] == ["P('shard',)"] * 2
    assert report["exported"] < 1e-6
    assert report["stopped"] == 1
    # What one process loads is what both have saved.
    for worker in "01":
        model = keras.saving.load_model(tmp_path / worker / "model.keras")
        x = np.random.default_rng(0).normal(size=(19, 4)).astype("float32")
        assert model.evaluate(x, x[:, :1], verbose=0) == pytest.approx(report["evaluated"], rel=1e-5)

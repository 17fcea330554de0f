"""Models that devices have in parts are saved and restored in parts, by any arrangement of devices to the bit."""

import json
import pkgutil
import re
import threading

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import saving
from stratax.core import storage
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, ShardedStrategy
from stratax.train import Checkpoint, CheckpointOptions
from tests.cluster.processes import run_tasks

CPUS = [f"/cpu:{index}" for index in range(8)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 40)).astype("float32")
Y = RNG.integers(0, 5, 80)
WRITE = "stratax.checkpoint._arrays.write"
WAIT = CheckpointOptions(enable_async=False)
# 40 is divided by 2, 4, 5 and 8.
LAYOUT = {"kernel": (None, "shard")}
PAIR = {"first/kernel": ("shard", "model"), "first/bias": ("model",), "second/kernel": ("model", "shard")}
ARRANGEMENTS = {
    "one": lambda: OneDeviceStrategy("/cpu:3"),
    "mirrored 2": lambda: MirroredStrategy(CPUS[:2]),
    "mirrored 8": lambda: MirroredStrategy(CPUS),
    "sharded 2": lambda: ShardedStrategy(CPUS[:2], layout=LAYOUT),
    "sharded 4": lambda: ShardedStrategy(CPUS[:4], layout={"kernel": ("shard",)}),
    "sharded 5": lambda: ShardedStrategy(CPUS[:5], layout=LAYOUT),
    "sharded 8": lambda: ShardedStrategy(CPUS, layout=LAYOUT),
    "hybrid 8": lambda: ShardedStrategy(CPUS, replicas=2, layout=LAYOUT),
    "tensor parallel 2x4": lambda: ShardedStrategy(CPUS, model=4, layout=PAIR),
}


def built(strategy, width=40, optimizer=None):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.layers.Input((40,)),
                keras.layers.Dense(width, "relu", name="first"),
                keras.layers.Dense(width, name="second"),
            ],
            name="net",
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer or keras.optimizers.Adam(0.01), loss)
        model.optimizer.build(model.trainable_variables)
    return model, Checkpoint(model=model)


def trained(model, epochs=1):
    history = model.fit(X, Y, batch_size=40, epochs=epochs, shuffle=False, verbose=0)
    return history.history["loss"]


def state_of(model):
    variables = [*model.variables, *model.optimizer.variables]
    # The name of the optimizer is counted.
    return {re.sub(r"^adam_\d+", "adam", each.path): each.numpy() for each in variables}


def check_same(model, state):
    assert state_of(model).keys() == state.keys()
    for path, value in state_of(model).items():
        np.testing.assert_array_equal(value, state[path], err_msg=path)


def places_of(model):
    return [each.value.sharding for each in [*model.variables, *model.optimizer.variables]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Of some arrangements a checkpoint, the state in it, and the losses of the next epochs."""
    found = {}
    for name in ("one", "sharded 8", "hybrid 8", "tensor parallel 2x4"):
        model, checkpoint = built(ARRANGEMENTS[name]())
        trained(model)
        path = checkpoint.write(tmp_path_factory.mktemp("saved") / "ckpt", WAIT)
        found[name] = path, state_of(model), trained(model, 2)
    return found


@pytest.mark.exact
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_every_arrangement_restores_every_other_to_the_bit_and_goes_on(saved, name):
    model, checkpoint = built(ARRANGEMENTS[name]())
    places = places_of(model)
    for path, state, losses in saved.values():
        checkpoint.restore(path).assert_consumed()
        check_same(model, state)
        assert places_of(model) == places
        np.testing.assert_allclose(trained(model, 2), losses, rtol=1e-5)
    assert places_of(model) == places


@pytest.mark.exact
def test_the_same_arrangement_goes_on_to_the_bit(saved):
    model, checkpoint = built(ARRANGEMENTS["sharded 8"]())
    path, _, losses = saved["sharded 8"]
    checkpoint.restore(path)
    assert trained(model, 2) == losses


def test_parts_are_copied_written_and_read_and_no_whole(tmp_path, monkeypatch):
    model, checkpoint = built(ShardedStrategy(CPUS, replicas=2, layout=LAYOUT))
    written, read = {}, {}
    write, read_arrays = pkgutil.resolve_name(WRITE), saving.read_arrays
    monkeypatch.setattr(WRITE, lambda folder, arrays: written.update(arrays) or write(folder, arrays))

    def reading(*args):
        found = read_arrays(*args)
        read.update({key: value for key, value in found.items() if value.shape == (40, 40)})
        return found

    monkeypatch.setattr("stratax.checkpoint._store.read_arrays", reading)
    path = checkpoint.write(tmp_path / "ckpt", WAIT)
    kernels = {key: value for key, value in written.items() if value.shape == (40, 40)}
    # Two kernels and their slots; two groups have the same four parts, and one's are written.
    assert len(kernels) == 6
    for value in kernels.values():
        assert sorted(value.parts) == [((0, 40), (10 * part, 10 * part + 10)) for part in range(4)]
    checkpoint.restore(path)
    assert read.keys() == kernels.keys()
    assert all(isinstance(value, storage.HostParts) for value in read.values())
    # Neither kept the whole with an array.
    assert all(each._value._npy_value is None for each in model.variables if each.shape == (40, 40))


def test_what_training_does_meanwhile_is_not_saved(tmp_path, monkeypatch):
    model, checkpoint = built(ShardedStrategy(CPUS[:4], layout=LAYOUT))
    trained(model)
    state, may_write = state_of(model), threading.Event()
    write = pkgutil.resolve_name(WRITE)

    def waiting(folder, arrays):
        assert may_write.wait(60)
        write(folder, arrays)

    monkeypatch.setattr(WRITE, waiting)
    path = checkpoint.write(tmp_path / "ckpt")
    trained(model)
    may_write.set()
    checkpoint.restore(path)
    check_same(model, state)


def test_values_of_variables_that_come_later_find_their_places(tmp_path, saved):
    path, state, _ = saved["sharded 8"]
    strategy = ARRANGEMENTS["sharded 5"]()
    keras.utils.set_random_seed(3)
    with strategy.scope():
        layers = [keras.layers.Dense(40, "relu", name="first"), keras.layers.Dense(40, name="second")]
        model = keras.Sequential(layers)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.01), loss)
    status = Checkpoint(model=model).restore(path)
    with strategy.scope():
        model.build((None, 40))
        model.optimizer.build(model.trainable_variables)
    model.predict(X, batch_size=40, verbose=0)
    trained(model)
    status.assert_consumed()
    kernels = [each for each in model.optimizer.variables if each.shape == (40, 40)]
    assert all(each.value.sharding.shard_shape((40, 40)) == (40, 8) for each in kernels)
    assert len(state) == len(state_of(model))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 80}, r"model/layers/0/kernel is float32\[40, 80\], its value is float32\[40, 40\]"),
        (
            {"optimizer": lambda: keras.optimizers.Adagrad()},
            r"variables without a value: model/optimizer/.*accumulator.*values without a variable: model/optimizer/",
        ),
    ],
)
def test_another_model_or_optimizer_is_told_by_the_first_variables_that_differ(saved, change, message):
    made = {name: value() if callable(value) else value for name, value in change.items()}
    model, checkpoint = built(ARRANGEMENTS["sharded 8"](), **made)
    state = state_of(model)
    with pytest.raises(errors.RestoreError, match=message):
        checkpoint.restore(saved["sharded 8"][0])
    check_same(model, state)


def test_a_reader_gives_whole_arrays(saved):
    path, state, _ = saved["hybrid 8"]
    found = sx.train.load_checkpoint(path).get_tensor("model/layers/0/kernel")
    np.testing.assert_array_equal(found, state["net/first/kernel"])


def test_the_managers_backups_and_estimators_of_a_folder_are_the_same_files(tmp_path):
    model, checkpoint = built(ARRANGEMENTS["sharded 4"]())
    manager = sx.train.CheckpointManager(checkpoint, tmp_path / "ckpts", max_to_keep=2)
    for _ in range(3):
        trained(model)
        manager.save()
    state = state_of(model)
    other, checkpoint = built(ARRANGEMENTS["mirrored 2"]())
    manager = sx.train.CheckpointManager(checkpoint, tmp_path / "ckpts", max_to_keep=2)
    assert manager.restore_or_initialize() == str(tmp_path / "ckpts" / "ckpt-3")
    check_same(other, state)


PROCESSES = """
import numpy as np, jax
import stratax as sx
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from stratax import errors
folder, action = sys.argv[1:]
strategy = sx.distribute.MultiWorkerMirroredStrategy()
cluster = sx.cluster.current()
rank, count = cluster.process_index, cluster.num_processes
mesh = Mesh(np.array(jax.devices()), ("shard",))
values = np.arange(64, dtype="float32").reshape(8, 8)

def divided(value):
    # As a strategy of several processes would keep it: no process has all.
    v = sx.Variable(np.zeros((8, 8), "float32"))
    sharding = NamedSharding(mesh, PartitionSpec("shard"))
    v._value = jax.make_array_from_callback((8, 8), sharding, lambda index: value[index])
    return v

def own_rows(v):
    return {str(s.index[0].start or 0): np.asarray(s.data).tolist() for s in v._value.addressable_shards}

with strategy.scope():
    step = sx.Variable(np.float32(7))
v = divided(values if action == "save" else 0 * values)
checkpoint = sx.train.Checkpoint(v=v, step=step)
if action == "save":
    path = checkpoint.write(folder + "/ckpt")
    checkpoint.sync()
    report(there=sorted(os.listdir(path + "/arrays")))
    v._value = divided(0 * values)._value
    checkpoint.restore(path).assert_consumed()
    report(rows=own_rows(v))

    _arrays = sys.modules["stratax.checkpoint._arrays"]
    write = _arrays.write
    def failing(*args):
        raise OSError("no room, on purpose")
    for who in range(2):
        _arrays.write = failing if rank == who else write
        try:
            checkpoint.write(folder + "/failed")
            checkpoint.sync()
        except (errors.CheckpointError, OSError) as error:
            report(**{f"failed{who}": f"{type(error).__name__}: {error}"})
    _arrays.write = write
    try:
        checkpoint.write("/proc/nowhere/ckpt")
        checkpoint.sync()
    except errors.CheckpointError as error:
        report(nowhere=str(error))
else:
    step.assign(0)
    checkpoint.restore(folder + "/ckpt").assert_consumed()
    report(rows=own_rows(v), step=float(step))
cluster.barrier("end", 60.0)
"""


@pytest.fixture(scope="module")
def of_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    results = run_tasks(2, PROCESSES, str(folder), "save", devices=2)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return folder, [result.report for result in results]


ROWS = np.arange(64.0).reshape(8, 8)


@pytest.mark.programs
@pytest.mark.processes
def test_each_process_writes_its_own_parts_and_restores_them(of_processes):
    _, reports = of_processes
    for rank, report in enumerate(reports):
        assert {"process_0", "process_1"} <= set(report["there"])
        starts = [4 * rank, 4 * rank + 2]
        assert report["rows"] == {str(start): ROWS[start : start + 2].tolist() for start in starts}


@pytest.mark.programs
@pytest.mark.processes
def test_a_process_that_can_not_write_its_parts_fails_in_all_and_leaves_nothing(of_processes):
    folder, reports = of_processes
    for report in reports:
        assert "no room, on purpose" in report["failed0"]
        assert "no room, on purpose" in report["failed1"]
        assert "could not be written" in report["nowhere"]
    assert sorted(path.name for path in folder.iterdir()) == ["ckpt"]


@pytest.mark.programs
@pytest.mark.processes
def test_parts_of_two_processes_are_restored_in_one_and_the_other_way_round(of_processes):
    folder, _ = of_processes
    with ShardedStrategy(CPUS[:4], layout={"v": ("shard",)}).scope():
        v = sx.Variable(np.zeros((8, 8), "float32"), name="v")
    step = sx.Variable(np.float32(0))
    Checkpoint(v=v, step=step).restore(folder / "ckpt").assert_consumed()
    np.testing.assert_array_equal(v, ROWS)
    assert float(step) == 7
    Checkpoint(v=v, step=step).write(folder / "one" / "ckpt", WAIT)
    results = run_tasks(2, PROCESSES, str(folder / "one"), "restore", devices=2)
    assert [result.code for result in results] == [0, 0], results[0].err
    for rank, result in enumerate(results):
        starts = [4 * rank, 4 * rank + 2]
        assert result.report["rows"] == {str(start): ROWS[start : start + 2].tolist() for start in starts}
        assert result.report["step"] == 7


WORKERS = """
import json
import stratax as sx
from tests.checkpoint.test_parts import built, trained
folder, action, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
strategy = sx.distribute.ShardedStrategy(**options, layout={"kernel": ("shard",)})
model, checkpoint = built(strategy)
path = os.path.join(folder, "ckpt")
if action == "save":
    losses = trained(model)
    checkpoint.write(path)
    checkpoint.sync()
    report(losses=losses, there=sorted(os.listdir(path + "/arrays")))
else:
    checkpoint.restore(path).assert_consumed()
    report(kernels=[v.value.sharding.shard_shape(v.shape) for v in model.optimizer.variables if v.shape == (40, 40)],
           state=[v.numpy().tolist() for v in model.variables])
report(more=trained(model))
"""


@pytest.mark.programs
@pytest.mark.processes
def test_models_in_parts_of_several_workers_go_on_with_any_number(tmp_path):
    def run(folder, action, options=None, devices=2):
        given = (str(tmp_path / folder), action, json.dumps(options or {}))
        first, second = run_tasks(2, WORKERS, *given, devices=devices)
        assert [first.code, second.code] == [0, 0], first.err + second.err
        assert first.report == second.report
        return first.report

    saved = run("workers", "save")
    assert {"process_0", "process_1"} <= set(saved["there"])
    model, checkpoint = built(ARRANGEMENTS["one"]())
    np.testing.assert_allclose(saved["losses"], trained(model), rtol=1e-5)
    checkpoint.restore(tmp_path / "workers" / "ckpt").assert_consumed()
    # What one process saves is read by several, too.
    checkpoint.write(tmp_path / "one" / "ckpt", WAIT)
    state = [v.numpy().tolist() for v in model.variables]
    np.testing.assert_allclose(saved["more"], trained(model), rtol=1e-5)
    for folder, options, devices, part in (
        ("workers", {}, 1, [20, 40]),
        ("one", {"replicas": 2}, 4, [10, 40]),
    ):
        found = run(folder, "restore", options, devices)
        assert found["kernels"] == [part] * 4
        assert found["state"] == state
        np.testing.assert_allclose(found["more"], saved["more"], rtol=1e-5)

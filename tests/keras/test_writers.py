"""Callbacks that write files, on two workers: one file, written by the chief (in real processes).

Also where no worker has all of the variables: the others help the chief to read and to restore them.
"""

import pathlib

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator

from tests.cluster.processes import run_tasks
from tests.stressed import but

pytestmark = pytest.mark.processes

PROGRAM = """
import numpy as np, keras, pathlib
import stratax as sx
if sys.argv[2] == "parts":
    strategy = sx.distribute.ShardedStrategy(layout={"kernel": ("shard",)})
else:
    strategy = sx.distribute.MultiWorkerMirroredStrategy()
folder = pathlib.Path(sys.argv[1])
own = folder / f"worker{strategy.extended.membership.share.index}"  # As if it were on a disk of this worker's.
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x[:, :1]

def model():
    keras.utils.set_random_seed(3)
    with strategy.scope():
        made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), keras.layers.Dense(1)])
        made.compile("adam", "mse")
    return made

class Killed(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 3:
            raise KeyboardInterrupt

training = {"batch_size": 16, "epochs": 5, "verbose": 0, "shuffle": False}

def weights(each):
    return [w.tolist() for w in each.get_weights()]

each = model()
checkpoint = keras.callbacks.ModelCheckpoint(
    folder / "new" / "best.keras", monitor="loss", save_best_only=True, verbose=1)
report(undisturbed=each.fit(x, y, **training, callbacks=[
    checkpoint,
    keras.callbacks.CSVLogger(folder / "log.csv"),
    keras.callbacks.TensorBoard(folder / "events", histogram_freq=2, write_images=True),
    keras.callbacks.ModelCheckpoint(own / "{epoch}.weights.h5", save_weights_only=True, save_freq=8),
]).history["loss"], weights=weights(each), best=checkpoint.best)
# The chief's file is there for all when `fit` has returned.
report(loaded=weights(keras.saving.load_model(folder / "new" / "best.keras")))

backup = keras.callbacks.BackupAndRestore(own / "backup")
try:
    model().fit(x, y, **training, callbacks=[backup, Killed()])
except KeyboardInterrupt:
    pass
resumed = model()
history = resumed.fit(x, y, **training, callbacks=[keras.callbacks.BackupAndRestore(own / "backup")])
report(epochs=history.epoch, resumed=weights(resumed), left=(own / "backup").exists())

class KilledInEpoch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == 7:
            raise KeyboardInterrupt

def sharded():  # Each worker reads a part of its own; how long that is nobody knows before.
    options = sx.data.Options()
    options.experimental_distribute.auto_shard_policy = sx.data.AutoShardPolicy.DATA
    rows = sx.data.Dataset.from_tensor_slices((x, y)).filter(lambda x, y: x[0] > -1).shuffle(20, seed=4)
    return rows.batch(16).with_options(options)

def fit(each, *callbacks, **more):
    return each.fit(sharded(), epochs=4, verbose=0, callbacks=list(callbacks), **more).history["loss"]

def state(each):
    return [v.numpy().tolist() for v in [*each.variables, *each.optimizer.variables]]

whole = model()
losses = fit(whole)
try:
    fit(model(), keras.callbacks.BackupAndRestore(own / "backup", save_freq=3), KilledInEpoch())
except KeyboardInterrupt:
    pass
resumed = model()
keras.utils.set_random_seed(8)
again = fit(resumed, keras.callbacks.BackupAndRestore(own / "backup", save_freq=3))
report(in_epoch=again == losses[-len(again):] and len(again) < 4, in_epoch_state=state(resumed) == state(whole))

twice = sharded()
by_epoch = model()
for epoch in range(4):
    by_epoch.fit(twice, epochs=epoch + 1, initial_epoch=epoch, verbose=0)
report(by_epoch=state(by_epoch) == state(whole))
"""


@pytest.fixture(scope="module", params=but(lambda param: param == "parts", ["parts", "copies"]))
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    results = run_tasks(2, PROGRAM, str(folder), request.param, devices=2)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return folder, results


@pytest.mark.programs
def test_only_the_chief_writes(run):
    folder, _ = run
    assert sorted(path.name for path in folder.iterdir()) == ["events", "log.csv", "new", "worker0"]
    assert sorted(path.name for path in (folder / "worker0").iterdir()) == ["2.weights.h5", "4.weights.h5"]
    assert [path.name for path in (folder / "new").iterdir()] == ["best.keras"]
    assert len(list(pathlib.Path(folder / "events" / "train").iterdir())) == 1
    assert len((folder / "log.csv").read_text().splitlines()) == 6


@pytest.mark.programs
def test_weights_are_written_as_they_are_of_all_workers(run):
    folder, results = run
    events = event_accumulator.EventAccumulator(str(folder / "events" / "train"), {"tensors": 0})
    events.Reload()
    kernels = [tag for tag in events.Tags()["tensors"] if tag.endswith("kernel/histogram")]
    assert len(kernels) == 2
    for tag, weights in zip(kernels, results[0].report["weights"][::2], strict=True):
        written = events.Tensors(tag)
        assert [event.step for event in written] == [0, 2, 4]
        buckets = np.frombuffer(written[-1].tensor_proto.tensor_content).reshape(-1, 3)
        np.testing.assert_allclose(
            [buckets[0, 0], buckets[-1, 1]], [np.min(weights), np.max(weights)], rtol=1e-6
        )
        assert buckets[:, 2].sum() == np.size(weights)
        assert len(events.Tensors(tag.replace("histogram", "image"))) == 3


@pytest.mark.programs
def test_all_workers_know_what_the_chief_wrote(run):
    _, results = run
    first, second = (result.report for result in results)
    assert first == second
    assert first["best"] == min(first["undisturbed"])
    assert first["loaded"] == first["weights"]
    assert "saving model" in results[0].out
    assert "saving model" not in results[1].out


@pytest.mark.programs
def test_a_backup_is_restored_on_all_workers_from_the_chiefs_disk(run):
    _, results = run
    for result in results:
        assert result.report["resumed"] == result.report["weights"]
        assert result.report["epochs"] == [3, 4]
        assert not result.report["left"]


@pytest.mark.programs
def test_an_interrupted_epoch_goes_on_with_the_next_batch_of_every_workers_own_input(run):
    for result in run[1]:
        assert result.report["in_epoch"]
        assert result.report["in_epoch_state"]


@pytest.mark.programs
def test_the_passes_of_divided_input_are_counted_over_several_fits(run):
    assert [result.report["by_epoch"] for result in run[1]] == [True, True]

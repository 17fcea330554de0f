"""Training that was interrupted goes on as if it had not been: the same examples in the same order, bit for bit."""

import json

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx
from stratax import engine
from stratax.engine import _resumption
from tests.engine.conftest import mirrored

ROWS, BATCH, EPOCHS = 22, 4, 4
STEPS = -(-ROWS // BATCH)
X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


class Sequence(keras.utils.PyDataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        rows = slice(BATCH * index, BATCH * (index + 1))
        return X[rows], Y[rows]


def slices(repeat=1):
    return sx.data.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS).batch(BATCH).repeat(repeat)


def records(folder):
    for part in range(2):
        path = folder / f"{part}.tfrecord"
        if not path.exists():
            with sx.data.TFRecordWriter(str(path)) as writer:
                for row in X[part::2]:
                    writer.write(row.tobytes())
    files = sx.data.Dataset.list_files(str(folder / "*.tfrecord"), seed=3)
    rows = files.interleave(sx.data.TFRecordDataset).map(lambda row: sx.data.decode_raw(row, np.float32))
    return rows.shuffle(7).map(lambda row: (row, row[:1])).batch(BATCH).prefetch(2)


def made_anew():
    def examples():
        yield from zip(X, Y, strict=True)

    signature = (sx.data.TensorSpec((3,), np.float32), sx.data.TensorSpec((1,), np.float32))
    return sx.data.Dataset.from_generator(examples, output_signature=signature).shuffle(5).batch(BATCH)


def endless():
    rng = np.random.default_rng(5)
    while True:
        rows = rng.integers(0, ROWS, BATCH)
        yield X[rows], Y[rows]


INPUTS = {
    "arrays": lambda folder, strategy: ((X, Y), {"batch_size": BATCH}),
    "arrays in parts": lambda folder, strategy: ((X, Y), {"batch_size": BATCH, "steps_per_epoch": 4}),
    "arrays by batches": lambda folder, strategy: ((X, Y), {"batch_size": BATCH, "shuffle": "batch"}),
    "a dataset": lambda folder, strategy: ((slices(),), {}),
    "class weights": lambda folder, strategy: ((slices(),), {"class_weight": {0: 1.0, 1: 3.0}}),
    "a distributed dataset": lambda folder, strategy: (
        (strategy.experimental_distribute_dataset(slices()),),
        {},
    ),
    "an endless dataset": lambda folder, strategy: ((slices(-1),), {"steps_per_epoch": 5}),
    "a dataset in parts": lambda folder, strategy: ((slices(2),), {"steps_per_epoch": 5}),
    "files": lambda folder, strategy: ((records(folder),), {}),
    "a PyDataset": lambda folder, strategy: ((Sequence(),), {}),
    "a dataset from a generator": lambda folder, strategy: ((made_anew(),), {}),
    "a generator": lambda folder, strategy: ((endless(),), {"steps_per_epoch": 5}),
}


class Interrupted(keras.callbacks.Callback):
    """Raises behind a batch of an epoch."""

    def __init__(self, epoch, batch):
        super().__init__()
        self.at = (epoch, batch)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) >= self.at:
            raise InterruptedError


class Trained:
    """One model, which is given its first state again and again, so that it is compiled once."""

    def __init__(self, strategy, optimizer=None, **compiled):
        self.strategy = strategy
        keras.utils.set_random_seed(2)
        with strategy.scope():
            self.model = keras.Sequential(
                [keras.Input((3,)), layers.Dense(4, "tanh"), layers.Dropout(0.3), layers.Dense(1)]
            )
            self.model.compile(optimizer or keras.optimizers.Adam(0.1), "mse", metrics=["mae"], **compiled)
            self.model.optimizer.build(self.model.trainable_variables)
        self.model.fit(X, Y, batch_size=BATCH, verbose=0)  # Creates what there is.
        self.first = [np.zeros_like(value) for value in self.state()]
        self.first[: len(self.model.variables)] = [variable.numpy() for variable in self.model.variables]

    def variables(self):
        return [*self.model.variables, *self.model.optimizer.variables]

    def state(self):
        return [variable.numpy() for variable in self.variables()]

    def begin(self, values=None, seed=7):
        for variable, value in zip(self.variables(), values or self.first, strict=True):
            if "learning_rate" not in variable.path:
                variable.assign(value)
        self.model.__dict__.pop("_stratax_epochs_trained", None)  # As in another process.
        keras.utils.set_random_seed(seed)

    def fit(self, args, kwargs, *callbacks, **more):
        return self.model.fit(
            *args, epochs=EPOCHS, verbose=0, callbacks=list(callbacks), **{"shuffle": True, **kwargs, **more}
        )


@pytest.fixture(scope="module")
def trained():
    return Trained(sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))


def assert_same(left, right):
    for ours, theirs in zip(left, right, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def interrupted_and_resumed(trained, make, folder, at, **backup):
    """The end of training that was interrupted, of which another process would know the folder only."""

    def saver():
        return keras.callbacks.BackupAndRestore(folder / "backup", **backup)

    trained.begin()
    args, kwargs = make(folder, trained.strategy)
    with pytest.raises(InterruptedError):
        trained.fit(args, kwargs, saver(), Interrupted(*at))
    trained.begin([value + 1 for value in trained.first], seed=8)
    args, kwargs = make(folder, trained.strategy)
    return trained.fit(args, kwargs, saver()), trained.state()


CASES = [(kind, 3, (2, 3)) for kind in INPUTS]
CASES += [(kind, "epoch", (2, 1)) for kind in ("files", "an endless dataset")]
CASES += [(kind, 3, (1, STEPS - 1)) for kind in ("a dataset", "a dataset from a generator")]


@pytest.mark.parametrize(("kind", "save_freq", "at"), CASES)
@pytest.mark.filterwarnings("ignore:.*ran out of data", "ignore:The backup holds how many:RuntimeWarning")
def test_a_resumed_run_ends_as_the_undisturbed_one(kind, save_freq, at, trained, tmp_path):
    trained.begin()
    whole = trained.fit(*INPUTS[kind](tmp_path, trained.strategy))
    expected = trained.state()
    history, state = interrupted_and_resumed(trained, INPUTS[kind], tmp_path, at, save_freq=save_freq)
    assert_same(state, expected)
    first = history.epoch[0]
    assert history.epoch == list(range(first, EPOCHS))
    assert first > 0
    for name, values in history.history.items():
        assert values == whole.history[name][first:], name


def test_windows_of_accumulation_and_steps_of_one_dispatch_go_on(tmp_path):
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=4)
    trained = Trained(sx.distribute.OneDeviceStrategy("/cpu:0"), optimizer, steps_per_execution=2)
    trained.begin()
    trained.fit((slices(),), {})
    expected = trained.state()
    _, state = interrupted_and_resumed(
        trained, lambda folder, strategy: ((slices(),), {}), tmp_path, (1, 1), save_freq=2
    )
    assert_same(state, expected)


NUMBERED = ["arrays", "arrays in parts", "a dataset", "class weights", "a dataset in parts"]


@pytest.mark.parametrize("kind", NUMBERED)
@pytest.mark.filterwarnings("ignore:.*ran out of data")
def test_initial_epoch_sets_the_order(kind, trained, tmp_path):
    between = []
    note = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: between.append(trained.state()) if epoch == 1 else None
    )
    trained.begin()
    trained.fit(*INPUTS[kind](tmp_path, trained.strategy), note)
    expected = trained.state()
    trained.begin(between[0])
    history = trained.fit(*INPUTS[kind](tmp_path, trained.strategy), initial_epoch=2)
    assert history.epoch == [2, 3]
    assert_same(trained.state(), expected)


@pytest.mark.parametrize("kind", ["arrays", "a dataset"])
def test_a_fit_that_goes_on_in_the_same_process_reads_the_next_passes(kind, trained, tmp_path):
    trained.begin()
    trained.fit(*INPUTS[kind](tmp_path, trained.strategy))
    expected = trained.state()
    trained.begin()
    args, kwargs = INPUTS[kind](tmp_path, trained.strategy)
    for epoch in range(EPOCHS):
        trained.model.fit(
            *args, epochs=epoch + 1, initial_epoch=epoch, verbose=0, **{"shuffle": True, **kwargs}
        )
    assert_same(trained.state(), expected)


def test_a_pass_is_that_of_the_epoch_whoever_else_reads_the_dataset(trained):
    def end(dataset, *callbacks):
        trained.begin()
        trained.fit((dataset,), {}, *callbacks)
        return trained.state()

    read = slices()
    reads = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: next(iter(read)))
    trained.begin()
    keras.utils.set_random_seed(7)
    alone = end(sx.data.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS, seed=1).batch(BATCH))
    read = sx.data.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS, seed=1).batch(BATCH)
    assert_same(end(read, reads), alone)


def test_a_resumed_fit_says_nothing_of_the_next_fit(trained, tmp_path):
    interrupted_and_resumed(trained, INPUTS["a dataset"], tmp_path, (2, 3), save_freq=3)
    assert not (tmp_path / "backup").exists()
    assert trained.fit((slices(),), {}).epoch == list(range(EPOCHS))


def test_every_example_is_seen_once_in_an_epoch(tmp_path):
    """The gradient of each row's own weight is the same in every visit, so the weight counts visits."""
    with sx.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = keras.Sequential([keras.Input(()), layers.Embedding(ROWS, 1, embeddings_initializer="zeros")])
        model.compile(keras.optimizers.SGD(1.0), lambda y, visits: -keras.ops.sum(visits) + 0 * y)

    def fit(*callbacks):
        rows = np.arange(ROWS)
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=2)
        each = [backup, *callbacks]
        model.fit(rows, rows.astype("float32"), batch_size=BATCH, epochs=3, verbose=0, callbacks=each)

    with pytest.raises(InterruptedError):
        fit(Interrupted(1, 3))
    fit()
    np.testing.assert_array_equal(model.get_weights()[0][:, 0], np.full(ROWS, 3.0))


@pytest.mark.parametrize("kind", ["a dataset from a generator", "a generator"])
def test_input_without_a_position_is_passed_over_with_a_warning(kind, trained, tmp_path):
    trained.begin()
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=3)
    with pytest.warns(RuntimeWarning, match="The backup holds how many batches of this input were used"):
        trained.fit(*INPUTS[kind](tmp_path, trained.strategy), backup)


def test_another_pipeline_can_not_go_on_within_an_epoch(trained, tmp_path):
    trained.begin()
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=3)
    with pytest.raises(InterruptedError):
        trained.fit((slices(),), {}, backup, Interrupted(2, 3))
    for other, message in [
        ((slices().prefetch(1),), "another pipeline"),
        ((X, Y), r"belongs to other input.*Expected: arrays of 22 in batches of 4"),
    ]:
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup", save_freq=3)
        with pytest.raises(sx.errors.DataError, match=message):
            trained.fit(other, {"batch_size": BATCH} if len(other) == 2 else {}, backup)


@pytest.mark.parametrize(
    "kinds", [("arrays", "a dataset"), ("a dataset", "arrays"), ("a PyDataset", "arrays")]
)
def test_another_input_may_go_on_behind_an_epoch(kinds, trained, tmp_path):
    trained.begin()
    args, kwargs = INPUTS[kinds[0]](tmp_path, trained.strategy)
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    with pytest.raises(InterruptedError):
        trained.fit(args, kwargs, backup, Interrupted(2, 1))
    args, kwargs = INPUTS[kinds[1]](tmp_path, trained.strategy)
    history = trained.fit(args, kwargs, keras.callbacks.BackupAndRestore(tmp_path / "backup"))
    assert history.epoch == [2, 3]


def numbered(dataset=None):
    """Input of the numbers 0 to 21 in batches of 4."""
    dataset = sx.data.Dataset.range(ROWS).batch(BATCH) if dataset is None else dataset
    return engine.StepInput.of_dataset(mirrored(2), dataset)


def of_generator():
    """The same numbers, whose source can't be put back."""
    numbers = sx.data.Dataset.from_generator(lambda: iter(range(ROWS)), output_types="int64")
    return numbered(numbers.batch(BATCH))


def take(iterator, count):
    """The first number of each of the next steps."""
    found = []
    for _ in range(count):
        iterator.available(1)
        _, batch = iterator.take_pending()
        found.append(int(mirrored(2).gather(batch, axis=0)[0]))
    return found


def resumption_of(state):
    saved = json.loads(json.dumps(state))
    return engine.Resumption(position=saved, epoch=0, steps=saved["steps"], logs={}, restore=lambda: None)


def test_a_position_in_a_pass_leads_to_the_next_step():
    with numbered() as steps, numbered() as again:
        position = engine.InputPosition(steps)
        assert take(steps.open(), 2) == [0, 4]
        state = position.get_state(within_pass=True)
        iterator = _resumption.open_resumed(again, resumption_of(state))
        assert (iterator.steps_taken, again.current) == (2, iterator)
        assert take(iterator, 2) == take(steps.current, 2) == [8, 12]


def test_behind_a_pass_and_before_the_first_one_there_is_nothing_to_go_on_with():
    with numbered() as steps:
        position = engine.InputPosition(steps)
        before = position.get_state(within_pass=True)
        take(steps.open(), 2)
        behind = position.get_state(within_pass=False)
        for state in (before, behind):
            assert (state["steps"], state["iterator"]) == (0, None)


def test_steps_of_input_that_can_not_be_put_back_are_read_anew_and_that_is_said_once():
    with of_generator() as steps, of_generator() as again:
        position = engine.InputPosition(steps)
        take(steps.open(), 3)
        with pytest.warns(RuntimeWarning, match="holds how many batches of this input were used") as caught:
            states = [position.get_state(within_pass=True) for _ in range(2)]
        assert len(caught) == 1
        assert [(state["steps"], state["iterator"]) for state in states] == [(3, None)] * 2
        iterator = _resumption.open_resumed(again, resumption_of(states[0]))
        assert iterator.steps_taken == 3
        assert take(iterator, 1) == [12]


def test_an_order_that_comes_from_the_global_generators_is_that_of_the_interrupted_pass():
    class Shuffled:
        def __iter__(self):
            return iter(np.random.permutation(ROWS)[: 2 * BATCH].reshape(2, BATCH))

    with numbered(Shuffled()) as steps, numbered(Shuffled()) as again:
        steps.notes_random = True
        np.random.seed(3)
        first, second = take(steps.open(), 2)
        with pytest.warns(RuntimeWarning, match="not the position in it"):
            state = engine.InputPosition(steps).get_state(within_pass=True)
        np.random.seed(4)
        state["steps"] = 1
        iterator = _resumption.open_resumed(again, resumption_of(state))
        assert first != second
        assert take(iterator, 1) == [second]

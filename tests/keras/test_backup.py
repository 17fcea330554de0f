"""Backups and other files that callbacks write appear whole or not at all, and the one before stays until then."""

import json
import pathlib

import h5py
import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx
from stratax.io import _whole as _whole_files
from stratax.io import replace_file
from stratax.keras import _backup

X = np.linspace(0, 1, 16, dtype="float32").reshape(8, 2)
Y = X[:, :1]


def made(strategy=None):
    keras.utils.set_random_seed(1)
    if strategy is None:
        model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model
    with strategy.scope():
        return made()


@pytest.fixture(scope="module")
def models():
    """One model with a strategy and one without, so that each is compiled once."""
    return {"a strategy": made(sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])), "none": made()}


def fit(model, callback, epochs=2, **kwargs):
    model._initial_epoch = None  # Keras alone leaves there what an earlier fit has restored.
    return model.fit(
        X, Y, batch_size=4, epochs=epochs, verbose=0, shuffle=False, callbacks=callback, **kwargs
    )


class DiskError(Exception):
    """In the place of a process that ends."""


def ends_before_files_are_in_place(monkeypatch):
    def replace(source, destination):
        raise DiskError

    monkeypatch.setattr(_whole_files.os, "replace", replace)


@pytest.mark.parametrize("where", ["a strategy", "none"])
@pytest.mark.parametrize("name", ["a.keras", "a.h5", "a.weights.h5", "backup"])
@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file")
def test_a_file_stays_as_it_was_until_the_next_one_is_whole(name, where, models, monkeypatch, tmp_path):
    def callback():
        if name == "backup":
            return keras.callbacks.BackupAndRestore(tmp_path, delete_checkpoint=False)
        return keras.callbacks.ModelCheckpoint(tmp_path / name, save_weights_only=name == "a.weights.h5")

    fit(models[where], callback())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert before
    ends_before_files_are_in_place(monkeypatch)
    with pytest.raises(DiskError):
        fit(models[where], callback(), epochs=4)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_file_behind_a_link_is_replaced(models, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.weights.h5").symlink_to(tmp_path / "disk" / "a.weights.h5")
    fit(models["none"], keras.callbacks.ModelCheckpoint(tmp_path / "a.weights.h5", save_weights_only=True))
    assert (tmp_path / "a.weights.h5").is_symlink()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["a.weights.h5"]


class Stop(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 3:
            raise InterruptedError


def interrupted(model, folder, **kwargs):
    for variable in model.variables:
        variable.assign(np.ones(variable.shape))
    with pytest.raises(InterruptedError):
        fit(model, [keras.callbacks.BackupAndRestore(folder, **kwargs), Stop()], epochs=5)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_damaged_backup_is_an_error_that_says_what_to_do(models, tmp_path):
    interrupted(models["a strategy"], tmp_path)
    cut(tmp_path / "latest.weights.h5")
    with pytest.raises(sx.errors.DataLossError, match=r"is damaged.*latest\.weights\.h5.*remove the folder"):
        fit(models["a strategy"], keras.callbacks.BackupAndRestore(tmp_path), epochs=5)


def test_a_changed_bit_anywhere_in_a_backup_is_noticed_or_changes_no_value(models, tmp_path):
    interrupted(models["a strategy"], tmp_path)
    path = tmp_path / "latest.weights.h5"
    content = path.read_bytes()

    def values():
        found = {}
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, node: found.update({name: node[()]} if isinstance(node, h5py.Dataset) else {})
            )
        return found

    whole, noticed, wrong = values(), 0, []
    assert sx.keras._backup._damage(str(path)) is None
    assert len(whole) > 5
    random = np.random.default_rng(0)
    for place in [*range(740, 770), *random.choice(len(content), 70, replace=False)]:
        changed = bytearray(content)
        changed[place] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        if sx.keras._backup._damage(str(path)) is not None:
            noticed += 1
            continue
        read = values()
        same = read.keys() == whole.keys() and all(np.array_equal(read[name], whole[name]) for name in whole)
        wrong += [] if same else [place]
    assert wrong == []
    # Most of a file this small is unused space of HDF5.
    assert noticed > 3


def test_the_last_of_a_backups_arrays_is_read_before_it_is_taken_for_whole(models, tmp_path):
    interrupted(models["a strategy"], tmp_path)
    path = tmp_path / "latest.weights.h5"
    arrays = []
    with h5py.File(path, "r+") as file:
        file.visititems(lambda _, node: arrays.append(node.name) if isinstance(node, h5py.Dataset) else None)
        last = file[[name for name in arrays if file[name].size and file[name].dtype == np.float32][-1]]
        last[...] = last[()] + 1
    with pytest.raises(sx.errors.DataLossError, match="its checksum is wrong"):
        fit(models["a strategy"], keras.callbacks.BackupAndRestore(tmp_path), epochs=5)


def test_the_backup_before_a_damaged_one_is_restored(models, tmp_path):
    model = models["a strategy"]
    interrupted(model, tmp_path / "whole")
    expected = fit(model, keras.callbacks.BackupAndRestore(tmp_path / "whole"), epochs=5).history["loss"]
    interrupted(model, tmp_path / "cut", double_checkpoint=True)
    cut(tmp_path / "cut" / "latest.weights.h5")
    with pytest.warns(RuntimeWarning, match="the one before it is restored"):
        history = fit(model, keras.callbacks.BackupAndRestore(tmp_path / "cut"), epochs=5)
    assert history.epoch == [2, 3, 4]
    assert history.history["loss"][1:] == expected


def test_a_backup_of_keras_alone_goes_on_with_its_epoch(models, tmp_path):
    interrupted(models["none"], tmp_path)
    for variable in models["a strategy"].variables:
        variable.assign(np.zeros(variable.shape))
    history = fit(models["a strategy"], keras.callbacks.BackupAndRestore(tmp_path), epochs=5)
    rest = fit(models["none"], [], epochs=5, initial_epoch=3)
    assert history.epoch == rest.epoch == [3, 4]
    np.testing.assert_allclose(history.history["loss"], rest.history["loss"], rtol=1e-5)


def test_a_backup_of_another_version_is_refused(models, tmp_path, monkeypatch):
    interrupted(models["a strategy"], tmp_path)
    monkeypatch.setattr(sx.keras._backup, "_VERSION", 3)
    with pytest.raises(sx.errors.DataError, match="written by another version"):
        fit(models["a strategy"], keras.callbacks.BackupAndRestore(tmp_path), epochs=5)


def test_a_model_that_is_not_built_can_not_be_backed_up(tmp_path):
    class Lazy(keras.Model):
        def train_step(self, data):
            return {"loss": 0.0}

    with sx.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = Lazy()
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"the model must be built before fit\(\)"):
        fit(model, keras.callbacks.BackupAndRestore(tmp_path))


def test_a_backup_at_a_url_is_refused(models, tmp_path):
    backup = keras.callbacks.BackupAndRestore(tmp_path)
    backup.backup_dir = "gs://bucket/backup"  # Which Keras takes where TensorFlow is installed.
    with pytest.raises(sx.errors.BadArgumentError, match=r"backup_dir must be a folder.*gs://bucket/backup"):
        fit(models["a strategy"], backup)


def test_a_backup_holds_weights_that_keras_alone_can_load(models, tmp_path):
    interrupted(models["a strategy"], tmp_path)
    expected = models["a strategy"].get_weights()
    models["none"].load_weights(tmp_path / "latest.weights.h5")
    for ours, theirs in zip(models["none"].get_weights(), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with h5py.File(tmp_path / "latest.weights.h5") as file:
        state = json.loads(file["stratax"]["state"][()].tobytes())
    assert (state["epoch"], state["steps"], state["logs"]) == (3, 0, {})
    assert json.loads((tmp_path / "training_metadata.json").read_text())["epoch"] == 3


def test_what_is_wrong_with_a_file_of_weights_is_reported(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["group/values"] = np.arange(1000)
    assert _backup._damage(str(path)) is None
    whole = path.read_bytes()
    for content in (whole[:-500], whole[: len(whole) // 2], b"no such file at all", b""):
        path.write_bytes(content)
        assert "Error" in _backup._damage(str(path))


@pytest.mark.parametrize("has_links", [True, False])
def test_the_backup_before_is_kept_under_a_second_name_that_the_next_one_leaves_alone(
    has_links, tmp_path, monkeypatch
):
    def link(source, destination):
        raise PermissionError("no links here")

    if not has_links:
        monkeypatch.setattr(_backup.os, "link", link)
    path, copy = tmp_path / "latest", tmp_path / "before"
    _backup._keep(str(path), str(copy))
    assert not copy.exists()
    for content, kept in [("first", "first"), ("second", "second")]:
        with replace_file(str(path)) as hidden:
            pathlib.Path(hidden).write_text(content)
        _backup._keep(str(path), str(copy))
        assert copy.read_text() == kept
    with replace_file(str(path)) as hidden:
        pathlib.Path(hidden).write_text("third")
    assert (path.read_text(), copy.read_text()) == ("third", "second")


@pytest.mark.parametrize(
    ("content", "epoch"), [('{"epoch": 3, "batch": 1}', 3), ("{", 0), ('{"batch": 1}', 0), (None, 0)]
)
def test_without_its_second_file_a_backup_of_keras_alone_goes_on_with_the_first_epoch(
    content, epoch, tmp_path
):
    path = tmp_path / "metadata.json"
    if content is not None:
        path.write_text(content)
    assert _backup._of_keras(str(path)) == {"epoch": epoch}


def test_metrics_are_restored_if_they_are_those_that_were_saved():
    variables = [sx.Variable(0.0), sx.Variable([0.0, 0.0])]
    saved = {"0": np.float32(5.0), "1": np.float32([6.0, 7.0])}
    for other in ({}, {"0": saved["0"]}, {"0": saved["1"], "1": saved["0"]}):
        _backup._assign(variables, other)
    assert [variable.numpy().tolist() for variable in variables] == [0.0, [0.0, 0.0]]
    _backup._assign(variables, saved)
    assert [variable.numpy().tolist() for variable in variables] == [5.0, [6.0, 7.0]]


def test_logs_are_kept_as_json_can_hold_them():
    logs = {"loss": np.float32(0.5), "each": np.float32([1, 2]), "count": 3}
    assert {name: _backup._number(value) for name, value in logs.items()} == {
        "loss": 0.5,
        "each": [1.0, 2.0],
        "count": 3,
    }

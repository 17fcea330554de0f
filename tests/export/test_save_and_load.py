"""What was exported gives the same numbers in a process without the program and Keras, or says what is wrong."""

import json
import pathlib
import subprocess
import sys

import jax
import keras
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.export import ExportedFunction, TensorInfo, contains, load, save
from stratax.io import sealed


def model_of_images():
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.BatchNormalization()]
    return keras.Sequential(
        [
            keras.Input((8, 8, 1), name="image"),
            *layers,
            keras.layers.Dropout(0.5),
            keras.layers.Flatten(),
            keras.layers.Dense(3, "softmax"),
        ]
    )


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "digits" / "1"
    model = model_of_images()
    save(model, folder)
    return folder, model


ELSEWHERE = """
import sys
import numpy as np
from stratax import export

loaded = export.load(sys.argv[1])
images = np.load(sys.argv[2])
signature = loaded.signatures["serving_default"]
np.save(sys.argv[3], np.concatenate([signature(image=images[: n + 1])["output_0"] for n in range(9)]))
assert not {"keras", "tensorflow"} & set(sys.modules), "A loaded export needs JAX alone."
"""


@pytest.mark.processes
def test_another_process_gives_a_models_predictions_for_every_batch_size(exported, tmp_path):
    folder, model = exported
    images = np.random.default_rng(0).random((9, 8, 8, 1), np.float32)
    np.save(tmp_path / "in.npy", images)
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(folder), str(tmp_path / "in.npy"), str(tmp_path / "out.npy")],
        check=True,
        timeout=120,
    )
    expected = np.concatenate([model.predict(images[: n + 1], verbose=0) for n in range(9)])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


def test_an_export_says_what_it_takes_and_gives(exported):
    folder, _ = exported
    assert contains(folder)
    assert not contains(folder.parent)
    loaded = load(folder)
    assert loaded.platforms == ("cpu", "cuda", "tpu")
    assert loaded.versions["jax"] == jax.__version__
    signature = loaded.signatures["serving_default"]
    assert signature.inputs == {"image": TensorInfo("float32", (None, 8, 8, 1))}
    assert signature.outputs == {"output_0": TensorInfo("float32", (None, 3))}
    assert "serving_default(image: float32[None, 8, 8, 1]) -> output_0: float32[None, 3]" in repr(loaded)


def test_what_does_not_fit_a_signature_is_refused(exported):
    signature = load(exported[0]).signatures["serving_default"]
    with pytest.raises(
        errors.BadArgumentError, match=r"other inputs. Expected: image: float32.*Received: picture"
    ):
        signature(picture=np.ones((1, 8, 8, 1), "float32"))
    with pytest.raises(errors.BadTypeError, match="another dtype.*Received: float64"):
        signature(np.ones((1, 8, 8, 1)))
    with pytest.raises(errors.BadArgumentError, match=r"another shape.*shape \(1, 8, 8\)"):
        signature(np.ones((1, 8, 8), "float32"))
    with pytest.raises(errors.BadArgumentError, match="lists of different lengths"):
        signature([[[[1.0]], [[1.0], [2.0]]]])
    with pytest.raises(errors.BadTypeError, match="another dtype"):
        signature("text")
    assert signature(np.zeros((2, 8, 8, 1), int).tolist())["output_0"].shape == (2, 3)


class Scaler:
    def __init__(self):
        self.scale = tf.Variable([2.0, 3.0], name="scale")

    @tf.function(
        input_signature=[tf.TensorSpec((None, 2), tf.float32, name="x"), tf.TensorSpec((), tf.int32)]
    )
    def scaled(self, x, times):
        for _ in tf.range(times):
            x = x * self.scale
        return {"scaled": x, "sum": tf.reduce_sum(x)}

    def helper(self):
        raise AssertionError("is not called")


def test_methods_of_an_object_are_exported_with_their_loops(tmp_path):
    scaler = Scaler()
    save(scaler, tmp_path / "a")
    signatures = load(tmp_path / "a").signatures
    assert list(signatures) == ["serving_default", "scaled"]
    found = signatures["scaled"](x=np.ones((3, 2), "float32"), times=2)
    np.testing.assert_array_equal(found["scaled"], [[4.0, 9.0]] * 3)
    assert found["sum"] == 39.0
    # One program and one copy of the weights, though there are two names.
    assert len(list((tmp_path / "a" / "programs").glob("*.cpu.bin"))) == 1
    save(scaler, tmp_path / "b", signatures={"other": scaler.scaled}, platforms=["cpu"])
    assert list(load(tmp_path / "b").signatures) == ["other"]


def test_weights_keep_their_dtypes_and_names_that_two_have(tmp_path):
    variables = [
        sx.Variable(np.asarray(value, dtype), name="w")
        for value, dtype in [
            (1.5, ml_dtypes.bfloat16),
            ([1, 2], "int32"),
            ([True], bool),
            (np.zeros((0, 2)), "float16"),
        ]
    ]
    function = ExportedFunction(
        lambda arrays: [variable.value for variable in variables], {"x": TensorInfo("float32", (None,))}
    )
    save(function, tmp_path / "a", platforms=["cpu"])
    found = load(tmp_path / "a").signatures["serving_default"](np.ones(1, "float32"))
    for variable, array in zip(variables, found.values(), strict=True):
        assert array.dtype == variable.numpy().dtype
        np.testing.assert_array_equal(array, variable.numpy())


def test_a_model_is_exported_from_under_a_strategy(tmp_path):
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x = np.ones((4, 2), "float32")
    model.fit(x, x[:, :1], verbose=0)
    save(model, tmp_path / "a", platforms=["cpu"])
    found = load(tmp_path / "a").signatures["serving_default"](x)["output_0"]
    np.testing.assert_allclose(found, model.predict(x, verbose=0), atol=1e-6)


LAYERS = {
    "few features": lambda: [keras.layers.Conv2D(8, 3, padding="same")],
    "kernel of 1": lambda: [keras.layers.Conv2D(32, 3), keras.layers.Conv2D(64, 1)],
    "depthwise": lambda: [keras.layers.Conv2D(8, 3), keras.layers.DepthwiseConv2D(3, strides=2)],
    "groups": lambda: [keras.layers.Conv2D(8, 3), keras.layers.Conv2D(8, 3, groups=4)],
    "transposed": lambda: [keras.layers.Conv2DTranspose(4, 3, strides=2)],
    "volumes": lambda: [keras.layers.Reshape((4, 4, 16, 1)), keras.layers.Conv3D(4, 3)],
    "pooling": lambda: [keras.layers.MaxPooling2D(3, 2, "same"), keras.layers.AveragePooling2D(2)],
    "channels first": lambda: [keras.layers.Conv2D(4, 3, data_format="channels_first", padding="same")],
    "means": lambda: [keras.layers.Conv2D(16, 3), keras.layers.GlobalAveragePooling2D()],
    "norms": lambda: [keras.layers.LayerNormalization(), keras.layers.GroupNormalization(1)],
}


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_that_are_lowered_in_a_way_of_their_own_take_any_batch(kind, tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((16, 16, 1)), *LAYERS[kind]()])
    save(model, tmp_path / "a", platforms=["cpu"])
    signature = load(tmp_path / "a").signatures["serving_default"]
    x = np.random.default_rng(0).random((70, 16, 16, 1), np.float32)
    for count in (1, 3, 70):
        expected = model.predict(x[:count], verbose=0, batch_size=count)
        np.testing.assert_allclose(signature(x[:count])["output_0"], expected, atol=1e-5)


def refused(tmp_path, obj, error, match, **kwargs):
    with pytest.raises(error, match=match):
        save(obj, tmp_path / "refused", **kwargs)
    assert list(tmp_path.iterdir()) == [], "A failed export leaves nothing."


def test_what_can_not_be_exported_is_refused_and_leaves_nothing(tmp_path):
    counter = sx.Variable(0.0)
    info = {"x": TensorInfo("float32", (None, 2))}
    refused(
        tmp_path,
        ExportedFunction(lambda a: counter.assign_add(1.0), info),
        errors.BadArgumentError,
        "assigns",
    )
    refused(tmp_path, ExportedFunction(lambda a: {}, info), errors.BadArgumentError, "gives nothing")
    refused(
        tmp_path,
        ExportedFunction(lambda a: tf.numpy_function(np.ones, [3], tf.TensorSpec((3,), tf.float64)), info),
        errors.TracingError,
        "calls Python while it runs",
    )
    refused(
        tmp_path,
        ExportedFunction(lambda a: a["x"].reshape(int(a["x"].shape[0]) // 2, 4), info),
        errors.TracingError,
        "can't be compiled for any number of examples",
    )
    refused(tmp_path, object(), errors.BadArgumentError, "nothing to export")
    refused(
        tmp_path, keras.Sequential([keras.layers.Dense(1)]), errors.BadArgumentError, "has no weights yet"
    )
    refused(tmp_path, tf.function(lambda x: x), errors.BadArgumentError, "does not say what it takes")
    refused(tmp_path, Scaler(), errors.BadArgumentError, "compiled for platforms", platforms=["gpu"])


def test_a_disk_that_is_full_leaves_nothing_and_says_so(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])

    def full(*args, **kwargs):
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.numpy, "save_file", full)
        with pytest.raises(errors.FileAccessError, match="can't be written.*No space left on device"):
            save(model, tmp_path / "a", platforms=["cpu"])
    (tmp_path / "file").touch()
    with pytest.raises(errors.FileAccessError, match="can't be written.*choose another folder"):
        save(model, tmp_path / "file" / "a", platforms=["cpu"])
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_is_there_is_not_touched(exported):
    folder, model = exported
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(errors.AlreadyExistsError, match="something at"):
        save(model, folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert [path.name for path in folder.parent.iterdir()] == ["1"]


def copy_of(folder, tmp_path):
    made = tmp_path / "copy"
    for path in folder.rglob("*"):
        if path.is_file():
            target = made / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return made


@pytest.mark.parametrize("name", ["export.json", "weights.safetensors", "programs/0.cpu.bin"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_export_is_told_and_not_run(exported, tmp_path, name, damage):
    folder = copy_of(exported[0], tmp_path)
    file = folder / name
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(content[:-7])
    else:
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    with pytest.raises((errors.DataLossError, errors.FileMissingError), match="damaged|There is no export"):
        load(folder)


def changed_manifest(exported, tmp_path, change):
    folder = copy_of(exported[0], tmp_path)
    body = json.loads((folder / "export.json").read_text())
    del body["crc32c"]
    change(body)
    (folder / "export.json").write_bytes(sealed(body))
    return folder


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda body: body.update(format=2), "newer format. Expected: at most 1. Received: 2"),
        (lambda body: body.update(files=[]), "names no files"),
        (
            lambda body: body["signatures"]["serving_default"]["program"]["files"].update(cpu="../x"),
            "names no file",
        ),
        (lambda body: body["signatures"]["serving_default"].update(method="run"), "does not say what it has"),
        (
            lambda body: body["signatures"]["serving_default"]["inputs"]["image"].update(dtype="objects"),
            "TypeError",
        ),
        (
            lambda body: body["signatures"]["serving_default"]["program"]["weights"].append("w"),
            "no weight 'w'",
        ),
        (lambda body: body.update(signatures=3), "AttributeError"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_told(exported, tmp_path, change, match):
    with pytest.raises(errors.DataLossError, match=match):
        load(changed_manifest(exported, tmp_path, change))


def test_a_program_for_other_platforms_or_another_jax_is_told(exported, tmp_path):
    folder = changed_manifest(exported, tmp_path, lambda body: body.update(platforms=["tpu"]))
    with pytest.raises(errors.DeviceError, match="Expected: one of tpu. Received: cpu"):
        load(folder)


def test_a_name_outside_of_the_folder_is_never_read(exported, tmp_path):
    outside = tmp_path / "outside.bin"
    outside.write_bytes(pathlib.Path(exported[0], "programs", "0.cpu.bin").read_bytes())

    def change(body):
        body["signatures"]["serving_default"]["program"]["files"]["cpu"] = "../outside.bin"
        body["files"]["../outside.bin"] = body["files"]["programs/0.cpu.bin"]

    with pytest.raises(errors.DataLossError, match="names no file '../outside.bin'"):
        load(changed_manifest(exported, tmp_path, change))


def test_shapes_that_do_not_fit_together_are_told(exported):
    folder, _ = exported
    with pytest.raises(errors.BadArgumentError, match="where sizes are at least 1"):
        load(folder).signatures["serving_default"](image=np.zeros((0, 8, 8, 1), np.float32))

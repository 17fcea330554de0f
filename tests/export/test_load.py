"""What was exported gives the same numbers in a process without the program and Keras, or says what is wrong."""

import json
import pathlib
import subprocess
import sys

import jax
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import TensorInfo, contains, load, save
from stratax.io import seal_text


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
    (folder / "export.json").write_bytes(seal_text(body))
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

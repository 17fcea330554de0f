"""The kinds of summaries as TensorBoard reads them."""

import io
import wave

import jax.numpy as jnp
import keras
import numpy as np
import pytest
from PIL import Image

from stratax import image as images
from stratax import summary
from stratax.errors import BadArgumentError, BadTypeError


@pytest.fixture
def written(tmp_path, read):
    """Returns a function that has something written, and gives what TensorBoard reads."""

    def written(write):
        writer = summary.create_file_writer(tmp_path)
        with writer.as_default():
            write()
        writer.close()
        return read(tmp_path)

    return written


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (0.5, 0.5),
        (np.float64(0.25), 0.25),
        (jnp.float32(3), 3.0),
        (jnp.bfloat16(3), 3.0),
        (7, 7.0),
        (True, 1.0),
        (np.array(2, "uint8"), 2.0),
    ],
)
def test_numbers_of_all_kinds_are_written_as_float32(written, data, expected):
    found = written(lambda: summary.scalar("loss", data, step=3))
    assert found == {"loss": [(3, expected)]}


def test_a_variable_is_written_with_the_value_that_it_has_then(written):
    variable = keras.Variable(1.5)

    def write():
        summary.scalar("loss", variable, step=keras.Variable(2, dtype="int32"))
        variable.assign(4.0)

    assert written(write) == {"loss": [(2, 1.5)]}


def test_an_array_may_be_changed_behind_its_summary(written):
    array = np.zeros((1,))

    def write():
        for step in range(50):
            array[0] = step
            summary.histogram("h", array, step=step, buckets=1)

    assert written(write)["h"] == [(step, [[step, step, 1.0]]) for step in range(50)]


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_a_histogram_has_thirty_buckets_of_equal_width(written, make):
    data = make(np.arange(60, dtype="float32").reshape(3, 20))
    (found,) = written(lambda: summary.histogram("h", data, step=0))["h"]
    rows = np.asarray(found[1])
    np.testing.assert_allclose(rows[:, 0], np.arange(30) * 59 / 30)
    np.testing.assert_allclose(rows[:, 1], np.arange(1, 31) * 59 / 30)
    assert rows[:, 2].tolist() == [2.0] * 30


@pytest.mark.parametrize(
    ("data", "buckets", "expected"),
    [
        ([], 2, [[0, 0, 0], [0, 0, 0]]),
        ([3, 3, 3], 2, [[3, 3, 0], [3, 3, 3]]),
        ([np.nan, np.inf, 1.0, 2.0], 2, [[1, 1.5, 1], [1.5, 2, 1]]),
        ([np.nan], 1, [[0, 0, 0]]),
        ([1.0, 2.0], 0, []),
        ([True, False], 2, [[0, 0.5, 1], [0.5, 1, 1]]),
    ],
)
def test_a_histogram_of_little(written, data, buckets, expected):
    assert written(lambda: summary.histogram("h", data, step=0, buckets=buckets))["h"] == [(0, expected)]


def test_images_are_png_files_behind_their_width_and_height(written):
    data = np.linspace(-0.5, 1.5, 4 * 2 * 3).reshape(4, 2, 3, 1)
    (found,) = written(lambda: summary.image("i", data, step=4))["i"]
    width, height, *files = found[1]
    assert (found[0], width, height, len(files)) == (4, b"3", b"2", 3)
    pixels = np.asarray(Image.open(io.BytesIO(files[1])))
    assert pixels.tolist() == (np.clip(data[1, ..., 0], 0, 1) * 255.5).astype("uint8").tolist()


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")])
def test_images_have_one_to_four_channels(written, channels, mode):
    data = np.arange(2 * 2 * channels, dtype="uint8").reshape(1, 2, 2, channels)
    (found,) = written(lambda: summary.image("i", jnp.asarray(data), step=0))["i"]
    image = Image.open(io.BytesIO(found[1][2]))
    assert image.mode == mode
    assert np.asarray(image).reshape(data[0].shape).tolist() == data[0].tolist()


@pytest.mark.parametrize("on", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8", "int16", "int32", "uint32"])
def test_pixels_are_the_bytes_that_images_are_converted_to(written, dtype, on):
    numbers = np.linspace(-2, 2, 60) if dtype.startswith("float") else np.linspace(-(2.0**33), 2.0**33, 60)
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    data = on(numbers.clip(float(limits.min), float(limits.max)).astype(dtype).reshape(1, 4, 5, 3))
    (found,) = written(lambda: summary.image("i", data, step=0))["i"]
    expected = images.convert_image_dtype(data, "uint8", saturate=True)[0]
    assert np.asarray(Image.open(io.BytesIO(found[1][2]))).tolist() == np.asarray(expected).tolist()


@pytest.mark.parametrize("data", ["hällo", "hällo".encode(), np.array("hällo")])
def test_text_is_utf8(written, data):
    assert written(lambda: summary.text("t", data, step=0)) == {"t": [(0, "hällo".encode())]}


def test_a_table_of_text_keeps_its_shape(written):
    found = written(lambda: summary.text("t", [["a", "b"], ["c", "d"]], step=0))
    assert found == {"t": [(0, [[b"a", b"b"], [b"c", b"d"]])]}


def test_sound_is_wav_files_with_labels(written):
    data = np.array([[[0.0], [0.5], [-1.0], [2.0]]])
    (found,) = written(lambda: summary.audio("a", data, 8000, step=0))["a"]
    ((content, label),) = found[1]
    with wave.open(io.BytesIO(content)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
        assert np.frombuffer(file.readframes(4), "<i2").tolist() == [0, 16384, -32768, 32767]
    assert label == b""


def test_each_kind_has_the_metadata_of_its_page(tmp_path, metadata):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(step=0):
        summary.scalar("s", 1.0, description="what it is")
        summary.histogram("h", [1.0])
        summary.image("i", np.zeros((1, 1, 1, 1)))
        summary.text("t", "x")
        summary.audio("a", np.zeros((1, 1, 1)), 8000)
        summary.write("w", [1.0, 2.0], metadata=b"")
    writer.close()
    found = metadata(tmp_path)
    plugins = {tag: each.plugin_data.plugin_name for tag, each in found.items()}
    assert plugins == {
        "s": "scalars", "h": "histograms", "i": "images", "t": "text", "a": "audio", "w": ""
    }  # fmt: skip
    assert found["s"].summary_description == "what it is"


def test_a_model_is_written_as_its_configuration(written):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    (found,) = written(lambda: summary.keras_model("model", model, step=5))["model"]
    assert (found[0], b'"Dense"' in found[1]) == (5, True)


def test_write_takes_numbers_strings_and_what_makes_them(written):
    def write():
        assert summary.write("n", [[1, 2]], step=1) is True
        summary.write("s", "text", step=1)
        summary.write("c", lambda: np.float64(0.1), step=1)

    assert written(write) == {"n": [(1, [[1, 2]])], "s": [(1, b"text")], "c": [(1, 0.1)]}


def test_what_makes_a_value_is_called_only_if_it_is_written():
    assert summary.write("c", lambda: 1 / 0, step=1) is False


def test_name_scopes_are_put_before_a_name(written):
    def write():
        with keras.name_scope("outer"):
            summary.scalar("a", 1.0, step=0)
            with keras.name_scope("inner"), summary.experimental.summary_scope("b c") as (tag, scope):
                assert (tag, scope) == ("outer/inner/b c", "outer/inner/bc/")
                summary.scalar("d", 1.0, step=0)

    assert sorted(written(write)) == ["outer/a", "outer/inner/bc/d"]


@pytest.mark.parametrize(
    ("write", "kind", "match"),
    [
        (lambda: summary.scalar("a", [1.0, 2.0], step=0), BadArgumentError, r"shape \(2,\).*jnp.mean"),
        (lambda: summary.scalar("a", "one", step=0), BadTypeError, "must be numbers.*'one'"),
        (lambda: summary.scalar("a", 1j, step=0), BadTypeError, "must be real numbers"),
        (lambda: summary.scalar("a", None, step=0), BadTypeError, "must be numbers.*None"),
        (lambda: summary.scalar("a", 1.0), BadArgumentError, "no step.*set_step"),
        (
            lambda: summary.scalar("a", 1.0, step=1.0),
            BadTypeError,
            "step of a summary is one whole number.*1.0",
        ),
        (lambda: summary.scalar("a", 1.0, step=np.arange(2)), BadTypeError, "one whole number"),
        (lambda: summary.scalar("a", 1.0, step=True), BadTypeError, "one whole number"),
        (lambda: summary.histogram("a", ["x"], step=0), BadTypeError, "must be numbers"),
        (lambda: summary.image("a", np.zeros((2, 2, 1)), step=0), BadArgumentError, r"\(2, 2, 1\)"),
        (lambda: summary.image("a", np.zeros((1, 2, 2, 5)), step=0), BadArgumentError, "1 to 4 channels"),
        (lambda: summary.image("a", np.zeros((1, 2, 2, 1)), step=0, max_outputs=-1), BadArgumentError, "-1"),
        (lambda: summary.text("a", 3, step=0), BadTypeError, "holds strings.*3"),
        (lambda: summary.text("a", jnp.zeros(()), step=0), BadTypeError, "holds strings"),
        (lambda: summary.audio("a", np.zeros((2, 2)), 8000, step=0), BadArgumentError, "several clips"),
        (lambda: summary.audio("a", np.zeros((1, 2, 2)), 0, step=0), BadArgumentError, "sample_rate=0"),
        (
            lambda: summary.audio("a", np.zeros((1, 2, 2)), 8000, encoding="mp3", step=0),
            BadArgumentError,
            "mp3",
        ),
    ],
)
def test_what_can_not_be_written_says_why(tmp_path, write, kind, match):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(), pytest.raises(kind, match=match):
        write()
    writer.close()

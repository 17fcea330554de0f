"""Exports of functions of text: what the host does is a plan without code."""

import base64
import json
import pickle
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import ExportedFunction, TensorInfo, load, save
from stratax.image import encode_jpeg

CLASSES = ["daisy", "rose", "tulip"]


def jpegs(count):
    random = np.random.default_rng(0)
    return [encode_jpeg(random.integers(0, 255, (20 + 7 * n, 30, 3), np.uint8)) for n in range(count)]


class Flowers(tf.Module):
    def __init__(self):
        super().__init__()
        self.layer = keras.layers.Dense(3)
        self.layer.build((None, 8 * 8 * 3))

    def pixels(self, contents):
        image = tf.image.convert_image_dtype(tf.image.decode_jpeg(contents, channels=3), tf.float32)
        side = tf.minimum(tf.shape(image)[0], tf.shape(image)[1])
        image = tf.image.resize_with_crop_or_pad(image, side, side)
        return tf.image.resize(image[2:, ...], [8, 8])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def classify(self, contents):
        images = tf.map_fn(self.pixels, contents, fn_output_signature=tf.float32) * 2.0 - 1.0
        logits = self.layer(tf.reshape(images, [-1, 8 * 8 * 3]))
        chosen = tf.argmax(logits, axis=1)
        return {
            "logits": logits,
            "class": tf.strings.upper(tf.gather(CLASSES, chosen)),
            "place": tf.strings.as_string(chosen),
            "bytes": tf.strings.length(contents),
        }


def test_images_are_served_from_their_bytes_with_the_numbers_of_the_program(tmp_path):
    flowers, contents = Flowers(), jpegs(3)
    save(flowers, tmp_path / "1", platforms=["cpu"])
    signature = load(tmp_path / "1").signatures["serving_default"]
    images = np.stack([np.asarray(flowers.pixels(each)) for each in contents]) * 2.0 - 1.0
    logits = np.asarray(flowers.layer(images.reshape(3, -1)))
    for count in (1, 2, 3):
        made = signature(contents[:count])
        np.testing.assert_allclose(made["logits"], logits[:count], atol=1e-5)
        chosen = logits[:count].argmax(1)
        assert made["class"].tolist() == [CLASSES[n].upper().encode() for n in chosen]
        assert made["place"].tolist() == [str(n).encode() for n in chosen]
        assert made["bytes"].tolist() == [len(each) for each in contents[:count]]


ELSEWHERE = """
import base64, json, sys
from stratax.export import load

contents = [base64.b64decode(each) for each in json.loads(sys.argv[2])]
made = load(sys.argv[1]).signatures["serving_default"](contents)
print(json.dumps([made["logits"].tolist(), [each.decode() for each in made["class"]]]))
assert not {"keras", "tensorflow", "flowers"} & set(sys.modules), "An export with a plan needs JAX alone."
"""


@pytest.mark.processes
def test_a_plan_runs_without_keras_and_without_the_programs_code(tmp_path):
    flowers, contents = Flowers(), jpegs(3)
    save(flowers, tmp_path / "1", platforms=["cpu"])
    given = json.dumps([base64.b64encode(each).decode() for each in contents])
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path / "1"), given],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    made = load(tmp_path / "1").signatures["serving_default"](contents)
    logits, classes = json.loads(done.stdout)
    np.testing.assert_allclose(logits, made["logits"], atol=1e-6)
    assert [each.encode() for each in classes] == made["class"].tolist()
    files = [each for each in (tmp_path / "1").rglob("*") if each.is_file()]
    assert {each.suffix for each in files} == {".json", ".safetensors", ".bin"}
    for file in files:
        content = file.read_bytes()
        # Neither a pickle, or one within, nor an archive; and none of the lines of the function.
        assert not content.startswith(b"\x80")
        assert not any(pickle.PROTO + bytes([version]) + pickle.FRAME in content for version in range(2, 6))
        assert not zipfile.is_zipfile(file)
        assert b"self.layer(" not in content
        assert b"tf.reshape(" not in content
        # Nor where it lies on the machine that has made the export.
        assert b".py" not in content


def of_text(function, tmp_path, shape=(None,)):
    exported = ExportedFunction(lambda inputs: function(inputs["x"]), {"x": TensorInfo("string", shape)})
    save(exported, tmp_path / "1", platforms=["cpu"])
    return load(tmp_path / "1").signatures["serving_default"]


def test_examples_are_parsed_and_looked_up(tmp_path):
    given = tf.lookup.KeyValueTensorInitializer(["red", "green"], [0, 1], tf.string, tf.int64)
    table, vocabulary = tf.lookup.StaticHashTable(given, -1), tf.lookup.StaticVocabularyTable(given, 3)
    features = {
        "n": tf.io.FixedLenFeature([2], tf.float32),
        "color": tf.io.FixedLenFeature([], tf.string, "red"),
        "tags": tf.io.VarLenFeature(tf.string),
    }

    def parsed(serialized):
        found = tf.io.parse_example(serialized, features)
        tags = tf.sparse.to_dense(found["tags"], default_value="")
        return {
            "sum": tf.reduce_sum(found["n"], axis=1),
            "id": table.lookup(found["color"]),
            "bucket": vocabulary.lookup(found["color"]),
            "tags": tf.reduce_sum(tf.cast(tf.not_equal(tags, ""), tf.int32), axis=1),
            "color": found["color"],
        }

    def example(number, color):
        feature = {
            "n": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 1.0])),
            "tags": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"t"] * number)),
        }
        if color is not None:
            feature["color"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[color]))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    made = of_text(parsed, tmp_path)([example(0, b"green"), example(2, None), example(1, b"blue")])
    assert made["sum"].tolist() == [1.0, 3.0, 2.0]
    assert made["id"].tolist() == [1, 0, -1]
    assert made["bucket"].tolist() == [1, 0, *np.asarray(vocabulary.lookup(["blue"])).tolist()]
    assert made["tags"].tolist() == [0, 2, 1]
    assert made["color"].tolist() == [b"green", b"red", b"blue"]


def test_features_of_one_example_have_lengths_of_their_own(tmp_path):
    spec = {
        "a": tf.io.VarLenFeature(tf.float32),
        "b": tf.io.VarLenFeature(tf.float32),
        "c": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }

    def parsed(serialized):
        found = tf.io.parse_example(serialized, spec)
        arrays = {"a": tf.sparse.to_dense(found["a"]), "b": found["b"].values, "c": found["c"]}
        # No function of the host: these are arguments of the program.
        return {name: tf.nn.relu(each) for name, each in arrays.items()}

    def example(**counts):
        values = {name: np.arange(1, count + 1) for name, count in counts.items()}
        lists = {name: tf.train.FloatList(value=each) for name, each in values.items()}
        features = {name: tf.train.Feature(float_list=each) for name, each in lists.items()}
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    made = of_text(parsed, tmp_path)([example(a=1, b=3, c=2), example(a=2, b=4, c=1)])
    assert made["a"].tolist() == [[1, 0], [1, 2]]
    assert made["b"].tolist() == [1, 2, 3, 1, 2, 3, 4]
    assert made["c"].tolist() == [[1, 2], [1, 0]]


def test_sizes_that_only_a_request_tells_are_not_taken_from_blank_examples(tmp_path):
    def of_rows(x):
        sizes = tf.shape(x)
        return {
            "count": tf.size(x),
            "pairs": tf.broadcast_to(tf.expand_dims(x, 1), [sizes[0], 2]),
            "unique": tf.unique(x).y,
            "places": tf.unique(x).idx,
            "masked": tf.boolean_mask(x, tf.equal(x, "ab")),
            "end": tf.strings.substr(x, -2, 2),
            "chosen": tf.where(tf.equal(x, "ab"), "yes", "no"),
        }

    given = np.array([b"ab", b"cde", b"ab"], object)
    made = of_text(of_rows, tmp_path)(given)
    expected = {name: np.asarray(each) for name, each in of_rows(tf.constant(given)).items()}
    assert {name: each.tolist() for name, each in made.items()} == {
        name: each.tolist() for name, each in expected.items()
    }


def test_images_of_any_size_and_shape_are_cut_and_padded(tmp_path):
    def of_image(contents):
        image = tf.image.convert_image_dtype(tf.io.decode_jpeg(contents, channels=3), tf.float32)
        return {
            "central": tf.image.central_crop(image, 0.5),
            "ratio": tf.image.resize(image, [8, 8], preserve_aspect_ratio=True),
            "padded": tf.image.pad_to_bounding_box(image, 1, 2, 50, 60),
            "cut": tf.image.crop_to_bounding_box(image, 1, 2, 3, 4),
        }

    contents = jpegs(1)[0]
    made = of_text(of_image, tmp_path, shape=())(contents)
    for name, each in of_image(contents).items():
        np.testing.assert_allclose(made[name], each, atol=1e-6)


def test_sizes_that_turn_out_otherwise_are_an_error_and_no_result(tmp_path):
    signature = of_text(lambda x: tf.ensure_shape(tf.io.decode_raw(x, tf.uint8), [None, 3]) + 1, tmp_path)
    assert signature([b"abc", b"def"])["output_0"].tolist() == [[98, 99, 100], [101, 102, 103]]
    with pytest.raises(ValueError, match=r"\(2, 4\)"):
        signature([b"abcd", b"defg"])


def test_images_may_have_any_number_of_channels(tmp_path):
    def mean(contents):
        return tf.reduce_mean(tf.cast(tf.io.decode_jpeg(contents), tf.float32), [0, 1])

    signature = of_text(lambda x: tf.map_fn(mean, x, tf.float32), tmp_path)
    grey = encode_jpeg(np.full((8, 9, 1), 100, np.uint8))
    np.testing.assert_allclose(signature([grey, grey])["output_0"], [[100], [100]], atol=1)
    np.testing.assert_allclose(
        signature([encode_jpeg(np.full((8, 9, 3), 100, np.uint8))])["output_0"], [[100] * 3], atol=1
    )


def test_a_string_is_divided_and_several_are_refused(tmp_path):
    def first_words(x):
        rows = tf.map_fn(
            lambda row: tf.pad(tf.strings.length(tf.strings.split(row)), [[0, 9]])[:3], x, tf.int32
        )
        return {"lengths": rows, "all": tf.strings.split(tf.strings.reduce_join(x, separator=" "))}

    made = of_text(first_words, tmp_path)([b"a bcd", b"ef g h i"])
    assert made["lengths"].tolist() == [[1, 3, 0], [2, 1, 1]]
    assert made["all"].tolist() == [b"a", b"bcd", b"ef", b"g", b"h", b"i"]
    with pytest.raises(errors.BadTypeError, match="no RaggedTensors"):
        of_text(tf.strings.split, tmp_path / "other")


def test_what_is_asked_of_text_while_it_is_exported_is_told(tmp_path):
    def asks(x):
        return x if x[0] == "a" else tf.strings.upper(x)

    with pytest.raises(errors.BadTypeError, match="known only when an export runs"):
        of_text(asks, tmp_path)
    assert not (tmp_path / "1").exists()


def test_a_plan_calls_no_function_that_is_not_listed(tmp_path):
    from stratax.tensorflow.exports._host_plan import CallPlan
    from stratax.tensorflow.exports.host import check_plan

    of_text(tf.strings.upper, tmp_path)
    text = (tmp_path / "1" / "export.json").read_text()
    assert "strings.upper" in text
    values = json.loads(text)["body"] if "body" in json.loads(text) else json.loads(text)
    after = values["signatures"]["serving_default"]["before"]
    after["calls"][0]["function"] = "io.read_file"
    with pytest.raises(errors.DataLossError, match=r"may not call 'io\.read_file'"):
        check_plan(CallPlan.from_json(after, lambda infos: {}), ["in/x"])

"""TensorFlow, in a process of its own, answers with an export's numbers. Needs TensorFlow beside JAX."""

import base64
import importlib.util
import json
import subprocess
import sys

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import ExportedFunction, TensorInfo, convert_to_saved_model, load, save
from stratax.image import encode_jpeg

SERVED = """
import sys
import numpy as np
import tensorflow as tf

loaded = tf.saved_model.load(sys.argv[1])
x = np.load(sys.argv[2])
signature = loaded.signatures["serving_default"]
np.save(sys.argv[3], np.concatenate([signature(x=tf.constant(x[: n + 1]))["y"].numpy() for n in range(9)]))
"""


# Calls signatures of a SavedModel with the first rows of some inputs; a scalar, with each row.
ANSWERS = """
import base64, json, sys
import numpy as np
import tensorflow as tf

assert "stratax" not in sys.modules
path, given, into = sys.argv[1:]
loaded = tf.saved_model.load(path)
found = {}

def tensor(each, count):
    if "text" in each:
        rows = [base64.b64decode(row) for row in each["text"]]
        return tf.constant(rows[count - 1] if each["one"] else rows[:count])
    rows = np.array(each["rows"], each["dtype"])
    return tf.constant(rows[:count])

def plain(array):
    return base64.b64encode(array).decode() if isinstance(array, bytes) else [plain(each) for each in array]

for name, inputs in json.load(open(given)).items():
    signature = loaded.signatures[name]
    found[name] = []
    for count in range(1, 10):
        made = signature(**{key: tensor(each, count) for key, each in inputs.items()})
        made = {key: value.numpy() for key, value in made.items()}
        found[name].append({
            key: {"text": plain(value.tolist())} if value.dtype == object else {"rows": value.tolist()}
            for key, value in made.items()
        })
json.dump(found, open(into, "w"))
"""
needs_tensorflow = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
)


def check(export, given, tmp_path, *, one=()):
    """TensorFlow answers with what the export answers: to `given`, by signature and input, from 1 to 9 rows."""
    convert_to_saved_model(export, tmp_path / "saved")
    # Nothing in it calls Python.
    assert b"PyFunc" not in (tmp_path / "saved" / "saved_model.pb").read_bytes()
    encoded = {
        name: {
            key: {"text": [base64.b64encode(row).decode() for row in rows], "one": key in one}
            if isinstance(rows[0], bytes)
            else {"rows": rows.tolist(), "dtype": rows.dtype.name}
            for key, rows in inputs.items()
        }
        for name, inputs in given.items()
    }
    (tmp_path / "given.json").write_text(json.dumps(encoded))
    files = [str(tmp_path / name) for name in ("saved", "given.json", "found.json")]
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS, *files], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found.keys() == given.keys()
    signatures = load(export).signatures
    for name, answers in found.items():
        assert len(answers) == 9
        for count, answer in enumerate(answers, 1):
            inputs = {
                key: rows[count - 1] if key in one else rows[:count] for key, rows in given[name].items()
            }
            expected = signatures[name](**inputs)
            assert answer.keys() == expected.keys()
            for key, each in answer.items():
                if "text" in each:
                    assert _decoded(each["text"]) == expected[key].tolist()
                else:
                    np.testing.assert_allclose(
                        each["rows"], expected[key], rtol=1e-5, atol=1e-5, err_msg=f"{name} {key} {count}"
                    )


def _decoded(text):
    return base64.b64decode(text) if isinstance(text, str) else [_decoded(each) for each in text]


@pytest.mark.processes
def test_without_tensorflow_it_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    # What Python finds first is a tensorflow that can't be imported.
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "tensorflow.py").write_text("raise ImportError('no such package here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    info = {"x": TensorInfo("float32", (None, 2))}
    save(ExportedFunction(lambda arrays: arrays["x"] * 2.0, info), tmp_path / "a", platforms=["cpu"])
    with pytest.raises(
        errors.MissingPackageError, match=r"no such package here.*stratax-train\[savedmodel\]"
    ):
        convert_to_saved_model(tmp_path / "a", tmp_path / "b")
    save(ExportedFunction(lambda arrays: arrays["x"] * 2.0, info), tmp_path / "t", platforms=["tpu"])
    with pytest.raises(errors.BadArgumentError, match="an export for 'cpu'"):
        convert_to_saved_model(tmp_path / "t", tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "shadow", "t"]


@pytest.mark.processes
@needs_tensorflow
def test_tensorflow_answers_with_the_same_numbers_for_every_batch_size(tmp_path):
    layer = keras.layers.Dense(3, "tanh")
    layer.build((None, 4))
    function = ExportedFunction(
        lambda arrays: {"y": layer(arrays["x"])}, {"x": TensorInfo("float32", (None, 4))}, "regress"
    )
    save(function, tmp_path / "export", platforms=["cpu"])
    convert_to_saved_model(tmp_path / "export", tmp_path / "saved")
    x = np.random.default_rng(0).random((9, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    arguments = [str(tmp_path / name) for name in ("saved", "x.npy", "y.npy")]
    subprocess.run([sys.executable, "-c", SERVED, *arguments], check=True, timeout=200)
    signature = load(tmp_path / "export").signatures["serving_default"]
    expected = np.concatenate([signature(x[: n + 1])["y"] for n in range(9)])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, atol=1e-5)
    assert b"tensorflow/serving/regress" in (tmp_path / "saved" / "saved_model.pb").read_bytes()


class Doubles(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def double(self, x):
        return {"y": x * 2.0}


def install(folder, monkeypatch, module):
    """Make a package of TensorFlow's name that this process and those that it starts find first."""
    (folder / "tensorflow_cpu-99.0.dist-info").mkdir(parents=True)
    (folder / "tensorflow_cpu-99.0.dist-info" / "METADATA").write_text(
        "Name: tensorflow-cpu\nVersion: 99.0\n"
    )
    (folder / "tensorflow.py").write_text(module)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow is installed")
def test_without_tensorflow_one_line_says_how_an_export_becomes_a_saved_model(tmp_path, caplog):
    path = str(tmp_path / "export")
    with caplog.at_level("INFO", "stratax"):
        tf.saved_model.save(Doubles(), path)
    (line,) = [each for each in caplog.messages if "TensorFlow Serving" in each]
    assert "pip install 'stratax-train[savedmodel]'" in line
    assert f'stratax.export.convert_to_saved_model("{path}", "for_tensorflow")' in line


@pytest.mark.processes
def test_an_export_that_tensorflow_can_not_write_stays_one(tmp_path, monkeypatch, caplog):
    install(tmp_path / "packages", monkeypatch, "raise RuntimeError('a broken package')")
    path = tmp_path / "export"
    tf.saved_model.save(Doubles(), path)
    (line,) = [each for each in caplog.messages if "no SavedModel besides" in each]
    assert "a broken package" in line
    assert load(path).signatures["serving_default"](x=[[1.0, 2.0]])["y"].tolist() == [[2.0, 4.0]]
    assert not [each for each in path.iterdir() if each.name.startswith((".", "saved_model", "variables"))]


@pytest.mark.processes
@needs_tensorflow
@pytest.mark.parametrize("form", ["module", "model", "estimator"])
def test_tensorflow_and_stratax_load_one_folder(form, tmp_path):
    path = tmp_path / "1"
    if form == "module":
        tf.saved_model.save(Doubles(), path)
    elif form == "model":
        keras.Sequential([keras.Input((2,), name="x"), keras.layers.Dense(3, name="y")]).export(path)
    else:

        def model_fn(features, labels, mode):
            y = tf.layers.dense(features["x"], 3)
            loss = tf.reduce_mean(y)
            train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, predictions={"y": y}, loss=loss, train_op=train_op)

        x = {"x": np.ones((4, 2), np.float32)}
        made = tf.estimator.Estimator(model_fn, str(tmp_path / "model"), quiet())
        made.train(lambda: tf.data.Dataset.from_tensor_slices((x, np.ones(4))).batch(2), steps=1)
        receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
            {"x": tf.placeholder(tf.float32, [None, 2])}
        )
        path = made.export_saved_model(tmp_path / "exports", receiver).decode()
    x = np.random.default_rng(0).random((9, 2), np.float32)
    np.save(tmp_path / "x.npy", x)
    program = SERVED.replace('(x=tf.constant(x[: n + 1]))["y"]', "(**{key: tf.constant(x[: n + 1])})[name]")
    program = program.replace("np.save(", "key, name = sys.argv[4:]\nnp.save(")
    signature = load(path).signatures["serving_default"]
    names = next(iter(signature.inputs)), next(iter(signature.outputs))
    arguments = [str(path), str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), *names]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, timeout=200)
    expected = np.concatenate([signature(x[: n + 1])[names[1]] for n in range(9)])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, atol=1e-5)


def quiet():
    # Summaries need tensorboard, which TensorFlow does without.
    return tf.estimator.RunConfig(save_summary_steps=None, log_step_count_steps=None)


# The program of docs/programs/ that learns photographs, without what it draws at random.
FLOWERS = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]


def flowers(features, labels, mode, params):
    net = features["image"]
    for filters in (4, 8):
        net = tf.layers.conv2d(net, filters, kernel_size=3, strides=2, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.reduce_mean(net, axis=[1, 2]), 5)
    probabilities = tf.nn.softmax(logits)
    class_int = tf.cast(tf.argmax(probabilities, 1), tf.int32)
    found = {"probabilities": probabilities, "classid": class_int, "class": tf.gather(FLOWERS, class_int)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"classes": tf.estimator.export.PredictOutput(found)}
        return tf.estimator.EstimatorSpec(mode, predictions=found, export_outputs=outputs)
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=tf.one_hot(labels, 5))
    )
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def pixels(contents):
    image = tf.image.decode_jpeg(contents, channels=3)
    image = tf.image.convert_image_dtype(image, dtype=tf.float32)
    image = tf.expand_dims(image, 0)
    image = tf.image.resize_bilinear(image, [40, 40], align_corners=False)
    image = tf.squeeze(image)
    image = tf.image.resize_with_crop_or_pad(image, 32, 32)
    image = tf.subtract(image, 0.5)
    return tf.multiply(image, 2.0)


def one_photograph():
    placeholders = {"image_bytes": tf.placeholder(tf.string, shape=())}
    image = pixels(tf.squeeze(placeholders["image_bytes"]))
    return tf.estimator.export.ServingInputReceiver({"image": tf.expand_dims(image, 0)}, placeholders)


def photographs():
    contents = tf.placeholder(tf.string, [None])
    images = tf.map_fn(pixels, contents, dtype=tf.float32)
    return tf.estimator.export.ServingInputReceiver({"image": images}, {"image_bytes": contents})


@pytest.mark.processes
@needs_tensorflow
@pytest.mark.parametrize("receiver", [one_photograph, photographs])
def test_photographs_are_classified_from_their_bytes(receiver, tmp_path):
    random = np.random.default_rng(0)
    images = random.random((12, 32, 32, 3), np.float32)
    made = tf.estimator.Estimator(flowers, str(tmp_path / "model"), quiet(), params={})
    made.train(
        lambda: tf.data.Dataset.from_tensor_slices(({"image": images}, np.arange(12) % 5)).batch(4), steps=2
    )
    contents = [
        encode_jpeg(np.kron(random.integers(0, 255, (9 + n, 8, 3)), np.ones((8, 9, 1))).astype(np.uint8))
        for n in range(9)
    ]
    export = made.export_saved_model(tmp_path / "export", receiver).decode()
    one = {"image_bytes"} if receiver is one_photograph else ()
    names = ("serving_default", "classes")
    check(export, {name: {"image_bytes": contents} for name in names}, tmp_path, one=one)


def example(**lists):
    kinds = {
        float: ("float_list", "FloatList"),
        int: ("int64_list", "Int64List"),
        bytes: ("bytes_list", "BytesList"),
    }
    features = {}
    for name, values in lists.items():
        if values:
            field, kind = kinds[type(values[0])]
            features[name] = tf.train.Feature(**{field: getattr(tf.train, kind)(value=values)})
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.mark.processes
@needs_tensorflow
def test_examples_of_fixed_and_varying_length_are_looked_up_in_vocabularies(tmp_path):
    words = ["red", "green", "blue"]

    def model_fn(features, labels, mode):
        given = tf.lookup.KeyValueTensorInitializer(words, [0, 1, 2], tf.string, tf.int64)
        vocabulary = tf.lookup.StaticVocabularyTable(given, 3)
        table = tf.get_variable("table", [6, 2], initializer=tf.random_normal_initializer(seed=1))
        matrix = tf.get_variable("matrix", [2, 2], initializer=tf.random_normal_initializer(seed=2))
        if mode != tf.estimator.ModeKeys.PREDICT:
            y = tf.reduce_sum(features["n"] @ matrix, axis=1) + tf.reduce_sum(tf.square(table))
            train_op = tf.train.GradientDescentOptimizer(0.1).minimize(
                tf.reduce_mean(y), tf.train.get_global_step()
            )
            return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(y), train_op=train_op)
        names = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([0, 1], ["low", "high"], tf.int64, tf.string), "?"
        )
        y = features["n"] @ matrix + tf.gather(table, vocabulary.lookup(features["color"]))
        found = {
            "y": y,
            "name": names.lookup(tf.argmax(y, axis=1)),
            "tags": tf.reduce_sum(features["tags"], axis=1),
            "color": tf.strings.upper(features["color"]),
        }
        return tf.estimator.EstimatorSpec(mode, predictions=found)

    n, color = np.ones((8, 2), np.float32), np.array(["red"] * 8)
    made = tf.estimator.Estimator(model_fn, str(tmp_path / "model"), quiet())
    made.train(lambda: tf.data.Dataset.from_tensor_slices({"n": n, "color": color}).batch(4), steps=1)
    spec = {
        "n": tf.io.FixedLenFeature([2], tf.float32),
        "color": tf.io.FixedLenFeature([], tf.string, "green"),
        "tags": tf.io.VarLenFeature(tf.string),
        "counts": tf.io.VarLenFeature(tf.int64),
    }

    def receiver():
        serialized = tf.placeholder(tf.string, [None], name="serialized")
        found = tf.io.parse_example(serialized, spec)
        tags = tf.sparse.to_dense(found["tags"], default_value="")
        known = tf.cast(tf.not_equal(tags, ""), tf.float32)
        counts = tf.reduce_sum(
            tf.cast(tf.sparse.to_dense(found["counts"]), tf.float32), axis=1, keepdims=True
        )
        features = {"n": found["n"], "color": found["color"], "tags": tf.concat([known, counts], axis=1)}
        fed = {"examples": serialized}
        return tf.estimator.export.ServingInputReceiver(features, fed, {"parsed": dict(features)})

    examples = [
        example(
            n=[n / 3, -n / 2],
            color=[b"red", b"x", b"blue"][n % 3 : n % 3 + 1] if n % 4 else [],
            tags=[b"t"] * (n % 3),
            counts=list(range(n // 2)),
        )
        for n in range(9)
    ]
    export = made.export_saved_model(tmp_path / "export", receiver).decode()
    parsed = {
        "n": np.arange(18, dtype=np.float32).reshape(9, 2),
        "color": [b"red", b"x", b"blue"] * 3,
        "tags": np.arange(27, dtype=np.float32).reshape(9, 3),
    }
    given = {"serving_default": {"examples": examples}, "parsed:serving_default": parsed}
    check(export, given, tmp_path)


@pytest.mark.processes
@needs_tensorflow
def test_feature_columns_compute_as_they_did(tmp_path):
    fc = tf.feature_column
    color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"], num_oov_buckets=2)
    place = fc.categorical_column_with_identity("place", 5, default_value=0)
    columns = [
        fc.numeric_column("age", normalizer_fn=lambda x: (x - 3.0) / 2.0),
        fc.bucketized_column(fc.numeric_column("age"), [1.0, 3.0]),
        fc.indicator_column(color),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 7), 2),
        fc.embedding_column(place, 3, combiner="sqrtn"),
        fc.indicator_column(fc.crossed_column(["word", place, color], 20)),
        fc.indicator_column(
            fc.crossed_column([fc.bucketized_column(fc.numeric_column("age"), [2.0]), "color"], 9)
        ),
    ]
    age = np.arange(12, dtype=np.float32)
    data = {
        "age": age[:, None],
        "color": np.array(["red", "green", "blue"] * 4),
        "word": np.array(["a", "b", "c"] * 4),
        "place": np.arange(12) % 5,
    }
    labels = np.array(["no", "yes", "maybe"] * 4)
    made = tf.estimator.DNNClassifier(
        [4],
        columns,
        str(tmp_path / "model"),
        n_classes=3,
        label_vocabulary=["no", "yes", "maybe"],
        config=quiet(),
    )
    made.train(lambda: tf.data.Dataset.from_tensor_slices((data, labels)).batch(4), steps=3)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        fc.make_parse_example_spec(columns)
    )
    export = made.export_saved_model(tmp_path / "export", receiver).decode()
    examples = [
        example(
            age=[float(n)],
            color=[b"red", b"other", b"green"][n % 3 : n % 3 + 1],
            word=[b"a", b"b", b"xyz"][: n % 4],
            place=[n % 5, (n + 1) % 5][: n % 3],
        )
        for n in range(9)
    ]
    given = {
        "serving_default": {"inputs": examples},
        "classification": {"inputs": examples},
        "predict": {"examples": examples},
    }
    check(export, given, tmp_path)


@pytest.mark.processes
@needs_tensorflow
def test_a_table_answers_with_text(tmp_path):
    class Translator(tf.Module):
        def __init__(self):
            super().__init__()
            keys = tf.constant(["one", "two"])
            given = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(["eins", "zwei"]))
            self.table = tf.lookup.StaticHashTable(given, "unbekannt")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2], tf.float32)])
        def translate(self, words, numbers):
            found = self.table.lookup(tf.strings.lower(words))
            return {
                "word": found,
                "both": tf.strings.join([words, found], "-"),
                "sum": tf.reduce_sum(numbers, 1),
            }

    save(Translator(), tmp_path / "export", platforms=["cpu"])
    given = {
        "words": [b"One", b"two", b"three"] * 3,
        "numbers": np.arange(18, dtype=np.float32).reshape(9, 2),
    }
    check(tmp_path / "export", {"serving_default": given}, tmp_path)

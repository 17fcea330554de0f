"""Text in programs that import `stratax.tf`: what TensorFlow's strings do, at once, in pipelines and in functions.

What operators and functions give stands in `tests/golden/surface/text_operators.json`.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import stratax.tf as tf

CLASSES = np.array(["daisy", "rose"])
PATHS = [f"/flowers/{CLASSES[number % 2]}/{number}.jpg" for number in range(40)]


def label_of(path):
    return tf.argmax(tf.strings.split(path, "/")[-2] == CLASSES), path + ".txt"


def test_labels_are_found_by_comparing_parts_of_paths_with_names_of_classes():
    elements = list(tf.data.Dataset.from_tensor_slices(PATHS).map(label_of))
    assert [int(label) for label, _ in elements] == [0, 1] * 20
    assert elements[3][1].numpy() == b"/flowers/rose/3.jpg.txt"
    ((labels, names),) = tf.data.Dataset.from_tensor_slices(PATHS).map(label_of).batch(40)
    assert (labels.numpy().tolist(), names[3].numpy()) == ([0, 1] * 20, b"/flowers/rose/3.jpg.txt")


def test_functions_in_worker_processes_get_the_same_text():
    data = tf.data.Dataset.from_tensor_slices(PATHS[:4])
    # Without a name of `tf`, a worker has no reason to import it.
    mapped = data.map(lambda path: (path == "/flowers/rose/1.jpg", "x" + path), num_processes=1)
    assert [(bool(is_it), name.numpy()) for is_it, name in mapped][:2] == [
        (False, b"x/flowers/daisy/0.jpg"),
        (True, b"x/flowers/rose/1.jpg"),
    ]


@pytest.mark.parametrize("door", ["stratax.data", "stratax.tf"])
def test_pipelines_of_programs_that_do_not_import_tf_get_plain_bytes(door):
    program = (
        f"import {door}\nfrom stratax.data import Dataset\nkinds = []\n"
        "list(Dataset.from_tensors(('a', ['b'])).map(lambda *x: (kinds.extend(type(y).__name__ for y in x), 1)[1]))\n"
        "print(kinds[:2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        check=True,
        capture_output=True,
        text=True,
    )
    kinds = ["bytes", "ndarray"] if door == "stratax.data" else ["TextScalar", "TextArray"]
    assert done.stdout == f"{kinds}\n"


def test_images_of_pipelines_have_the_methods_of_tensors():
    image = tf.io.encode_png(np.zeros((3, 2, 3), np.uint8))
    seen = []

    def decode(contents):
        made = tf.io.decode_png(contents, channels=3)
        for each in (made, tf.image.resize(made, [4, 4]), tf.image.convert_image_dtype(made, tf.float32)):
            each.set_shape([None, None, 3])
            seen.append(each.shape.as_list())
        return tf.image.resize(made, [4, 4])

    (element,) = tf.data.Dataset.from_tensors(image).map(decode)
    assert (seen[:3], element.numpy().shape) == ([[3, 2, 3], [4, 4, 3], [3, 2, 3]], (4, 4, 3))
    assert tf.image.resize(np.zeros((2, 2, 1), np.float32), [4, 4]).numpy().shape == (4, 4, 1)


def test_parsed_examples_are_tensors():
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"]))
    record = tf.train.Example(features=tf.train.Features(feature={"t": feature})).SerializeToString()
    dense, sparse = {"t": tf.io.FixedLenFeature([], tf.string)}, {"t": tf.io.VarLenFeature(tf.string)}
    assert tf.io.parse_single_example(record, dense)["t"].numpy() == b"a"
    assert tf.io.parse_example([record], dense)["t"].numpy().tolist() == [b"a"]
    assert tf.io.parse_example([record], sparse)["t"].values.numpy().tolist() == [b"a"]
    data = tf.data.Dataset.from_tensors(record)
    assert [bool(x) for x in data.map(lambda r: tf.io.parse_single_example(r, dense)["t"] == "a")] == [True]
    (batch,) = data.batch(1).map(lambda r: tf.io.parse_example(r, dense)["t"] + "!")
    assert batch.numpy().tolist() == [b"a!"]


def test_paths_that_match_a_pattern_are_an_array(tmp_path):
    (tmp_path / "a.txt").touch()
    assert tf.io.matching_files(str(tmp_path / "*")).numpy().tolist() == [str(tmp_path / "a.txt").encode()]


def test_rows_of_different_lengths_are_elements():
    rows = tf.ragged.constant([["a", "b"], [], ["c"]])
    data = tf.data.Dataset.from_tensor_slices((rows, [1, 2, 3]))
    assert data.element_spec == (tf.RaggedTensorSpec([None], tf.string, 0), tf.TensorSpec([], tf.int32))
    assert [(row.numpy().tolist(), int(y)) for row, y in data.shuffle(3, seed=1).repeat(2)].count(
        ([], 2)
    ) == 2
    ((batch, _),) = data.ragged_batch(3)
    assert batch.to_list() == rows.to_list()
    assert [len(row) for row in tf.data.Dataset.from_tensor_slices(rows[:0])] == []

"""Layers for text and categories: in pipelines, learning from Datasets, made again."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

layers = tf.keras.layers


def test_layers_learn_from_datasets_and_steps():
    data = tf.data.Dataset.from_tensor_slices(["a", "a", "b", "c"]).batch(2)
    lookup = layers.StringLookup()
    lookup.adapt(data, steps=1)
    assert lookup.get_vocabulary() == ["[UNK]", "a"]
    assert lookup.get_vocabulary(include_special_tokens=False) == ["a"]
    assert lookup.vocabulary_size() == 2
    normal = layers.Normalization(axis=None)
    normal.adapt(tf.data.Dataset.from_tensor_slices([[1.0], [3.0]]).batch(1))
    assert np.asarray(normal(np.array([[2.0]]))).tolist() == [[0.0]]
    normal.adapt(np.array([[1.0], [5.0]], np.float32))
    assert np.asarray(normal(np.array([[3.0]]))).tolist() == [[0.0]]
    bins = layers.Discretization(num_bins=2)
    bins.adapt(tf.data.Dataset.from_tensor_slices([[1.0], [2.0], [3.0], [4.0]]).batch(2), steps=2)
    assert np.asarray(bins(np.array([[1.0], [4.0]], np.float32))).tolist() == [[0], [1]]
    bins.adapt(np.array([1.0, 2.0, 3.0, 4.0]))
    assert np.asarray(bins(np.array([[1.0], [4.0]], np.float32))).tolist() == [[0], [1]]
    with pytest.raises(errors.BadArgumentError, match="num_bins"):
        layers.Discretization([0.0]).adapt([1.0])


@pytest.mark.parametrize(
    "layer",
    [
        lambda: layers.StringLookup(vocabulary=["a", "b"], mask_token="", num_oov_indices=2, salt=3),
        lambda: layers.StringLookup(vocabulary=["a"], output_mode="tf_idf", idf_weights=[2.0]),
        lambda: layers.TextVectorization(vocabulary=["a", "b"], ngrams=2, output_sequence_length=3),
        lambda: layers.Hashing(7, mask_value="", salt=[1, 2]),
    ],
)
def test_a_layer_is_made_again_of_its_configuration(layer):
    one = layer()
    again = type(one).from_config(one.get_config())
    texts = np.array(["a", "b", "c", "", "d"])
    np.testing.assert_array_equal(one(texts), again(texts))


def test_a_vocabulary_can_stand_in_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("one\ntwo\n")
    assert layers.StringLookup(vocabulary=str(path))(["two", "three"]).tolist() == [2, 0]
    path.write_text("10\n20\n")
    assert layers.IntegerLookup(vocabulary=str(path))([20, 5]).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layers.StringLookup()(["a"]), errors.BadArgumentError, "no vocabulary"),
        (
            lambda: layers.StringLookup(vocabulary=["a"])(keras.Input((1,))),
            errors.BadTypeError,
            "takes an input of dtype='string'",
        ),
        (lambda: layers.StringLookup(output_mode="x"), errors.BadArgumentError, "output_mode is one of"),
        (
            lambda: layers.StringLookup(invert=True, output_mode="count"),
            errors.BadArgumentError,
            "invert=True",
        ),
        (
            lambda: layers.StringLookup(vocabulary=["a"], max_tokens=1),
            errors.BadArgumentError,
            "at most max_tokens",
        ),
        (
            lambda: layers.StringLookup(vocabulary=["a"]).adapt(["b"]),
            errors.BadArgumentError,
            "vocabulary already",
        ),
        (lambda: layers.StringLookup(vocabulary=["a"], idf_weights=[1.0]), errors.BadArgumentError, "tf_idf"),
        (
            lambda: layers.StringLookup(vocabulary=["a"], idf_weights=[1.0, 2.0], output_mode="tf_idf"),
            errors.BadArgumentError,
            "one weight for each",
        ),
        (lambda: layers.Hashing(2, sparse=True), errors.BadArgumentError, "no sparse results"),
        (
            lambda: layers.TextVectorization(ragged=True, output_mode="count"),
            errors.BadArgumentError,
            "of numbers",
        ),
        (lambda: layers.TextVectorization(standardize="x"), errors.BadArgumentError, "standardize is"),
        (
            lambda: layers.TextVectorization(vocabulary=["a"])([["a", "b"]]),
            errors.BadArgumentError,
            "texts in one dimension",
        ),
    ],
)
def test_what_can_not_be_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_results_are_tensors_of_the_host_and_rows_stay_rows():
    lookup = tf.keras.layers.StringLookup(vocabulary=["a", "b"])
    rows = tf.ragged.constant([["a", "z"], [], ["b"]])
    assert lookup(rows).to_list() == [[1, 0], [], [2]]
    assert lookup(tf.constant("b")).numpy() == 2
    inverse = tf.keras.layers.StringLookup(vocabulary=["a", "b"], invert=True)
    assert (inverse(tf.constant(1)) == "a", (inverse([1, 2]) + "!").numpy().tolist()) == (
        True,
        [b"a!", b"b!"],
    )
    assert tf.keras.layers.Hashing(3)(["a", "b"]).numpy().shape == (2,)
    assert tf.keras.layers.TextVectorization(vocabulary=["a"])(tf.constant(["a b"])).numpy().tolist() == [
        [2, 1]
    ]
    with pytest.raises(errors.BadArgumentError, match="output_mode='int', or a dense array.*Use to_tensor"):
        tf.keras.layers.StringLookup(vocabulary=["a"], output_mode="multi_hot")(rows)


def test_vocabularies_are_read_as_keras_writes_them_on_tensorflow(tmp_path):
    (tmp_path / "vocabulary.txt").write_text("\n[UNK]\nred\nblue")
    for made in (layers.StringLookup(mask_token=""), layers.TextVectorization()):
        made.load_assets(None)
        assert made.vocabulary_size() == 2
        made.load_assets(str(tmp_path))
        assert made.get_vocabulary() == ["", "[UNK]", "red", "blue"]
    (tmp_path / "vocabulary.txt").write_text("-1\n7\n3")
    numbers = layers.IntegerLookup()
    numbers.load_assets(str(tmp_path))
    assert numbers([3, 9]).tolist() == [2, 0]

"""Text works in the functions that rearrange and compare, and no message shows all of a large value."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.data import Dataset
from stratax.errors import BadArgumentError, BadTypeError, StrataxError

JPEG = b"\xff\xd8\xff\x00" * 5000
LONGEST = 800


def same(found, expected):
    """Values, shape and kind are the same; one string is `bytes`, with a tensor's methods."""
    if isinstance(expected, bytes):
        return isinstance(found, bytes) and found.numpy() == expected
    return found.dtype == object and found.shape == np.shape(expected) and found.tolist() == expected


class TestWhatTensorFlowGives:
    """Numbers from TensorFlow 2.21."""

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (lambda: tf.reshape(b"ab", shape=[]), b"ab"),
            (lambda: tf.reshape(b"ab", [1, 1]), [[b"ab"]]),
            (lambda: tf.reshape(["a", "b"], [2, 1]), [[b"a"], [b"b"]]),
            (lambda: tf.reshape(np.array(b"ab"), [-1]), [b"ab"]),
            (lambda: tf.squeeze(b"ab"), b"ab"),
            (lambda: tf.squeeze([b"ab"]), b"ab"),
            (lambda: tf.stack([b"ab", "é"]), [b"ab", "é".encode()]),
            (lambda: tf.stack([["a"], ["b"]], axis=1), [[b"a", b"b"]]),
            (lambda: tf.expand_dims(b"ab", 0), [b"ab"]),
            (lambda: tf.expand_dims(["a"], -1), [[b"a"]]),
            (lambda: tf.concat([["a"], ["b", "c"]], 0), [b"a", b"b", b"c"]),
            (lambda: tf.gather(["a", "b"], [1, 0]), [b"b", b"a"]),
            (lambda: tf.gather(["a", "b"], jnp.array(1)), b"b"),
            (lambda: tf.where([True, False], ["a", "b"], "z"), [b"a", b"z"]),
            (lambda: tf.where(jnp.array([True, False]), ["a", "b"], "z"), [b"a", b"z"]),
            (lambda: tf.where(True, "a", "z"), b"a"),
            (lambda: tf.identity("a"), b"a"),
            (lambda: tf.stop_gradient("a"), b"a"),
            (lambda: tf.tile(["a", "b"], [2]), [b"a", b"b", b"a", b"b"]),
            (lambda: tf.repeat(["a", "b"], 2), [b"a", b"a", b"b", b"b"]),
            (lambda: tf.reverse(["a", "b"], [0]), [b"b", b"a"]),
            (lambda: tf.transpose([["a", "b"]]), [[b"a"], [b"b"]]),
            (lambda: tf.broadcast_to("a", [2]), [b"a", b"a"]),
            (lambda: tf.fill([2], "a"), [b"a", b"a"]),
            (lambda: tf.zeros([2], tf.string), [b"", b""]),
            (lambda: tf.zeros_like(["a"]), [b""]),
            (lambda: tf.zeros_like("a"), b""),
            (lambda: tf.add("a", ["b", "c"]), [b"ab", b"ac"]),
            (lambda: tf.cast("1", tf.string), b"1"),
            (lambda: tf.constant("é"), "é".encode()),
            (lambda: tf.constant([["a", "b"], ["c", "d"]]), [[b"a", b"b"], [b"c", b"d"]]),
            (lambda: tf.constant("a", shape=[2]), [b"a", b"a"]),
            (lambda: tf.constant(["a", "b"], tf.string, shape=[2, 1]), [[b"a"], [b"b"]]),
            (lambda: tf.constant(np.array(["a", "bb"])), [b"a", b"bb"]),
            (lambda: tf.convert_to_tensor(b"a"), b"a"),
        ],
    )
    def test_values(self, call, expected):
        assert same(call(), expected)

    def test_comparisons(self):
        assert tf.equal(b"ab", "ab")
        assert not tf.not_equal(b"ab", "ab")
        assert tf.equal(["a", "c"], "c").tolist() == [False, True]
        assert tf.not_equal(["a", "c"], "c").dtype == bool
        assert tf.reduce_any(tf.equal("b", ["a", "b"]))

    def test_shapes_and_lists(self):
        assert (tf.shape("abc").tolist(), tf.shape(["abc"]).tolist()) == ([], [1])
        assert (tf.rank("abc"), tf.size("abc"), tf.size(["a", "b"])) == (0, 1, 2)
        assert tf.unstack(["a", "b"]) == [b"a", b"b"]
        assert [part.tolist() for part in tf.split(["a", "b"], 2)] == [[b"a"], [b"b"]]

    def test_zero_bytes_at_the_end_stay(self):
        assert tf.reshape(JPEG, []) == JPEG
        assert tf.stack([JPEG, b"a\x00"]).tolist() == [JPEG, b"a\x00"]
        assert not tf.equal(b"a\x00", b"a")
        assert tf.reshape(np.array([b"a\x00"], object), []) == b"a\x00"


def test_records_reshape_their_bytes_in_a_pipeline():
    def read(contents, label):
        image = tf.image.decode_image(tf.reshape(contents, shape=[]), channels=3)
        return image, tf.cast(tf.reshape(label, shape=[]), dtype=tf.int32) - 1

    contents = tf.io.encode_png(np.full((2, 3, 3), 7, np.uint8))
    dataset = Dataset.from_tensor_slices(([contents] * 3, np.array([1, 2, 3]))).map(
        read, num_parallel_calls=2
    )
    images, labels = next(iter(dataset.batch(3)))
    assert images.shape == (3, 2, 3, 3)
    assert images.min() == 7
    assert labels.tolist() == [0, 1, 2]


class TestWhatTensorFlowRefuses:
    @pytest.mark.parametrize(
        "call",
        [
            lambda: tf.less(JPEG, JPEG),
            lambda: tf.maximum(np.array([JPEG], object), np.array([JPEG], object)),
            lambda: tf.reduce_max([JPEG]),
            lambda: tf.argmax(np.array([JPEG], object)),
            lambda: tf.ones_like([JPEG]),
            lambda: tf.matmul(JPEG, [[1.0]]),
            lambda: tf.nn.relu(JPEG),
            lambda: tf.nn.softmax(JPEG),
            lambda: tf.one_hot(JPEG, 3),
            lambda: tf.square(JPEG),
        ],
    )
    def test_computing_with_text(self, call):
        with pytest.raises(BadTypeError, match=r"text is none|not text or objects") as caught:
            call()
        assert len(str(caught.value)) < LONGEST
        assert "20000 bytes" in str(caught.value)

    def test_text_beside_numbers(self):
        with pytest.raises(BadTypeError, match=r"Text goes together with text only.*y=1"):
            tf.equal("a", 1)
        with pytest.raises(BadTypeError, match="lists of equal lengths"):
            tf.constant([["a", "b"], ["c"]])
        with pytest.raises(BadTypeError, match="Text goes together"):
            tf.stack(["a", 1])

    @pytest.mark.parametrize(("value", "dtype"), [(1, tf.string), (JPEG, tf.int32), ("1", tf.float32)])
    def test_conversions(self, value, dtype):
        with pytest.raises(BadTypeError, match="nothing else has it"):
            tf.constant(value, dtype)
        with pytest.raises(BadTypeError, match="neither text to numbers nor numbers to text"):
            tf.cast(value, dtype)

    def test_indices_out_of_range_on_the_host(self):
        for index in (-1, 2):
            with pytest.raises(BadArgumentError, match=r"is not in \[0, 2\)"):
                tf.gather(np.array([1, 2]), [0, index])
            with pytest.raises(BadArgumentError, match=r"is not in \[0, 2\)"):
                tf.gather(["a", "b"], index)

    def test_text_chosen_by_a_compiled_program(self):
        @sx.function
        def name_of(index):
            return tf.gather(["a", "b"], index)

        with pytest.raises(BadTypeError, match="can't be chosen by values that are known only"):
            name_of(jnp.array(1))

    def test_variables(self):
        for value in (JPEG, [JPEG], np.array([JPEG], object)):
            with pytest.raises(BadTypeError, match="A variable holds numbers") as caught:
                sx.Variable(value)
            assert len(str(caught.value)) < LONGEST
        for value in (JPEG, np.array([JPEG], object), [JPEG]):
            with pytest.raises(BadTypeError, match="A variable holds numbers") as caught:
                sx.Variable(1.0).assign(value)
            assert len(str(caught.value)) < LONGEST


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.io.read_file(JPEG[:3] * 5000),
        lambda: tf.io.decode_csv(b"x" * 20000, [0]),
        lambda: tf.io.parse_tensor(JPEG, tf.float32),
        lambda: tf.io.parse_single_example(JPEG, {"a": tf.io.FixedLenFeature([], tf.int64)}),
        lambda: tf.image.decode_jpeg([JPEG]),
        lambda: tf.io.write_file("/nowhere", [JPEG]),
        lambda: tf.squeeze(tf.constant(1.0), JPEG),
        lambda: tf.train.Checkpoint().write(JPEG),
        lambda: Dataset.from_tensor_slices(np.arange(4)).batch(JPEG),
        lambda: tf.data.TFRecordDataset("a", compression_type="x" * 20000),
        lambda: sx.distribute.MirroredStrategy(devices=["x" * 20000]),
    ],
)
def test_messages_stay_short(call):
    with pytest.raises(StrataxError, match="Received") as caught:
        call()
    assert len(str(caught.value)) < LONGEST

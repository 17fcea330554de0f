"""`tf.nn`, `tf.random` and clipping, against formulas written out in NumPy."""

import os

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError
from tests.cluster import forks

LOGITS = np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]], np.float32)
LABELS = np.array([0, 2])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_cross_entropies_are_those_of_the_definition():
    expected = -np.log(softmax(LOGITS)[[0, 1], LABELS])
    one_hot = np.eye(3, dtype=np.float32)[LABELS]
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=one_hot, logits=LOGITS)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(
        tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, LOGITS), expected, rtol=1e-5
    )
    p = 1 / (1 + np.exp(-LOGITS))
    np.testing.assert_allclose(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=one_hot, logits=LOGITS),
        -one_hot * np.log(p) - (1 - one_hot) * np.log(1 - p),
        rtol=1e-4,
    )


def test_a_cross_entropy_over_one_class_is_zero_and_so_is_its_gradient():
    logits = tf.Variable([[3.0], [-2.0]])
    with tf.GradientTape() as tape:
        losses = tf.nn.softmax_cross_entropy_with_logits(labels=tf.ones([2, 1]), logits=logits)
        loss = tf.reduce_sum(losses)
    assert str(losses.tolist()) == "[0.0, 0.0]"  # And not -0.0.
    assert tape.gradient(loss, logits).tolist() == [[0.0], [0.0]]


def test_a_cross_entropys_gradient_is_probabilities_less_labels():
    logits = tf.Variable(LOGITS)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits))
    np.testing.assert_allclose(tape.gradient(loss, logits), softmax(LOGITS) - np.eye(3)[LABELS], atol=1e-6)


def test_non_linearities_are_those_of_the_definition():
    x = LOGITS
    np.testing.assert_allclose(tf.nn.relu(x), np.maximum(x, 0))
    np.testing.assert_allclose(tf.nn.relu6(4 * x), np.clip(4 * x, 0, 6))
    np.testing.assert_allclose(tf.nn.leaky_relu(x), np.where(x > 0, x, 0.2 * x), rtol=1e-6)
    np.testing.assert_allclose(tf.nn.elu(x), np.where(x > 0, x, np.exp(x) - 1), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.silu(x), x / (1 + np.exp(-x)), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.swish(x, beta=2.0), x / (1 + np.exp(-2 * x)), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.softplus(x), np.log1p(np.exp(x)), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.gelu(np.float32(1.0)), 0.8413447, rtol=1e-5)
    np.testing.assert_allclose(tf.nn.softmax(x), softmax(x), rtol=1e-5)
    np.testing.assert_allclose(tf.nn.log_softmax(x, axis=-1), np.log(softmax(x)), rtol=1e-4)
    np.testing.assert_allclose(tf.nn.l2_loss(x), np.sum(x * x) / 2, rtol=1e-6)


def test_a_seed_fixes_all_that_follows():
    def draw():
        tf.random.set_seed(42)
        numbers = tf.random.normal((3,)), tf.random.uniform((3,)), tf.random.truncated_normal((3,))
        return [array.tolist() for array in numbers], tf.data.Dataset.range(20).shuffle(20)

    (first, shuffled), (second, shuffled_again) = draw(), draw()
    assert first == second
    assert list(shuffled.as_numpy_iterator()) == list(shuffled_again.as_numpy_iterator())
    assert tf.random.normal((3,)).tolist() != first[0]


def test_random_numbers_have_the_distribution_asked_for():
    tf.random.set_seed(0)
    normal = np.asarray(tf.random.normal([10000], mean=2.0, stddev=3.0))
    assert abs(normal.mean() - 2) < 0.15
    assert abs(normal.std() - 3) < 0.15
    truncated = np.asarray(tf.random.truncated_normal([10000], stddev=0.5))
    assert np.abs(truncated).max() <= 1.0
    uniform = np.asarray(tf.random.uniform([10000], -1.0, 3.0))
    assert -1 <= uniform.min() < -0.9
    assert 2.9 < uniform.max() < 3
    dice = np.asarray(tf.random.uniform([1000], 1, 7, dtype=tf.int32))
    assert sorted(set(dice.tolist())) == [1, 2, 3, 4, 5, 6]
    assert sorted(tf.random.shuffle(np.arange(5)).tolist()) == [0, 1, 2, 3, 4]
    assert tf.random.categorical([[0.0, 100.0]], 4).tolist() == [[1, 1, 1, 1]]
    with pytest.raises(BadArgumentError, match="need an upper end"):
        tf.random.uniform([3], dtype=tf.int32)


def test_random_numbers_of_a_compiled_function_differ_between_calls_and_replicas():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    draw = tf.function(lambda: strategy.run(lambda: tf.random.normal([2])))
    tf.random.set_seed(3)
    first, second = draw(), draw()
    tf.random.set_seed(3)
    assert draw().values[1].tolist() == first.values[1].tolist()
    rows = [tuple(part.tolist()) for value in (first, second) for part in value.values]
    assert len(set(rows)) == 4


def test_random_numbers_can_first_be_needed_anywhere():
    program = """
import stratax.tf as tf
tf.random.set_seed(5)
mirrored = tf.distribute.MirroredStrategy()
@tf.function
def draw():
    return mirrored.run(lambda: tf.nn.dropout(tf.random.uniform([4]), 0.5))
with mirrored.scope():
    values = draw()
alone = tf.distribute.OneDeviceStrategy("/cpu:0").run(lambda: tf.random.normal([2]))
tf.random.set_seed(5)
assert [v.tolist() for v in draw().values] == [v.tolist() for v in values.values]
print(len(values.values), alone.shape)
"""
    done = forks.run(["-c", program], {**os.environ, "STRATAX_SIMULATE": "cpu:2"})
    assert done.stdout.split("\n")[0] == "2 (2,)", done.stderr


def test_clipping_by_norm_scales_down_only_what_is_too_long():
    np.testing.assert_allclose(tf.clip_by_norm([3.0, 4.0], 1.0), [0.6, 0.8], rtol=1e-6)
    assert tf.clip_by_norm([3.0, 4.0], 10.0).tolist() == [3.0, 4.0]
    assert tf.clip_by_norm([0.0, 0.0], 1.0).tolist() == [0.0, 0.0]
    (a, nothing, b), norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
    assert nothing is None
    assert norm.item() == 5.0
    np.testing.assert_allclose([a[0], b[0]], [0.6, 0.8], rtol=1e-6)
    assert tf.linalg.global_norm([tf.constant([3.0]), None]).item() == 3.0


def test_averages_of_a_distributed_loop_are_those_of_the_distribute_layer():
    assert tf.nn.compute_average_loss(tf.constant([1.0, 3.0]), global_batch_size=4).item() == 1.0
    assert tf.nn.scale_regularization_loss([tf.constant(1.0), tf.constant(2.0)]).item() == 3.0


def test_the_gradient_of_sigmoid_cross_entropy_is_right_at_0():
    x = tf.Variable([0.0, 0.0, 90.0, -90.0])
    with tf.GradientTape() as tape:
        labels = [1.0, 0.0, 1.0, 0.0]
        loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x))
    np.testing.assert_allclose(tape.gradient(loss, x), [-0.5, 0.5, 0.0, 0.0], atol=1e-7)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (lambda: tf.nn.conv2d(np.ones((4, 4, 1)), np.ones((1, 1, 1, 1)), 1, "SAME"), "at least 4 dimensions"),
        (lambda: tf.nn.conv2d(np.ones((1, 4, 4, 1)), np.ones((1, 1, 1, 1)), 1, "HALF"), "padding must be"),
        (lambda: tf.nn.conv1d(np.ones((1, 4, 3)), np.ones((1, 2, 1)), 1, "SAME"), "multiple of theirs"),
        (lambda: tf.nn.conv2d(np.ones((1, 4, 4, 1)), np.ones((1, 1, 1, 1)), [1] * 3, "SAME"), "strides says"),
        (lambda: tf.nn.max_pool(np.ones((1, 4, 4, 1)), 2, 2, "SAME", "NWHC"), "data_format must be"),
        (lambda: tf.nn.avg_pool2d(np.ones((4, 4, 1)), 2, 2, "SAME"), "must have 4 dimensions"),
        (lambda: tf.nn.softmax([1, 2]), "Logits are floating-point"),
        (lambda: tf.nn.embedding_lookup(np.ones((2, 2)), [0.5]), "whole numbers"),
        (lambda: tf.nn.space_to_depth(np.ones((1, 4, 4, 1)), 1), "block_size is at least 2"),
        (lambda: tf.space_to_batch(np.ones((1, 4)), [2], [[0, -1]]), "none of them negative"),
        (
            lambda: tf.nn.conv2d_transpose(np.ones((1, 2, 2, 1)), np.ones((1, 1, 1, 1)), [1, 9, 9, 1], 2),
            "conv",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(code, what):
    with pytest.raises(BadArgumentError, match=what):
        code()


@pytest.mark.parametrize("label", [2, -1])
def test_a_label_out_of_range_raises_where_it_is_known_or_given_and_is_nan_elsewhere(label):
    labels, logits = tf.constant([0, label]), tf.constant([[1.0, 2.0], [1.0, 2.0]])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    for call in (loss, tf.function(loss)):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"Received a label value of {label} which is outside"
        ):
            call(labels, logits)
    computed = tf.function(lambda labels, logits: loss(tf.math.cumsum(labels), logits))
    assert np.isnan(computed(labels, logits)).tolist() == [False, True]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_target_that_is_no_class_is_among_no_predictions(compiled):
    function = tf.function(tf.math.in_top_k) if compiled else tf.math.in_top_k
    predictions = tf.constant([[0.1, 0.9], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]])
    assert function(tf.constant([1, -1, 7, 0]), predictions, 1).tolist() == [True, False, False, True]

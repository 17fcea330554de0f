"""Numbers out of range in what a program is given: an error before it runs, as TensorFlow's on a CPU."""

import jax
import keras
import numpy as np
import pytest

import stratax.tf as tf

STRATEGIES = {
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: tf.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)]),
    "central": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
}
ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)
LOGITS = np.zeros((8, 3), np.float32)
GOOD = np.arange(8) % 3
BAD = np.where(np.arange(8) == 5, 7, GOOD)
Error = tf.errors.InvalidArgumentError


def losses(labels, logits):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


# Each with what it is given, and what TensorFlow 2.21 says on a CPU, apart from words around it.
REFUSED = {
    "labels": (
        lambda i: losses(i, LOGITS[:2]),
        [1, 7],
        r"value of 7 .*valid range of \[0, 3\): labels\[1\] = 7",
    ),
    "labels that are no number": (
        lambda i: keras.losses.sparse_categorical_crossentropy(i, LOGITS[:2]),
        [1.0, np.nan],
        r"label value of nan .*valid range of \[0, 3\): labels\[1\] = nan",
    ),
    "negative labels": (lambda i: losses(i, LOGITS[:2]), [-1, 0], r"labels\[0\] = -1"),
    "labels of Keras": (
        lambda i: keras.losses.sparse_categorical_crossentropy(i, LOGITS[:2]),
        [1, 7],
        r"valid range of \[0, 3\)",
    ),
    "gather": (lambda i: tf.gather(ROWS, i), [1, 7], r"indices\[1\] = 7 is not in \[0, 5\)"),
    "gather of a negative one": (
        lambda i: tf.gather(ROWS, i),
        [1, -1],
        r"indices\[1\] = -1 is not in \[0, 5\)",
    ),
    "gather from columns": (
        lambda i: tf.gather(ROWS, i, axis=1),
        [1, 2],
        r"indices\[1\] = 2 is not in \[0, 2\)",
    ),
    "gather_nd": (lambda i: tf.gather_nd(ROWS, i), [[1, 1], [5, 0]], r"indices\[1\] = 5"),
    "embedding_lookup": (
        lambda i: tf.nn.embedding_lookup(ROWS, i),
        [1, 7],
        r"indices\[1\] = 7 is not in \[0, 5\)",
    ),
    "scatter_nd": (lambda i: tf.scatter_nd(i, [1.0, 2.0], [5]), [[1], [7]], r"indices\[1\] = 7"),
    "unsorted_segment_sum": (
        lambda i: tf.math.unsorted_segment_sum(ROWS, i, 3),
        [0, 0, 1, 0, 7],
        r"segment_ids\[4\] = 7",
    ),
    "confusion_matrix": (lambda i: tf.math.confusion_matrix(i, [0, 1], num_classes=2), [1, 7], "Received: 7"),
    "slice": (lambda i: tf.constant(ROWS)[i], 7, "slice index 7 of dimension 0 out of bounds"),
    "take of Keras": (
        lambda i: keras.ops.take(ROWS, i, axis=0),
        [1, -6],
        r"indices\[1\] = -6 is not in \[-5, 5\)",
    ),
    "what is shifted": (lambda i: tf.gather(ROWS, i - 1), [1, 6], r"indices\[1\] = 5 is not in \[0, 5\)"),
    "a part": (lambda i: tf.gather(ROWS, i[1:, 0]), [[9, 9], [5, 9]], r"indices\[0\] = 5 is not in \[0, 5\)"),
    "casts": (
        lambda i: losses(tf.cast(tf.cast(i, tf.float32), tf.int32), LOGITS[:2]),
        [1, 3],
        r"labels\[1\] = 3",
    ),
}
ALLOWED = {
    "last": (lambda i: tf.gather(ROWS, i), [0, 4]),
    "negative segments": (lambda i: tf.math.unsorted_segment_sum(ROWS, i, 3), [0, -1, 1, 0, 2]),
    "negative rows of Keras": (lambda i: keras.ops.take(ROWS, i, axis=0), [-5, 4]),
    "what is shifted back": (lambda i: tf.gather(ROWS, i - 5), [5, 9]),
    "the other part": (lambda i: tf.gather(ROWS, i[:, 0]), [[1, 99], [2, 99]]),
    "what is masked": (lambda i: tf.gather(ROWS, tf.where(i < 5, i, 0)), [1, 99]),
    "one_hot": (lambda i: tf.one_hot(i, 3), [1, 7]),
    "none": (lambda i: tf.gather(ROWS, i), np.zeros(0, np.int32)),
    "a branch that is not taken": (
        lambda i: tf.cond(i[0] < 9, lambda: 0.0, lambda: tf.gather(ROWS, i)[0, 0]),
        [1, 7],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_raises_as_tensorflow_does_and_assigns_nothing(name):
    compute, given, message = REFUSED[name]
    count = tf.Variable(0)

    @tf.function
    def function(i):
        count.assign_add(1)
        return compute(i)

    with pytest.raises(Error, match=message):
        function(tf.constant(given))
    assert int(count) == 0
    assert isinstance(function(tf.zeros_like(tf.constant(given)) + 1), jax.Array)
    assert int(count) == 1


@pytest.mark.parametrize("name", ALLOWED)
def test_what_tensorflow_computes_is_computed(name):
    compute, given = ALLOWED[name]
    given = tf.constant(given)
    tf.function(compute)(given)


def test_what_a_program_computes_itself_gives_nan():
    found = tf.function(lambda x: tf.gather(ROWS, tf.cast(tf.argmax(x) * 5, tf.int32)))(
        tf.constant([0.0, 1.0])
    )
    assert np.isnan(found).all()


@pytest.mark.parametrize("kind", STRATEGIES)
def test_replicas_do_not_run(kind):
    strategy = STRATEGIES[kind]()
    with strategy.scope():
        count = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    @tf.function
    def step(values):
        def replica(labels, logits):
            count.assign_add(1)
            return losses(labels, logits)

        return strategy.run(replica, args=values)

    for labels in (GOOD, BAD):
        dataset = tf.data.Dataset.from_tensor_slices((labels, LOGITS)).batch(8)
        values = next(iter(strategy.experimental_distribute_dataset(dataset)))
        if labels is GOOD:
            step(values)
        else:
            with pytest.raises(Error, match="value of 7"):
                step(values)
    assert int(count) == 1


def test_the_message_says_whose_number_it_was():
    strategy = STRATEGIES["mirrored"]()
    dataset = tf.data.Dataset.from_tensor_slices((BAD, LOGITS)).batch(8)
    values = next(iter(strategy.experimental_distribute_dataset(dataset)))
    with pytest.raises(Error, match=r"labels\[1\] = 7.*given to replica 2 of the call"):
        strategy.run(losses, args=values)


def test_loops_over_datasets_raise_where_the_element_comes():
    total = tf.Variable(0.0)
    rows = tf.data.Dataset.from_tensor_slices((BAD, LOGITS)).batch(2)

    @tf.function
    def function(dataset):
        for labels, logits in dataset:
            total.assign_add(tf.reduce_mean(losses(labels, logits)))

    with pytest.raises(Error, match=r"labels\[1\] = 7"):
        function(rows)
    assert np.isfinite(float(total))
    function(tf.data.Dataset.from_tensor_slices((GOOD, LOGITS)).batch(2))


def test_a_loop_that_ends_before_does_not_raise():
    rows = tf.data.Dataset.from_tensor_slices((BAD, LOGITS)).batch(1)

    @tf.function
    def function(dataset):
        seen = 0
        for labels, logits in dataset:
            losses(labels, logits)
            seen += 1
            if seen == 2:
                break
        return seen

    assert int(function(rows)) == 2


def test_next_raises():
    rows = iter(tf.data.Dataset.from_tensor_slices((BAD, LOGITS)).batch(4))

    @tf.function
    def function(iterator):
        return losses(*next(iterator))

    function(rows)
    with pytest.raises(Error, match=r"labels\[1\] = 7"):
        function(rows)


def test_gradients_and_loops_of_jax_are_followed():
    weights = tf.Variable(tf.zeros([3]))

    @tf.function
    def function(labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(losses(labels, LOGITS + weights))
        scanned = jax.lax.scan(lambda carry, i: (carry, tf.gather(ROWS, i)), 0.0, labels)[1]
        return tape.gradient(loss, weights), scanned, jax.vmap(lambda i: tf.gather(ROWS, i))(labels)

    function(tf.constant(GOOD))
    with pytest.raises(Error, match=r"labels\[5\] = 7"):
        function(tf.constant(BAD))
    scan = tf.function(lambda i: jax.lax.scan(lambda carry, i: (carry, tf.gather(ROWS, i)), 0.0, i)[1])
    with pytest.raises(Error, match=r"indices = 7 .*given to step 5 of the call"):
        scan(tf.constant(BAD))

"""Strategies in graphs that sessions run. The numbers are TensorFlow 2.15's."""

import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors


@pytest.fixture(scope="module")
def pair():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_an_initializable_iterator_gives_the_replicas_their_parts(pair):
    dataset = pair.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(2))
    iterator = tf.data.make_initializable_iterator(dataset)
    batch = iterator.get_next()
    total = pair.reduce("SUM", pair.run(lambda x: tf.reduce_sum(x) * 10, args=(batch,)), axis=None)
    fetches = [total, *pair.experimental_local_results(batch)]
    with tf.Session() as session:
        with pytest.raises(errors.FailedPreconditionError, match="has not been initialized"):
            session.run(total)
        for _ in range(2):
            session.run(iterator.initializer)
            assert [[each.tolist() for each in session.run(fetches)] for _ in range(2)] == [
                [10, [0], [1]],
                [50, [2], [3]],
            ]
        assert int(session.run(total)) == 90
        with pytest.raises(errors.OutOfRangeError):
            session.run(total)


def test_elements_have_structures_and_iterators_come_by_the_method(pair):
    rows = {"a": [1.0, 2.0, 3.0, 4.0]}, [1, 2, 3, 4]
    dataset = pair.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(4))
    iterator = dataset.make_initializable_iterator()
    weight = tf.get_variable("weight", initializer=2.0)

    def replica(features, label):
        return tf.reduce_sum(weight * features["a"] * tf.cast(label, tf.float32))

    made = pair.run(replica, args=iterator.get_next())
    fetches = [pair.reduce("MEAN", made, axis=None), *pair.experimental_local_results(made)]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        assert [float(each) for each in session.run(fetches)] == [30, 10, 50]


def test_replicas_take_what_is_fed(pair):
    number = tf.placeholder(tf.float32, [])
    made = pair.run(lambda x: x * 2.0, args=(number,))
    with tf.Session() as session:
        assert float(session.run(pair.reduce("SUM", made, axis=None), {number: 3.0})) == 12


def test_updates_in_replicas_and_remainders_are_refused(pair):
    with pair.scope():
        variable = tf.get_variable("variable", initializer=1.0)
    with pytest.raises(errors.UnimplementedError, match="compute, and update no variables"):
        pair.run(lambda: variable.assign_add(1.0))
    with pytest.raises(errors.UnimplementedError, match="compute, and update no variables"):
        pair.run(lambda: tf.train.GradientDescentOptimizer(0.1).minimize(variable * 2.0))
    iterator = tf.data.make_initializable_iterator(
        pair.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(3))
    )
    (first, _) = pair.experimental_local_results(iterator.get_next())
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(errors.UnimplementedError, match="divides among the replicas"):
            session.run(first)


def test_one_replica_updates_as_the_graph_does():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    variable = tf.get_variable("variable", initializer=1.0)
    made = strategy.run(lambda: variable.assign_add(1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert float(session.run(made)) == 2

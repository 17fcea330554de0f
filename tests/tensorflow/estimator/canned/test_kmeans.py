"""K-means moves centers as TensorFlow 2.15's does, on replicas as on one device, and chooses the first ones."""

import pathlib

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from tests.golden import kmeans_cases

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "kmeans.npz"
KMeans = tf.compat.v1.estimator.experimental.KMeans
POINTS = kmeans_cases.POINTS


@pytest.mark.parametrize("name", kmeans_cases.CASES)
def test_training_is_tensorflows(tmp_path, name):
    found = kmeans_cases.answers(tf, KMeans, kmeans_cases.CASES[name], str(tmp_path))
    with np.load(GOLDEN) as golden:
        wanted = {key.partition("|")[2]: golden[key] for key in golden if key.partition("|")[0] == name}
    assert sorted(found) == sorted(wanted)
    for key, value in wanted.items():
        # Squares that cancel leave few digits of small distances.
        atol = 1e-4 if key == "distances" else 1e-5
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=atol, err_msg=key)


@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        (
            "squared_euclidean",
            [(38.47832, 36.54246), (38.47832, 35.89717), (35.89717, 35.25189), (35.89717, 35.03679)],
        ),
        ("cosine", [(5.65984, 5.66523), (5.65984, 5.66703), (5.6756, 5.66883), (5.6756, 5.66943)]),
    ],
)
def test_an_iteration_of_several_batches_goes_on_in_the_next_training(tmp_path, metric, wanted):
    made = KMeans(
        4,
        str(tmp_path),
        initial_clusters=kmeans_cases.FIRST,
        distance_metric=metric,
        mini_batch_steps_per_iteration=2,
    )
    found, counts = [], []
    for _ in wanted:
        made.train(lambda: tf.data.Dataset.from_tensor_slices(POINTS).batch(8), steps=1)
        found.append([made.get_variable_value(name).sum() for name in ("clusters", "clusters_updated")])
        counts.append(
            (made.get_variable_value("update_in_steps").item(), *made.get_variable_value("Variable"))
        )
    # TensorFlow 2.15: in 8 of 8 runs, of cosine distances in 5 of 8; it reads while it writes.
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert counts == [(1, 4, 4, 0, 0), (0, 8, 8, 0, 0)] * 2


def clustered(folder, strategy=None, **arguments):
    """The centers after two steps on all points."""
    config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
    made = KMeans(4, str(folder), config=config, use_mini_batch=False, **arguments)
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    made.train(lambda: tf.data.Dataset.from_tensor_slices(POINTS).batch(32 // replicas).repeat(), steps=2)
    return made


def test_replicas_move_centers_as_one_device(tmp_path):
    first = kmeans_cases.FIRST
    one = clustered(tmp_path / "1", initial_clusters=first)
    strategy = sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    two = clustered(tmp_path / "2", strategy, initial_clusters=first)
    np.testing.assert_allclose(two.cluster_centers(), one.cluster_centers(), rtol=1e-6)


@pytest.mark.parametrize("how", ["random", "kmeans_plus_plus"])
def test_first_centers_are_points_and_the_same_for_a_seed(tmp_path, how):
    found = [
        clustered(tmp_path / str(number), initial_clusters=how, seed=5).cluster_centers() for number in (0, 1)
    ]
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0], axis=0)) > 1


def test_centers_are_chosen_of_several_batches_by_a_function(tmp_path):
    asked = []

    def choose(batches, wanted):
        asked.append(wanted)
        return batches[0][:1]

    made = KMeans(3, str(tmp_path), choose)
    data = tf.data.Dataset.from_tensor_slices(POINTS).batch(8)
    made.train(lambda: data)
    # Three of four batches were chosen of, which leaves one for a step.
    assert (asked, made.get_variable_value("global_step").item()) == ([3, 2, 1], 1)


def test_an_input_that_choosing_uses_up_is_trained_with(tmp_path):
    made = KMeans(2, str(tmp_path), use_mini_batch=False, seed=1)

    def input_fn():
        return tf.compat.v1.train.limit_epochs(tf.constant(POINTS), num_epochs=1)

    for _ in range(3):
        made.train(input_fn)
    assert made.get_variable_value("global_step").item() == 3
    assert len(list(made.predict_cluster_index(input_fn))) == len(POINTS)


def test_features_by_name_are_put_side_by_side(tmp_path):
    features = {"b": POINTS[:, 1:], "a": POINTS[:, :1]}
    made = KMeans(4, str(tmp_path), initial_clusters=kmeans_cases.FIRST, use_mini_batch=False)
    made.train(lambda: tf.data.Dataset.from_tensors(features).repeat(), steps=2)
    alone = clustered(tmp_path / "alone", initial_clusters=kmeans_cases.FIRST)
    np.testing.assert_allclose(made.cluster_centers(), alone.cluster_centers(), rtol=1e-6)


def test_points_without_a_direction_count_in_the_score_of_cosine_distances_as_tensorflows_do(tmp_path):
    points = np.array([[0, 0], [0, 1], [10, 10], [10, 11], [20, 0], [21, 0]], np.float32)
    first = np.array([[0, 0], [9, 9], [19, 1]], np.float32)
    made = KMeans(3, str(tmp_path), first, distance_metric=KMeans.COSINE_DISTANCE)
    made.train(lambda: tf.data.Dataset.from_tensors(points))
    # TensorFlow 2.15.
    np.testing.assert_allclose(made.score(lambda: tf.data.Dataset.from_tensors(points)), 0.2276, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_clusters": "best"}, "Unsupported initial_clusters"),
        ({"distance_metric": "taxi"}, "Unsupported distance_metric"),
    ],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        KMeans(2, **arguments)


@pytest.mark.parametrize("how", ["random", "kmeans_plus_plus"])
def test_fewer_points_than_clusters_are_refused(tmp_path, how):
    made = KMeans(40, str(tmp_path), how)
    with pytest.raises(errors.BadArgumentError, match="Expected: at least .*40"):
        made.train(lambda: tf.data.Dataset.from_tensors(POINTS))


def test_epochs_are_limited_to_a_positive_number():
    with pytest.raises(errors.BadArgumentError, match="num_epochs must be > 0"):
        tf.compat.v1.train.limit_epochs(tf.constant(1), num_epochs=0)

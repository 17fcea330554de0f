"""Names of TensorFlow 1 that do nothing here, or what another name does."""

import pytest

import stratax.tf as tf


@pytest.mark.parametrize(
    "name",
    [
        "disable_resource_variables",
        "disable_v2_tensorshape",
        "enable_control_flow_v2",
        "enable_tensor_equality",
    ],
)
def test_switches_are_accepted(name):
    assert getattr(tf.compat.v1, name)() is None


def test_files_have_the_functions_of_tensorflow_1(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "folder" / "file.txt"
    tf.gfile.MkDir(str(folder))
    assert tf.gfile.IsDirectory(str(folder))
    with tf.gfile.Open(str(file), "w") as opened:
        opened.write("text")
    with tf.gfile.FastGFile(str(file)) as opened:
        assert opened.read() == "text"
    assert tf.gfile.Stat(str(file)).length == 4
    tf.gfile.Rename(str(file), str(folder / "other.txt"))
    assert tf.gfile.ListDirectory(str(folder)) == ["other.txt"]
    assert list(tf.gfile.Walk(str(folder))) == [(str(folder), [], ["other.txt"])]
    tf.gfile.DeleteRecursively(str(folder))
    assert not tf.gfile.Exists(str(folder))


def test_functions_for_graphs_are_there_and_empty():
    assert not tf.compat.v1.summary.all_v2_summary_ops()
    tf.compat.v1.initialize_all_variables()


def test_the_older_names_of_datasets_do_what_the_newer_do():
    dataset = tf.data.experimental.RandomDataset(seed=1).take(3)
    assert len(list(dataset)) == 3
    structure = tf.data.experimental.get_structure(tf.data.Dataset.from_tensor_slices([1.0]))
    assert structure.shape == ()
    copied = tf.data.Dataset.range(3).apply(tf.data.experimental.copy_to_device("/cpu:0"))
    assert [int(element) for element in copied] == [0, 1, 2]
    sparse = (
        tf.data.Dataset.range(2)
        .map(lambda size: tf.ones(2))
        .apply(tf.data.experimental.dense_to_sparse_batch(2, [3]))
    )
    assert next(iter(sparse)).dense_shape.tolist() == [2, 3]


def test_functions_of_keras_2s_backend_that_tensorflow_has_dropped():
    x = tf.constant([[1.0], [3.0]])
    assert tf.keras.backend.print_tensor(x, "It is") is x
    normal, mean, variance = tf.keras.backend.normalize_batch_in_training(
        x, tf.constant([2.0]), tf.constant([0.5]), [0], epsilon=0.0
    )
    assert [value.numpy().ravel().tolist() for value in (normal, mean, variance)] == [
        [-1.5, 2.5],
        [2.0],
        [1.0],
    ]


def test_the_logger_and_the_state_of_a_generator_are_there():
    assert tf.get_logger().name == "stratax"
    assert tf.random.create_rng_state(1, "threefry").shape == tf.random.Generator.from_seed(1).state.shape


def test_keras_backend_accepts_what_says_nothing_here():
    tf.keras.backend.manual_variable_initialization(False)
    tf.keras.backend.reset_uids()


def test_a_column_of_sequences_takes_a_vocabulary_file(tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("a\nb\n")
    column = tf.feature_column.sequence_categorical_column_with_vocabulary_file("words", str(vocabulary), 2)
    assert column.num_buckets == 2


def test_the_places_of_shuffled_indices_are_a_permutation():
    places = [int(tf.random_index_shuffle(index, [1, 2, 3], 3)) for index in range(4)]
    assert sorted(places) == [0, 1, 2, 3]


def test_what_tensorflow_stacks_in_parallel_is_stacked():
    assert tf.parallel_stack([tf.constant([1.0]), tf.constant([2.0])]).numpy().tolist() == [[1.0], [2.0]]

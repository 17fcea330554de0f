"""What docs/compatibility.md says of `stratax.tf`, claim by claim, and that its list of names is complete."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax import core, errors
from stratax.base import doors
from tests import public_api
from tools import compatibility


def test_the_page_lists_every_name_there_is():
    text = compatibility.PAGE.read_text("utf-8")
    assert text == compatibility.page(text), "Run: make names"


def test_a_page_without_a_name_or_table_gets_it():
    page = compatibility.PAGE.read_text("utf-8")
    assert compatibility.page(page.replace("`abs`, ", "")) == page
    assert compatibility.page("Before.\n").startswith("Before.\n## What is different\n\n")
    assert "\n## What to write instead\n\n" in compatibility.page("Before.\n")
    assert "\n## Which names there are\n\n| module |" in compatibility.page("Before.\n")


def test_the_table_has_the_names_that_the_modules_have():
    tables = doors.read_tables("stratax.tf")
    assert {door: sorted(names) for door, names in tables.items()} == {
        module.__name__: module.__all__ for module in public_api.public_modules("stratax.tf")
    }


@pytest.mark.parametrize(
    "name",
    [
        *("tf.TFRecordDataset",),
        "tf.train.ServerDef",
    ],
)
def test_what_the_page_calls_missing_is_missing(name):
    *path, last = name.split(".")[1:]
    module = tf
    for part in path:
        module = getattr(module, part)
    with pytest.raises(AttributeError, match="docs/compatibility.md"):
        getattr(module, last)


def test_tensors_are_jax_arrays_with_tensorflows_methods():
    tensor = tf.constant([1.0])
    assert isinstance(tensor, jax.Array)
    assert (tensor.numpy().tolist(), tensor.get_shape().as_list()) == ([1.0], [1])
    assert isinstance(tensor.device, jax.Device)
    assert tf.Variable([1.0]).numpy().tolist() == [1.0]
    assert isinstance(tf.shape(tensor), np.ndarray)


def test_dtypes_are_promoted_and_narrow():
    assert (tf.constant([1]) + tf.constant([1.5])).dtype == tf.float32
    assert tf.constant(np.arange(2)).dtype == tf.int32
    with pytest.raises(errors.BadArgumentError, match="too large to convert to int32"):
        tf.constant(2**40)


def test_an_index_out_of_range_raises_in_a_compiled_function_unless_it_computes_it_itself():
    computed = tf.function(lambda params, index: tf.gather(params, index * index))
    assert np.isnan(computed(tf.constant([1.0, 2.0]), tf.constant([5]))).all()
    assert computed(tf.constant([1, 2]), tf.constant([5])).item() == np.iinfo(np.int32).min
    for gather, array in (
        (tf.gather, np.array),
        (tf.gather, tf.constant),
        (tf.function(tf.gather), tf.constant),
    ):
        with pytest.raises(errors.BadArgumentError, match=r"indices\[0\] = 5 is not in \[0, 2\)"):
            gather(array([1, 2]), array([5]))


def test_ranges_of_whole_numbers_are_those_of_loops_and_compute_as_arrays():
    assert isinstance(tf.range(3), type(core.range(3)))
    assert tf.add(tf.range(3), 1).tolist() == [1, 2, 3]
    assert tf.range(start=1, limit=7, delta=3).dtype == tf.int32
    assert tf.range(3)[None].shape == (1, 3)


def test_devices_that_do_not_exist_are_left_out():
    assert tf.distribute.MirroredStrategy(devices=["/gpu:0", "/cpu:1"]).num_replicas_in_sync == 1
    with pytest.raises(ValueError, match="no TPU"):
        tf.distribute.cluster_resolver.TPUClusterResolver()


def test_a_function_ignores_how_tensorflow_would_compile_it():
    identity = tf.function(lambda x: x, jit_compile=True, experimental_implements="identity")
    assert identity(tf.ones([2])).shape == (2,)


def test_the_gradient_of_an_embedding_is_dense():
    table = tf.Variable(np.ones((5, 2), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [1, 1, 3]))
    assert tape.gradient(loss, table).tolist() == [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]]


def test_assigning_under_a_tape_passes_the_gradient_on_in_a_compiled_function_only():
    def gradient():
        x, v = tf.constant(3.0), tf.Variable(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            v.assign(x * x)
            y = v * 2.0
        return tape.gradient(y, x)

    assert gradient() is None
    holder = tf.Variable(1.0)

    @tf.function
    def compiled(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            holder.assign(x * x)
            y = holder * 2.0
        return tape.gradient(y, x)

    assert compiled(tf.constant(3.0)).item() == 12.0


def test_the_remainder_of_a_batch_has_one_component_and_one_replica():
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(4)])
    seen = []

    def component(x):
        seen.append(tf.distribute.get_replica_context().num_replicas_in_sync)
        return tf.reduce_sum(x)

    batches = list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(11).batch(8)))
    sums = [strategy.run(component, args=(batch,)) for batch in batches]
    assert [len(value.values) for value in sums] == [4, 1]
    assert (seen[0], seen[-1]) == (4, 1)
    total = sum(strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None).item() for value in sums)
    assert total == sum(range(11))


def test_a_number_as_seed_and_a_generator_give_a_sequence():
    generator = tf.keras.random.SeedGenerator(1)
    assert tf.random.normal([2], seed=1).tolist() != tf.random.normal([2], seed=1).tolist()
    assert tf.random.normal([2], seed=generator).tolist() != tf.random.normal([2], seed=generator).tolist()


def test_what_a_pipeline_gives_is_numpys():
    ((pair, dictionary),) = tf.data.Dataset.from_tensors(([1.0, 2.0], {"a": jnp.int32(1)}))
    assert isinstance(pair, np.ndarray)
    assert dictionary["a"] == 1

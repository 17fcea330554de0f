"""Options of a Dataset."""

import pytest

import stratax.tf as tf
from stratax.data import AutoShardPolicy, Dataset, Options
from stratax.errors import BadArgumentError, BadTypeError
from tests.data.reference import as_lists


def test_options_refuse_names_and_values_that_do_not_exist():
    with pytest.raises(BadArgumentError, match="no such setting.*'deterministc'"):
        Options().deterministc = True
    with pytest.raises(BadTypeError, match=r"auto_shard_policy of .* Expected: .*AutoShardPolicy.*'DATA'"):
        Options().experimental_distribute.auto_shard_policy = "DATA"
    with pytest.raises(BadTypeError, match="deterministic of Options .* Expected: bool.*'yes' of type str"):
        Options().experimental_deterministic = "yes"
    with pytest.raises(BadTypeError, match="threading of Options .* Expected: ThreadingOptions"):
        Options().threading = 3


def test_options_show_and_compare_by_what_is_set():
    options = Options()
    assert repr(options) == "Options()"
    assert (options, hash(options)) == (Options(), hash(Options()))
    options.threading.private_threadpool_size = 2
    assert repr(options) == "Options(threading=ThreadingOptions(private_threadpool_size=2))"
    assert options != Options()
    assert options != "Options()"


def test_what_programs_of_tensorflow_set_is_taken_and_changes_no_element():
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_slack = True
    options.experimental_optimization.apply_default_optimizations = True
    options.experimental_optimization.map_and_batch_fusion = True
    options.experimental_optimization.autotune_buffers = True
    options.experimental_threading.max_intra_op_parallelism = 1
    options.experimental_threading.private_threadpool_size = 3
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.autotune.cpu_budget = 2
    threading = tf.data.experimental.ThreadingOptions()
    threading.private_threadpool_size = 4
    options.experimental_threading = threading
    dataset = tf.data.Dataset.range(6).map(lambda x: x + 1, num_parallel_calls=2).with_options(options)
    assert dataset.options() == options
    assert dataset.options().deterministic is False
    assert dataset.options().experimental_deterministic is False
    assert dataset.options().threading.private_threadpool_size == 4
    assert as_lists(dataset.batch(4)) == [[1, 2, 3, 4], [5, 6]]


def test_merging_takes_what_the_later_options_set():
    first, second = Options(), Options()
    first.deterministic = True
    first.experimental_distribute.num_devices = 4
    second.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF
    merged = first.merge(second)
    assert merged.deterministic is True
    assert merged.experimental_distribute.num_devices == 4
    assert merged.experimental_distribute.auto_shard_policy is AutoShardPolicy.OFF
    assert first.experimental_distribute.auto_shard_policy is None


def test_what_several_datasets_make_has_the_options_of_all_of_them():
    first, second = Options(), Options()
    first.threading.private_threadpool_size = 2
    first.deterministic = True
    second.deterministic = False
    a, b = Dataset.range(3).with_options(first), Dataset.range(3).with_options(second)
    for both in (
        Dataset.zip(a, b),
        a.concatenate(b),
        Dataset.zip(Dataset.range(3), a, b).map(lambda *x: x[0]),
    ):
        assert both.options() == first.merge(second)
        assert both.options().deterministic is False
    assert a.options() == first

"""`DatasetSpec`: what describes Datasets inside of elements."""

from stratax.data import Dataset, DatasetSpec, TensorSpec

PAIR = DatasetSpec((TensorSpec((None,), "int32"), TensorSpec((), "string")))


def test_a_dataset_is_described_by_the_spec_of_such_elements():
    spec = DatasetSpec.from_value(Dataset.range(3))
    assert spec == DatasetSpec(TensorSpec((), "int64"))
    assert spec.is_compatible_with(Dataset.range(5))
    assert not spec.is_compatible_with(Dataset.range(5).batch(2))
    assert not PAIR.is_compatible_with(spec)


def test_the_common_spec_has_the_sizes_that_all_have():
    fixed = DatasetSpec((TensorSpec((3,), "int32"), TensorSpec((), "string")))
    assert fixed.is_subtype_of(PAIR)
    assert not PAIR.is_subtype_of(fixed)
    assert fixed.most_specific_common_supertype([PAIR]) == PAIR
    assert PAIR.most_specific_common_supertype([DatasetSpec(TensorSpec((), "int64"))]) is None


def test_batches_of_datasets_are_told_apart_by_their_sizes():
    one, some = DatasetSpec(TensorSpec((2,), "int64")), DatasetSpec(TensorSpec((3,), "int64"), (None,))
    assert one != some
    assert not one.is_compatible_with(some)
    assert one.batched(2).is_subtype_of(DatasetSpec(TensorSpec((2,), "int64"), (None,)))
    assert not DatasetSpec(TensorSpec((2,), "int64"), (None,)).is_subtype_of(one.batched(2))
    # As TensorFlow 2.21 prints what they have in common.
    assert repr(one.most_specific_common_supertype([some])) == (
        "DatasetSpec(TensorSpec(shape=(None,), dtype=tf.int64, name=None), TensorShape(None))"
    )
    assert one.batched(4).unbatched() == one

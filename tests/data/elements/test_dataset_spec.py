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

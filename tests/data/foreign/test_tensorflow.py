"""TensorFlow's datasets are datasets."""

import pytest

from stratax.data import TensorSpec, as_dataset
from stratax.errors import DataError


class TestTensorFlow:
    @pytest.fixture
    def tf(self):
        return pytest.importorskip("tensorflow")

    def test_a_pipeline_is_read_in_order(self, tf):
        source = tf.data.Dataset.from_tensor_slices({"n": [1, 2, 3], "s": ["a", "b", "\0"]}).batch(2)
        dataset = as_dataset(source)
        assert dataset.cardinality() == 2
        assert dataset.element_spec == {"n": TensorSpec((None,), "int32"), "s": TensorSpec((None,), object)}
        assert [element["s"].tolist() for element in dataset] == [[b"a", b"b"], [b"\0"]]
        with pytest.raises(DataError, match=r"it reads tf\.data\.Dataset"):
            iter(dataset).get_state()

    def test_ragged_tensors_are_refused(self, tf):
        source = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
        with pytest.raises(DataError, match="only dense tensors"):
            as_dataset(source)

"""PyTorch's datasets and loaders are datasets."""

import numpy as np
import pytest

from stratax.data import TensorSpec, as_dataset
from stratax.errors import DataError
from tests.data.foreign.test_as_dataset import resumed_everywhere
from tests.data.reference import as_lists


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_a_loader_is_read_in_order(self, torch):
        tensors = torch.utils.data.TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
        loader = torch.utils.data.DataLoader(tensors, batch_size=2)
        dataset = as_dataset(loader)
        assert dataset.cardinality() == 3
        assert dataset.batch_size == 2
        assert dataset.element_spec == (TensorSpec((None, 2), "float32"), TensorSpec((None,), "int64"))
        assert [y.tolist() for _, y in dataset] == [[0, 1], [2, 3], [4]]
        assert all(type(x) is np.ndarray for x, _ in dataset)
        with pytest.raises(DataError, match="it reads torch DataLoader"):
            iter(dataset).get_state()

    def test_a_dataset_with_a_length_is_read_at_any_position(self, torch):
        class Squares(torch.utils.data.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return {"n": torch.tensor(index), "text": f"n{index}"}, torch.ones(2, dtype=torch.bfloat16)

        def make():
            return as_dataset(Squares()).shuffle(6, seed=1).batch(4)

        assert make().is_indexable
        first = next(iter(make()))
        assert first[1].dtype.name == "bfloat16"
        assert first[0]["text"][0].startswith(b"n")
        resumed_everywhere(make, 2)

    def test_an_iterable_dataset_is_a_stream(self, torch):
        class Count(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter([torch.tensor(i, requires_grad=False) for i in range(4)])

        dataset = as_dataset(Count())
        assert as_lists(dataset) == [0, 1, 2, 3]
        with pytest.raises(DataError, match="it reads torch IterableDataset"):
            iter(dataset).get_state()

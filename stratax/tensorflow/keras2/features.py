"""What `keras.utils.FeatureSpace` does with TensorFlow's functions, without them (keras2 layer)."""

from typing import Any

import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, PyTree
from stratax.data import Dataset
from stratax.data.vectorise import make_tensors
from stratax.errors import BadTypeError
from stratax.tensorflow.keras2.lookups import as_values, has_symbols
from stratax.tensorflow.ops.arrays.arrays import expand_dims

# How many elements of a dataset without batches are looked at together, as by Keras.
_ROWS = 32


def adapt(space: Any, dataset: PyTree) -> None:
    """Have the layers of a FeatureSpace learn from a dataset, each from its feature.

    Args:
        space: The FeatureSpace.
        dataset: A Dataset of dicts of features, batched or not, or a dict of arrays.

    Raises:
        BadTypeError: It is none of these.
    """
    if isinstance(dataset, dict):
        dataset = Dataset.from_tensor_slices(dataset)
    if not isinstance(dataset, Dataset):
        raise BadTypeError(
            "`adapt()` can only be called on a Dataset or a dict of arrays/lists. Received: "
            f"dataset={shown(dataset)}."
        )
    for name in space._list_adaptable_preprocessors():
        rank = len(dataset.element_spec[name].shape)
        feature = dataset.map(lambda x, name=name: x[name])
        feature = feature if rank else feature.batch(_ROWS)
        space.preprocessors[name].adapt(feature if rank > 1 else feature.map(lambda x: expand_dims(x, -1)))
    space._is_adapted = True
    # Finishes building the layer.
    space.get_encoded_features()
    space.built = True
    space._sublayers_built = True


def call(space: Any, data: PyTree) -> Any:
    """Return the features of a FeatureSpace, encoded: of a dict of batches, or of one example.

    Args:
        space: The FeatureSpace.
        data: By name: values, batches of them, or what stands for those in a model.

    Raises:
        BadTypeError: It is no dict.
    """
    space._check_if_built()
    if not isinstance(data, dict):
        raise BadTypeError(f"A FeatureSpace can only be called with a dict. Received: data={shown(data)}.")
    values = {name: each if has_symbols(each) else as_values(each) for name, each in data.items()}
    is_example = any(not len(each.shape) for each in values.values())
    columns = {name: _as_column(each) for name, each in values.items()}
    made = space._preprocess_features(columns)
    made = space._merge_features(made, space._cross_features(made))
    return keras.tree.map_structure(lambda each: each[0], made) if is_example else made


def _as_column(values: Array | np.ndarray) -> Any:
    if not isinstance(values, np.ndarray):
        return values if len(values.shape) != 1 else expand_dims(values, -1)
    made = values.reshape(1, 1) if not values.ndim else values[:, None] if values.ndim == 1 else values
    return make_tensors(made)

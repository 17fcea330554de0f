"""Columns of Apache Arrow as NumPy arrays, bit by bit the same (data layer)."""

from typing import Any

import numpy as np

from stratax.base.shown import cut, shown
from stratax.base.typing import PyTree
from stratax.data.elements._block import as_objects
from stratax.data.elements._spec import TensorSpec
from stratax.errors import DataError, DataLossError


def as_column(name: str, values: PyTree) -> Any:
    """Return a `pyarrow.Array` or `ChunkedArray` as an array [n, ...]; as a list where lists differ in length.

    Raises:
        DataError: It has missing values, or a type that arrays can't hold.
        DataLossError: Its values are not of its type: text that is not UTF-8, indices beyond a dictionary.
    """
    # A column in chunks is made one piece; some versions of Arrow keep it chunked.
    array = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    if hasattr(array, "chunks"):
        import pyarrow as pa

        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if array.null_count:
        raise DataError(
            f"A column of a table has missing values, which arrays can't hold. Received: column {shown(name)} with "
            f"{array.null_count} of them. Fill or drop them first."
        )
    _check_values(name, array)
    return _convert(name, array)


def _check_values(name: str, array: Any) -> None:
    """Raise unless the values are of the column's type, which whoever wrote the column may have told wrongly."""
    try:
        array.validate(full=True)
    except ValueError as e:
        raise DataLossError(
            f"The values of a column are not of its type: {cut(str(e))}. Expected: {cut(str(array.type))}, text "
            "in UTF-8. "
            f"Received: column {shown(name)}. Make the column again, as binary values if they are no text."
        ) from e


def _convert(name: str, array: Any) -> Any:
    import pyarrow.types as kinds

    kind = array.type
    if kinds.is_dictionary(kind):
        return _convert(name, array.dictionary_decode())
    # An extension type is what it is stored as.
    if hasattr(array, "storage"):
        return _convert(name, array.storage)
    if kinds.is_boolean(kind):
        # Arrow packs booleans in bits.
        return array.to_numpy(zero_copy_only=False)
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return array.to_numpy(zero_copy_only=False)
    if _is_text(kind):
        return as_objects(_as_binary(array).to_pylist())
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return _lists(name, array)
    raise _bad_type(name, kind)


def _as_binary(array: Any) -> Any:
    """Return text as the bytes that it is stored as."""
    import pyarrow as pa

    if pa.types.is_large_string(array.type):
        return array.cast(pa.large_binary())
    return array.cast(pa.binary()) if pa.types.is_string(array.type) else array


def _is_text(kind: object) -> bool:
    import pyarrow.types as kinds

    checks = (
        kinds.is_string,
        kinds.is_large_string,
        kinds.is_binary,
        kinds.is_large_binary,
        kinds.is_fixed_size_binary,
    )
    return any(check(kind) for check in checks)


def _lists(name: str, array: Any) -> Any:
    import pyarrow.compute as pc

    # `flatten` respects slices, where `values` would give all.
    values = as_column(name, array.flatten())
    lengths = np.asarray(pc.list_value_length(array))
    if len(lengths) and (lengths == lengths[0]).all() and isinstance(values, np.ndarray):
        return values.reshape(len(lengths), int(lengths[0]), *values.shape[1:])
    stops = np.cumsum(lengths).tolist()
    return [values[stop - length : stop] for stop, length in zip(stops, lengths.tolist(), strict=True)]


def spec_of_type(name: str, kind: Any) -> TensorSpec:
    """Return the spec of one value of a column of some type.

    Raises:
        DataError: It is a type that arrays can't hold.
    """
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind):
        return spec_of_type(name, kind.value_type)
    if hasattr(kind, "storage_type"):
        return spec_of_type(name, kind.storage_type)
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        import pyarrow as pa

        return TensorSpec((), pa.array([], kind).to_numpy(zero_copy_only=False).dtype)
    if _is_text(kind):
        return TensorSpec((), object)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        inner = spec_of_type(name, kind.value_type)
        size = kind.list_size if kinds.is_fixed_size_list(kind) else None
        return TensorSpec((size, *(inner.shape or ())), inner.dtype)
    raise _bad_type(name, kind)


def _bad_type(name: str, kind: object) -> DataError:
    return DataError(
        "A column of a table has a type that is no array. Expected: numbers, booleans, strings, bytes, or lists of "
        f"them. Received: column {shown(name)} of type {kind}. Choose other columns, or cast it."
    )

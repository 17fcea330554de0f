"""Specs of elements as JSON, for files that say what lies in them (data layer)."""

import collections
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree

# Imported for their kinds, which files may name.
from stratax.data.elements import _ragged_spec, _sparse  # noqa: F401
from stratax.data.elements._composite import CompositeSpec
from stratax.data.elements._dataset_spec import DatasetSpec
from stratax.data.elements._spec import TensorSpec
from stratax.errors import DataError, DataLossError


def spec_to_json(spec: PyTree) -> Any:
    """Return a structure of TensorSpec and CompositeSpec as JSON can hold it.

    Raises:
        DataLossError: A component is a Dataset.
        DataError: The structure is made of something else than tuples, namedtuples,
            dicts with strings as keys, and None.
    """
    if isinstance(spec, TensorSpec):
        shape = None if spec.shape is None else list(spec.shape)
        return {"kind": "tensor", "shape": shape, "dtype": _dtype_name(spec.dtype)}
    if isinstance(spec, CompositeSpec):
        shape = None if spec.shape is None else list(spec.shape)
        return {"kind": spec.kind, "shape": shape, "dtype": _dtype_name(spec.dtype), "details": spec.details}
    if spec is None:
        return {"kind": "none"}
    if isinstance(spec, dict) and all(isinstance(key, str) for key in spec):
        return {"kind": "dict", "parts": {key: spec_to_json(part) for key, part in spec.items()}}
    if isinstance(spec, tuple):
        found = {"kind": "tuple", "parts": [spec_to_json(part) for part in spec]}
        fields = getattr(spec, "_fields", None)
        # Without the module: a class is never looked up by a name out of a file.
        return found if fields is None else {**found, "name": type(spec).__name__, "fields": list(fields)}
    if isinstance(spec, DatasetSpec):
        raise DataLossError(
            "Datasets that are components of elements can't be written to a file, from which nobody could read them "
            f"again. Received: a component with the spec {shown(spec)}. Write their elements, as in "
            "ds.flat_map(lambda window: window), and make windows of what is read."
        )
    raise DataError(
        "Elements that are written to files are arrays and strings in tuples, namedtuples, and dicts with strings as "
        f"keys. Received: a component with the spec {shown(spec)}. Map it to one of these first."
    )


def _dtype_name(dtype: np.dtype) -> str:
    # Object arrays of elements hold byte strings and nothing else.
    if dtype.hasobject:
        return "string"
    if dtype.names is not None or dtype.kind in "SU":
        raise DataError(
            f"A component of this dtype can't be written to a file. Received: dtype={dtype}. "
            "Map it to numbers, or to an object array of bytes."
        )
    return dtype.name


def spec_from_json(value: object) -> Any:
    """Undo :func:`spec_to_json`; a namedtuple comes back as one of the same names, of a class of its own.

    Raises:
        DataError: It is not what :func:`spec_to_json` makes.
    """
    try:
        return _from_json(value)
    except (KeyError, TypeError, AttributeError, ValueError) as e:
        raise DataError(
            f"The spec in a file is damaged. Expected: what Dataset.save writes. Received: {shown(value)}."
        ) from e


def _dtype_of(name: str) -> Any:
    if name == "string":
        return object
    import ml_dtypes  # Gives NumPy the names that it does not know by itself, such as bfloat16.

    return getattr(ml_dtypes, name, name)


def _from_json(value: Any) -> Any:
    kind = value["kind"]
    if kind == "tensor":
        return TensorSpec(value["shape"], _dtype_of(value["dtype"]))
    if kind in CompositeSpec.kinds:
        of_kind: Any = CompositeSpec.kinds[kind]
        return of_kind(value["shape"], _dtype_of(value["dtype"]), **value["details"])
    if kind == "none":
        return None
    if kind == "dict":
        return {key: _from_json(part) for key, part in value["parts"].items()}
    if kind != "tuple":
        raise KeyError(kind)
    parts = [_from_json(part) for part in value["parts"]]
    if "fields" in value:
        return collections.namedtuple(value["name"], value["fields"])(*parts)
    return tuple(parts)


def spec_kind(spec: PyTree) -> Any:
    """Return what two specs have in common if the same components have the same positions, in any namedtuples."""
    value = spec_to_json(spec)
    return _without_details(value)


def _without_details(value: Any) -> Any:
    if value["kind"] == "dict":
        return {key: _without_details(part) for key, part in sorted(value["parts"].items())}
    if value["kind"] == "tuple":
        # Not the class's name: a namedtuple that was read back is of a class of its own.
        return [*value.get("fields", ()), *map(_without_details, value["parts"])]
    return value["kind"]

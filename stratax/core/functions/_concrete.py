"""`input_signature` and `get_concrete_function`: what a compiled function may be called with (core layer)."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import known


def is_spec(value: object) -> bool:
    """Return whether a value stands for a tensor by its shape and dtype."""
    return not isinstance(value, jax.Array | np.ndarray | np.generic | keras.Variable) and hasattr(
        value, "is_compatible_with"
    )


def kind_of(spec: Any) -> tuple[Any, ...]:
    """Return what is equal for specs that mean the same."""
    return (spec.shape, str(spec.dtype)) if hasattr(spec, "dtype") else (spec,)


def _fits(shape: tuple[int, ...], spec: Any) -> bool:
    return spec.shape is None or (
        len(spec.shape) == len(shape)
        and all(size is None or size == found for size, found in zip(spec.shape, shape, strict=True))
    )


def declare_argument(name: str, value: Any, spec: Any) -> Any:
    """Return an argument as what its spec says: numbers and NumPy's arrays take its dtype.

    Raises:
        BadTypeError: If a tensor has another dtype or shape.
    """
    if hasattr(spec, "part_specs"):
        return _declare_composite(name, value, spec)
    if not hasattr(spec, "dtype"):
        return _declare_dataset(name, value, spec)
    if known.is_spec_of_text(spec):
        return known.declare_text(name, value, spec, _fits)
    dtype = jax.dtypes.canonicalize_dtype(spec.dtype)
    value = value.value if isinstance(value, keras.Variable) else value
    # Of replicas: it has a component for each, and `element_spec` has the rows of all.
    given, is_divided = value, hasattr(value, "num_components")
    shape = (*(spec.shape or ())[:1], *value.shape[1:]) if is_divided else np.shape(value)
    if not is_divided and not isinstance(value, jax.Array):
        array = np.asarray(value)
        kinds = "b" if dtype.kind == "b" else "biu" if dtype.kind in "iu" else "biufcV"
        if array.dtype.kind in kinds:
            value = array.astype(dtype)
    if getattr(value, "dtype", None) != dtype or not _fits(shape, spec):
        raise errors.BadTypeError(
            f"Argument {shown(name)} of a compiled function does not fit its signature. Expected: {spec}. "
            f"Received: {shown(given)}. Cast or reshape it, or declare another tf.TensorSpec."
        )
    return value


def _declare_dataset(name: str, value: Any, spec: Any) -> Any:
    """Return an argument that is no array, but described by a spec: a Dataset."""
    if not spec.is_compatible_with(value):
        raise errors.BadTypeError(
            f"Argument {shown(name)} of a compiled function does not fit its signature. Expected: {spec}. "
            f"Received: {shown(value)}. Pass such a Dataset, or declare another spec."
        )
    return value


def _declare_composite(name: str, value: Any, spec: Any) -> Any:
    """Return an argument that is made of several arrays, such as a SparseTensor."""
    # Sizes of one that another function computes are not known.
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
        return value
    found = spec.of(value)
    canonical = jax.dtypes.canonicalize_dtype
    if found is None or canonical(found.dtype) != canonical(spec.dtype) or not _fits(found.shape, spec):
        raise errors.BadTypeError(
            f"Argument {shown(name)} of a compiled function does not fit its signature. Expected: {spec}. "
            f"Received: {shown(value)}. Pass such a value, or declare another spec."
        )
    return value


class InputSignature:
    """What the arguments of a compiled function are declared as.

    Args:
        specs: A list or tuple with a `TensorSpec`, or a nested structure of them, for each argument.
        signature: The function's own signature.

    Raises:
        BadTypeError: If it is no list of specs, or does not fit the function.
    """

    def __init__(self, specs: object, signature: inspect.Signature) -> None:
        if not isinstance(specs, list | tuple) or not all(map(is_spec, jax.tree.leaves(list(specs)))):
            raise errors.BadTypeError(
                "input_signature must be a list with a tf.TensorSpec, or a structure of them, for each argument. "
                f"Received: input_signature={shown(specs)}."
            )
        self.specs = tuple(specs)
        self._signature = signature
        self._names = self._check_names()

    def _check_names(self) -> list[str]:
        parameters = list(self._signature.parameters.values())
        if any(each.kind is each.VAR_POSITIONAL for each in parameters):
            return [f"argument {number}" for number in range(len(self.specs))]
        positional = [each for each in parameters if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]
        left = [each.name for each in positional[len(self.specs) :] if each.default is each.empty]
        if left or len(self.specs) > len(positional):
            raise errors.BadTypeError(
                "input_signature must have an entry for each argument without a default. Expected: entries for "
                f"{[each.name for each in positional]}. Received: {len(self.specs)} entries."
            )
        return [each.name for each in positional[: len(self.specs)]]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a call's arguments as they are declared.

        Raises:
            BadTypeError: If they don't fit.
        """
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise errors.BadTypeError(
                f"{str(error)[:1].upper()}{str(error)[1:]}. Expected: {self.specs}."
            ) from None
        positional = list(bound.args)
        if len(positional) > len(self.specs):
            raise errors.BadTypeError(
                f"Too many arguments for the input_signature of a compiled function. Expected: {len(self.specs)}. "
                f"Received: {len(positional)}. Leave those with a default out."
            )
        for position, (value, spec) in enumerate(zip(positional, self.specs, strict=False)):
            positional[position] = self._declare(self._names[position], value, spec)
        return tuple(positional), bound.kwargs

    def _declare(self, name: str, value: object, spec: object) -> Any:
        if is_spec(spec):
            return declare_argument(name, value, spec)
        leaves, treedef = _flatten(spec)
        try:
            values = treedef.flatten_up_to(value)
        except ValueError:
            raise errors.BadTypeError(
                f"Argument {shown(name)} of a compiled function has another structure than its signature. Expected: "
                f"{shown(spec)}. Received: {shown(value)}."
            ) from None
        found = [declare_argument(name, part, each) for part, each in zip(values, leaves, strict=True)]
        return jax.tree.unflatten(treedef, found)


class ConcreteFunction:
    """A compiled function for arguments of one kind, as `tf.function(...).get_concrete_function(...)` gives it.

    Args:
        function: Calls the compiled function.
        signature: The function's own signature.
        args: Its arguments: a spec in the place of each tensor, and constants.
        kwargs: Its keyword arguments, likewise.
        name: Its name.
        outputs: Returns the structure of results for full specs.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: inspect.Signature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
        outputs: Callable[..., Any],
    ) -> None:
        self._function = function
        self._signature = signature
        self._bound = signature.bind(*args, **kwargs)
        self._bound.apply_defaults()
        self._outputs = outputs
        self.name = name

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What it is called with, defaults too: a spec in the place of each tensor, and constants."""
        return self._bound.args, self._bound.kwargs

    @property
    def function(self) -> Any:
        """The compiled function that it is of."""
        return self._function

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The specs and constants of its arguments: those by position, and those by keyword."""
        return self._bound.args, self._bound.kwargs

    @property
    def structured_outputs(self) -> Any:
        """The shapes and dtypes of its results, in their structure.

        Raises:
            BadArgumentError: If a size of its arguments is not known.
        """
        return self._outputs(self._bound.args, self._bound.kwargs)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the function. Constants may be left out.

        Raises:
            BadTypeError: If an argument is not of its kind.
        """
        # Tensors without a name go to the places of tensors, where there are constants before them.
        given = self._by_name(args, kwargs)
        for name, value in given.items():
            given[name] = self._check(name, self._bound.arguments[name], value)
        bound = inspect.BoundArguments(self._signature, {**self._bound.arguments, **given})
        return self._function(*bound.args, **bound.kwargs)

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = list(self._bound.arguments)
        tensors = [name for name in names if any(map(is_spec, jax.tree.leaves(self._bound.arguments[name])))]
        places = names if len(args) > len(tensors) else tensors
        unknown = [name for name in kwargs if name not in names]
        given = {**dict(zip(places, args, strict=False)), **kwargs}
        missing = [name for name in tensors if name not in given]
        if unknown or missing or len(args) > len(names):
            raise errors.BadTypeError(
                f"A concrete function takes the arguments that it was made for. Expected: {tensors}. Received: "
                f"{len(args)} by position, and {sorted(kwargs)}."
            )
        return given

    def _check(self, name: str, expected: object, value: object) -> Any:
        leaves, treedef = _flatten(expected)
        try:
            parts = treedef.flatten_up_to(value)
        except ValueError:
            parts = []
        if len(parts) != len(leaves) or any(
            not is_spec(leaf) and not _is_same(leaf, part) for leaf, part in zip(leaves, parts, strict=True)
        ):
            raise errors.BadTypeError(
                f"Argument {shown(name)} of a concrete function is another than that it was made for. Expected: "
                f"{shown(expected)}. Received: {shown(value)}. Make one for this argument, or call the function."
            )
        found = [
            declare_argument(name, part, leaf) if is_spec(leaf) else leaf
            for leaf, part in zip(leaves, parts, strict=True)
        ]
        return jax.tree.unflatten(treedef, found)

    def __repr__(self) -> str:
        return f"<concrete function {self.name!r} of {self._bound.args}>"


def _flatten(structure: object) -> tuple[list[Any], Any]:
    return jax.tree.flatten(structure)


def _is_same(left: object, right: object) -> bool:
    return left is right or (type(left) is type(right) and not hasattr(left, "shape") and bool(left == right))


def is_full(spec: Any) -> bool:
    """Return whether all sizes of a spec are known; nobody knows those of a Dataset."""
    return hasattr(spec, "dtype") and spec.shape is not None and None not in spec.shape


def stand_in(spec: Any) -> np.ndarray:
    """Return an array of a spec's shape and dtype, whose values mean nothing.

    Raises:
        BadArgumentError: If a size is not known.
    """
    if known.is_spec_of_text(spec):
        raise errors.BadArgumentError(
            "What a function of text returns is known when it is called: it runs in Python. Expected: specs of "
            f"numbers. Received: {spec}. Call the function."
        )
    if not is_full(spec):
        raise errors.BadArgumentError(
            f"What a compiled function returns is known where all sizes of its arguments are. Received: {spec}. Give "
            "get_concrete_function specs with all sizes."
        )
    dtype = jax.dtypes.canonicalize_dtype(spec.dtype)
    return np.broadcast_to(np.zeros((), dtype), tuple(spec.shape))

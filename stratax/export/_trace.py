"""A function of Python as a program that runs without it: `jax.export` of what was traced (export layer)."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax import export

from stratax._shown import shown
from stratax.core import programs, regions
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.export._manifest import METHODS, TensorInfo

PLATFORMS = ("cpu", "cuda", "tpu")
_UNKNOWN_SIZE = (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation)


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedFunction:
    """A function to be exported.

    Attributes:
        function: Takes a dict of arrays, by the names of `inputs`; returns one, or a structure of arrays.
        inputs: What it takes, by name. All first dimensions that are None are one size, the number of examples; the
            others are sizes of their own.
        method: What it is for: ``"predict"``, ``"classify"`` or ``"regress"``.
    """

    function: Callable[[dict[str, Any]], Any]
    inputs: Mapping[str, TensorInfo]
    method: str = "predict"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadArgumentError(
                f"A signature's method is one of {METHODS}. Received: {shown(self.method)}."
            )


@dataclasses.dataclass(frozen=True, slots=True)
class Traced:
    """A function that was traced and compiled for all platforms.

    Attributes:
        payloads: The program, serialized, for each platform: one for all would choose among its parts at run time.
        variables: The variables that come before its arguments, in order.
        outputs: What it gives, by name.
    """

    payloads: dict[str, bytes]
    variables: list[keras.Variable]
    outputs: dict[str, TensorInfo]


def traced(name: str, signature: ExportedFunction, platforms: Sequence[str]) -> Traced:
    """Trace and compile a function.

    Args:
        name: The signature's name, for errors.
        signature: The function.
        platforms: What it is compiled for.

    Raises:
        BadArgumentError: It changes variables, or gives nothing.
        TracingError: It does something that no compiled program does, or needs sizes that are not known.
    """
    specs = _specs(signature.inputs)
    region = regions.ProgramRegion()
    names: list[str] = []

    def body(arrays: list[Any]) -> list[Any]:
        with region:
            found = _named(name, signature.function(dict(zip(signature.inputs, arrays, strict=True))))
            names[:] = found
            return list(found.values())

    try:
        closed, shapes = jax.make_jaxpr(body, return_shape=True)(specs)
    except _UNKNOWN_SIZE as error:
        raise _needs_sizes(name, error) from error
    _check_region(name, region)
    if programs.calls_back(closed.jaxpr):
        raise TracingError(
            f"Signature {shown(name)} calls Python while it runs (tf.py_function, tf.print or an assertion), which an "
            "export has not. Expected: a function of arrays alone. Leave that out of the exported function."
        )
    flat = programs.lift_inputs(closed, len(region.inputs))

    def run(weights: list[Any], arguments: list[Any]) -> list[Any]:
        return list(flat(*weights, *arguments))

    run.__name__ = name if name.isidentifier() else "signature"
    weights = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in region.inputs]
    payloads = {}
    for platform in platforms:
        try:
            exported = export.export(jax.jit(run), platforms=[platform])(weights, specs)
        except _UNKNOWN_SIZE as error:
            raise _needs_sizes(name, error) from error
        payloads[platform] = bytes(exported.serialize())
    outputs = {
        each: TensorInfo(np.dtype(spec.dtype).name, tuple(_known_size(size) for size in spec.shape))
        for each, spec in zip(names, shapes, strict=True)
    }
    return Traced(payloads, list(region.inputs), outputs)


def _specs(inputs: Mapping[str, TensorInfo]) -> list[jax.ShapeDtypeStruct]:
    scope = export.SymbolicScope()
    specs = []
    for index, (name, info) in enumerate(inputs.items()):
        if info.numpy_dtype.kind == "O":
            raise BadTypeError(
                f"A compiled function takes no text. Expected: numbers. Received: input {shown(name)} of {info}."
            )
        sizes = [
            str(size) if size is not None else "batch" if axis == 0 else f"size{index}_{axis}"
            for axis, size in enumerate(info.shape)
        ]
        # A trailing comma: of one size, too, a tuple.
        shape = export.symbolic_shape(",".join(sizes), scope=scope) if sizes else ()
        dtype = jax.dtypes.canonicalize_dtype(info.numpy_dtype)
        specs.append(jax.ShapeDtypeStruct(shape, dtype))
    return specs


def _named(name: str, result: Any) -> dict[str, Any]:
    """Return results by name, as TensorFlow names those of a signature."""
    if isinstance(result, Mapping):
        found = {str(key): value for key, value in result.items()}
        if any(isinstance(value, Mapping | list | tuple) for value in found.values()):
            found = _flattened(found)
    else:
        leaves = jax.tree.leaves(result)
        found = {f"output_{index}": leaf for index, leaf in enumerate(leaves)}
    if not found:
        raise BadArgumentError(f"Signature {shown(name)} gives nothing. Expected: arrays, by name.")
    return {key: jax.numpy.asarray(value) for key, value in found.items()}


def _flattened(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "_".join(str(getattr(part, "key", getattr(part, "idx", part))) for part in path): leaf
        for path, leaf in jax.tree_util.tree_flatten_with_path(dict(tree))[0]
    }


def _check_region(name: str, region: regions.ProgramRegion) -> None:
    changed = [variable.path for variable in region.writes.values()]
    if changed or region.created:
        what = f"assigns {shown(changed[0])}" if changed else f"creates {shown(region.created[0].path)}"
        raise BadArgumentError(
            f"Signature {shown(name)} changes variables, which an export keeps as they are: it {what}. Expected: a "
            "function that reads them only. Build the model before, and call it with training=False."
        )
    others = [each for each in region.inputs if not isinstance(each, keras.Variable)]
    if others or region.loops or region.passes or region.feeds:
        raise TracingError(
            f"Signature {shown(name)} draws random numbers of the program's state, or takes elements of a dataset, "
            "which an export has not. Expected: a function of its inputs and of variables."
        )


def _needs_sizes(name: str, error: Exception) -> TracingError:
    return TracingError(
        f"Signature {shown(name)} can't be compiled for any number of examples: {str(error)[:300]} Give sizes where "
        "the input's shape has None, a fixed batch size for instance."
    )


def _known_size(size: Any) -> int | None:
    return int(size) if isinstance(size, int | np.integer) else None

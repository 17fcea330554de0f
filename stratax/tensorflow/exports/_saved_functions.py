"""Compiled functions of an object that is saved: what they were traced for, as programs (export layer).

Unlike a signature, such a function may change variables, takes and gives structures, and can be differentiated.
"""

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax import export

from stratax.base.shown import shown
from stratax.base.tracing import as_numbers
from stratax.core import Function, jaxprs, programs, regions
from stratax.core.functions import ConcreteFunction, is_spec, kinds_of
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.export.parts import find_used_arguments, is_seed, naming_sizes, spec_of
from stratax.seams.jax import without_source_files
from stratax.tensorflow.exports._structures import decode_structure, encode_structure


@dataclasses.dataclass(frozen=True, slots=True)
class ArgumentKind:
    """Arguments of one kind that a function is saved for.

    Attributes:
        arguments: For each parameter, a structure with a spec in each tensor's place.
        call: Calls the function with the arguments, by parameter.
        alternatives: Constants that some parameters may have instead.
    """

    arguments: dict[str, Any]
    call: Callable[[dict[str, Any]], Any]
    alternatives: tuple[dict[str, Any], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Saved:
    """A function that is saved.

    Attributes:
        signature: Its parameters.
        kinds: What it is saved for.
        is_declared: Whether it says itself what it takes.
    """

    signature: inspect.Signature
    kinds: Sequence[ArgumentKind]
    is_declared: bool = False


def of_function(function: Function) -> Saved:
    """Return a compiled function for what it declares, or else what it was traced for.

    Args:
        function: The function; of a method, that of an object.
    """
    signature = _without_annotations(inspect.signature(function.python_function))
    kinds = kinds_of(function)
    if function.input_signature is not None:
        kinds = [(function.input_signature, {})]
    is_declared = function.input_signature is not None
    return Saved(signature, [_kind(function, signature, *each) for each in kinds], is_declared)


def of_concrete(concrete: ConcreteFunction) -> Saved:
    """Return a concrete function for what it was made for."""
    signature = _without_annotations(inspect.signature(concrete.function.python_function))
    return Saved(signature, [_kind(concrete.function, signature, *concrete.arguments)])


def of_model(model: keras.Model, inputs: object, name: str = "inputs") -> Saved:
    """Return a model's prediction.

    Args:
        model: The model, which is built.
        inputs: Its inputs: a structure of specs.
        name: The parameter's name.
    """
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    training = inspect.Parameter("training", positional, default=False)
    signature = inspect.Signature([inspect.Parameter(name, positional), training])

    def call(arguments: dict[str, Any]) -> Any:
        return model(arguments[name], training=False)

    return Saved(signature, [ArgumentKind({name: inputs, "training": False}, call, ({"training": None},))])


def of_endpoint(model: keras.Model, inputs: object) -> Saved:
    """Return a model's prediction as Keras exports it, which takes its inputs by position alone.

    Args:
        model: The model, which is built.
        inputs: Its inputs: a structure of specs.
    """
    parameter = inspect.Parameter("args_0", inspect.Parameter.POSITIONAL_ONLY)

    def call(arguments: dict[str, Any]) -> Any:
        return model(arguments["args_0"], training=False)

    return Saved(inspect.Signature([parameter]), [ArgumentKind({"args_0": inputs}, call)])


def _kind(function: Function, signature: inspect.Signature, args: Any, kwargs: Any) -> ArgumentKind:
    bound = signature.bind(*args, **kwargs)
    if function.input_signature is None:
        bound.apply_defaults()

    def call(arguments: dict[str, Any]) -> Any:
        given = inspect.BoundArguments(signature, arguments)  # type: ignore[arg-type]
        return function(*given.args, **given.kwargs)

    return ArgumentKind(dict(bound.arguments), call)


def _without_annotations(signature: inspect.Signature) -> inspect.Signature:
    empty = inspect.Parameter.empty
    return signature.replace(
        parameters=[each.replace(annotation=empty) for each in signature.parameters.values()],
        return_annotation=empty,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """A function that was compiled for arguments of a kind.

    Attributes:
        payloads: The program, serialized, for each platform.
        is_differentiable: Whether they hold its derivative, too.
        variables: The variables that come before its arguments.
        assigned: Those that its last results are assigned to.
        arguments: The structure of each parameter's argument, encoded.
        inputs: What the tensors among them are.
        results: The structure of the results, encoded.
        outputs: What the tensors among them are.
    """

    payloads: dict[str, bytes]
    is_differentiable: bool
    variables: list[keras.Variable]
    assigned: list[keras.Variable]
    arguments: list[list[Any]]
    inputs: list[dict[str, Any]]
    results: dict[str, Any]
    outputs: list[dict[str, Any]]

    @property
    def is_flat(self) -> bool:
        """Whether it gives arrays, or a list, tuple or dict of them."""
        ((kind, value),) = self.results.items()
        parts = [part for _, part in value] if kind == "dict" else value
        return kind == "tensor" or (
            kind != "constant" and bool(parts) and all("tensor" in part for part in parts)
        )

    @property
    def gives_text(self) -> bool:
        """Whether text that is the same in each call is among what it gives."""
        return any(isinstance(leaf, str) for leaf in jax.tree.leaves(decode_structure(self.results, _Number)))

    def input_names(self) -> dict[str, int]:
        """Return the tensors' numbers by the names that a signature gives them: the specs', or their places.

        Raises:
            BadArgumentError: Two have one name.
        """
        # One by one: JAX sorts the keys of a dict.
        places = [
            place
            for name, tree in self.arguments
            for place in _places({name: decode_structure(tree, _Number)})
        ]
        names = [self.inputs[number]["name"] or place for place, number in places]
        if len(set(names)) < len(names):
            raise BadArgumentError(f"Inputs of a signature have one name twice: {', '.join(names)}.")
        return {name: number for name, (_, number) in zip(names, places, strict=True)}

    def output_names(self) -> dict[str, int]:
        """Return the numbers of the results by the names that a signature gives them: keys, or `output_0` and so on."""
        structure = decode_structure(self.results, _Number)
        places = _places(structure)
        if isinstance(structure, dict):
            return dict(places)
        return {f"output_{index}": number for index, (_, number) in enumerate(places)}


class _Number(int):
    """The number of a tensor, among constants that are numbers, too."""


def _places(structure: object) -> list[tuple[str, int]]:
    """Return where tensors are, as text, and their numbers."""
    return [
        ("_".join(str(getattr(part, "key", getattr(part, "idx", part))) for part in path), int(leaf))
        for path, leaf in jax.tree_util.tree_flatten_with_path(structure)[0]
        if isinstance(leaf, _Number)
    ]


def compile_function(name: str, kind: ArgumentKind, platforms: Sequence[str]) -> Compiled:
    """Trace and compile a function.

    Args:
        name: Its name, for errors.
        kind: The function, and what it is compiled for.
        platforms: What it is compiled for.

    Raises:
        BadArgumentError: It creates variables, or the rank of an argument is not known.
        BadTypeError: It takes or gives what can't be saved.
        TracingError: It does something that no compiled program does, or needs sizes that are not known.
    """
    specs: list[Any] = []

    def number_leaf(leaf: object) -> int | None:
        if not is_spec(leaf):
            return None
        specs.append(leaf)
        return len(specs) - 1

    arguments: list[list[Any]] = [
        [
            parameter,
            encode_structure(
                value, number_leaf, what=f"Argument {shown(parameter)} of the function {shown(name)}"
            ),
        ]
        for parameter, value in kind.arguments.items()
    ]
    shapes = _shapes(name, specs)
    region = regions.ProgramRegion()
    results: list[Any] = []

    def body(arrays: list[Any]) -> list[Any]:
        with region:
            given = {parameter: decode_structure(tree, arrays.__getitem__) for parameter, tree in arguments}
            outputs: list[Any] = []
            results[:] = [_result(name, kind.call(given), outputs)]
            return [*outputs, *(region.final_value(each) for each in region.writes.values())]

    with naming_sizes(f"The function {shown(name)}"):
        closed, made = jax.make_jaxpr(body, return_shape=True)(shapes)
    _check(name, region, closed)
    changed = list(region.writes.values())
    kept = _find_kept(closed, region, shapes, changed)
    assigned = list(itertools.compress(changed, kept[len(kept) - len(changed) :]))
    made = list(itertools.compress(made, kept))
    payloads, is_differentiable = _payloads(name, closed, region, shapes, platforms, kept)
    return Compiled(
        payloads=payloads,
        is_differentiable=is_differentiable,
        variables=list(region.inputs),
        assigned=assigned,
        arguments=arguments,
        inputs=[_describe(spec, getattr(spec, "name", None)) for spec in specs],
        results=results[0],
        outputs=[_describe(each, None) for each in made[: len(made) - len(assigned)]],
    )


def _find_kept(
    closed: Any, region: regions.ProgramRegion, shapes: list[Any], changed: list[keras.Variable]
) -> list[bool]:
    """Return which results are needed: not the states of generators if nothing of what was drawn is used.

    Recurrent layers of Keras draw the masks of their dropout in predictions, too.
    """
    outputs = [True] * (len(closed.jaxpr.outvars) - len(changed))
    if not any(map(is_seed, changed)):
        return [*outputs, *(True for _ in changed)]
    flat = jaxprs.lift_inputs(closed, len(region.inputs))
    wanted = [*outputs, *(not is_seed(each) for each in changed)]
    is_used = find_used_arguments(flat, [*map(spec_of, region.inputs), *shapes], wanted)
    drawn = {id(each) for each, used in zip(region.inputs, is_used, strict=False) if used}
    return [*outputs, *(not is_seed(each) or id(each) in drawn for each in changed)]


def _payloads(
    name: str,
    closed: Any,
    region: regions.ProgramRegion,
    shapes: list[Any],
    platforms: Sequence[str],
    kept: list[bool],
) -> tuple[dict[str, bytes], bool]:
    flat = jaxprs.lift_inputs(closed, len(region.inputs))

    def run(weights: list[Any], arguments: list[Any]) -> list[Any]:
        return list(itertools.compress(flat(*weights, *arguments), kept))

    run.__name__ = name if name.isidentifier() else "function"
    weights = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in region.inputs]
    payloads, is_differentiable = {}, True
    with without_source_files():
        for platform in platforms:
            with naming_sizes(f"The function {shown(name)}"):
                program = export.export(jax.jit(run), platforms=[platform])(weights, shapes)
            try:
                payloads[platform] = bytes(program.serialize(vjp_order=1))
            except Exception:  # Whatever JAX can't differentiate: the function can still be called.
                is_differentiable = False
                payloads[platform] = bytes(program.serialize())
    return payloads, is_differentiable


def _result(name: str, result: object, outputs: list[Any]) -> dict[str, Any]:
    """Return a function's result, encoded, and note its arrays; numbers become arrays, as TensorFlow's do."""

    def number_leaf(leaf: object) -> int | None:
        if isinstance(leaf, keras.Variable):
            leaf = leaf.value
        leaf = as_numbers(leaf)
        is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float)
        if not is_array or getattr(leaf, "dtype", np.dtype(bool)).kind in "OSU":
            return None
        outputs.append(jax.numpy.asarray(leaf))
        return len(outputs) - 1

    def tensors(value: object) -> Any:
        if isinstance(value, dict):
            return {key: tensors(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return (
                [tensors(part) for part in value] if isinstance(value, list) else tuple(map(tensors, value))
            )
        return np.asarray(value) if isinstance(value, bool | int | float) else value

    return encode_structure(tensors(result), number_leaf, what=f"What the function {shown(name)} returns")


def _shapes(name: str, specs: list[Any]) -> list[jax.ShapeDtypeStruct]:
    scope = export.SymbolicScope()
    made = []
    for index, spec in enumerate(specs):
        if spec.shape is None:
            raise BadArgumentError(
                f"The function {shown(name)} is saved for tensors with a known number of dimensions. Received: "
                f"{shown(spec)}. Give its shape, with None for sizes that may be any."
            )
        if np.dtype(spec.dtype).hasobject or np.dtype(spec.dtype).kind in "SU":
            raise BadTypeError(
                f"A compiled function takes no text. Expected: numbers. Received: {shown(spec)} in the function "
                f"{shown(name)}. Give what takes text as signatures."
            )
        # All first sizes that may be any are one, the number of examples, as those of signatures.
        sizes = [
            str(size) if size is not None else "batch" if axis == 0 else f"size{index}_{axis}"
            for axis, size in enumerate(spec.shape)
        ]
        shape = export.symbolic_shape(",".join(sizes), scope=scope) if sizes else ()
        made.append(jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(spec.dtype)))
    return made


def _check(name: str, region: regions.ProgramRegion, closed: Any) -> None:
    if region.created:
        raise BadArgumentError(
            f"The function {shown(name)} creates variables: {shown(region.created[0].path)}. Expected: a function that "
            "was called, so that its variables are there. Call it once, or build the model, before it is saved."
        )
    others = [each for each in region.inputs if not isinstance(each, keras.Variable)]
    if others or region.loops or region.passes or region.feeds:
        raise TracingError(
            f"The function {shown(name)} draws random numbers of the program's state, or takes elements of a dataset, "
            "which a saved function has not. Expected: a function of its arguments and of variables."
        )
    if programs.calls_back(closed.jaxpr):
        raise TracingError(
            f"The function {shown(name)} calls Python while it runs (tf.py_function, tf.print or an assertion), which "
            "is not there when it is loaded. Leave that out of what is saved."
        )


def _describe(spec: Any, name: str | None) -> dict[str, Any]:
    shape = [int(size) if isinstance(size, int | np.integer) else None for size in spec.shape]
    return {"dtype": np.dtype(jax.dtypes.canonicalize_dtype(spec.dtype)).name, "shape": shape, "name": name}

"""`tf.saved_model.load`: an object that was saved, with its functions and variables (export layer)."""

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.core import Function, Variable, regions
from stratax.core.functions import declare_argument
from stratax.data.elements import TensorSpec
from stratax.errors import (
    BadArgumentError,
    BadTypeError,
    DataLossError,
    FileMissingError,
    TracingError,
    UnimplementedError,
)
from stratax.export.parts import (
    Folder,
    LoadedSignature,
    SignatureInfo,
    TensorInfo,
    contains,
    deserialize,
    find_dtype,
    find_platform,
    platform_of,
    refuse_foreign,
)
from stratax.tensorflow.exports import _object_file
from stratax.tensorflow.exports._saved_options import LoadOptions
from stratax.tensorflow.exports._structures import decode_structure, match_structure
from stratax.tensorflow.ops.calls.creation import constant

_SERVE = "serve"


def contains_saved_model(export_dir: str | bytes | os.PathLike[Any]) -> bool:
    """Return whether `load` finds something in a folder: what `save` or `stratax.export.save` has written.

    Args:
        export_dir: The folder.
    """
    return contains(os.fsdecode(export_dir))


def load(
    export_dir: str | bytes | os.PathLike[Any], tags: Any = None, options: LoadOptions | None = None
) -> "LoadedObject":
    """Load what `save` has saved, as `tf.saved_model.load`.

    Variables are those of the scope in which it is called, and may be assigned and trained. Functions may be called in
    `tf.function`, `Strategy.run` and under a `GradientTape`, too; they take what they were saved for.

    Args:
        export_dir: The folder; also one that `stratax.export.save` has written, which has signatures alone.
        tags: None, or those that it was saved with: ``"serve"``.
        options: Accepted for programs that were carried over.

    Returns:
        An object with what the saved one had in its attributes, and with `signatures`.

    Raises:
        BadArgumentError: It has other tags.
        DataLossError: It is damaged, or of a newer format.
        DeviceError: It was not made for what JAX computes on here.
        FileMissingError: There is nothing.
        UnimplementedError: TensorFlow or `model.save` has written it.
    """
    del options
    # Estimators give the folder of an export as bytes.
    path = os.fsdecode(export_dir)
    if not contains(path):
        _refuse(path)
    folder = Folder(path)
    body = _object_file.read(folder)
    found = [_SERVE] if body is None else body["tags"]
    wanted = [tags] if isinstance(tags, str) else tags
    if wanted is not None and set(wanted) != set(found):
        raise BadArgumentError(
            f"The export at {shown(folder.path)} has other tags. Expected: None, or {found}. Received: "
            f"tags={shown(tags)}."
        )
    try:
        return _Loader(folder, body).root()
    except (KeyError, IndexError, AttributeError) as error:
        raise DataLossError(
            f"The export at {shown(folder.path)} is damaged: {_object_file.OBJECT} makes no sense "
            f"({type(error).__name__}: {error})."
        ) from error


def _refuse(path: str) -> None:
    refuse_foreign(path)
    raise FileMissingError(
        f"There is no saved model at {shown(path)}. Expected: a folder that tf.saved_model.save or "
        "stratax.export.save has written."
    )


class LoadedObject:
    """An object that was loaded: its attributes are those of the saved one, as far as they were saved.

    Attributes:
        signatures: What can be called by name, with tensors by name.
    """

    signatures: "SignatureMap"
    # Writes it into a folder as TensorFlow wrote it, with the present values of its variables.
    _stratax_save_again: Callable[[str], None] | None = None

    def __init__(self) -> None:
        self._stratax_variables: list[Any] = []

    @property
    def variables(self) -> list[Any]:
        """The variables, in the order in which they were saved."""
        return list(self._stratax_variables)

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of the variables that are trained."""
        return [each for each in self._stratax_variables if each.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The other variables."""
        return [each for each in self._stratax_variables if not each.trainable]

    def __repr__(self) -> str:
        names = [name for name in vars(self) if not name.startswith("_")]
        return f"<loaded object with {', '.join(names) or 'nothing'}>"


class CallableObject(LoadedObject):
    """A loaded object that was saved with a compiled `__call__`."""

    _stratax_call: "LoadedFunction"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._stratax_call(*args, **kwargs)


class SignatureMap(Mapping[str, Any]):
    """The signatures of a loaded object, by name.

    Args:
        signatures: The signatures.
    """

    def __init__(self, signatures: Mapping[str, Any]) -> None:
        self._signatures = dict(signatures)

    def __getitem__(self, name: str) -> Any:
        return self._signatures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"


class AnyProgram(Protocol):
    """What a loaded function calls.

    Attributes:
        name: Its name, for errors.
    """

    name: str

    @property
    def inputs(self) -> list[Any]:
        """What it takes, in order."""

    @property
    def outputs(self) -> list[Any]:
        """What it gives, in order."""

    @property
    def variables(self) -> list[Any]:
        """The variables that it reads."""

    def look(self) -> None:
        """Look whether it can be computed here."""

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Return its results."""


@dataclasses.dataclass(slots=True)
class _Program:
    """A compiled function that was loaded.

    Attributes:
        name: Its name, for errors.
        inputs: What it takes, in order.
        outputs: What it gives, in order.
        variables: Those that come before its arguments.
        run: Returns its results for arrays that fit.
    """

    name: str
    inputs: list[TensorSpec]
    outputs: list[TensorSpec]
    variables: list[Any]
    run: Callable[..., list[Any]]

    def look(self) -> None:
        """Nothing: what was loaded is compiled."""

    def __call__(self, arrays: list[Any]) -> list[Any]:
        try:
            return list(self.run(*arrays))
        except ValueError as error:
            # As JAX says that sizes which may be any do not fit together, or are 0.
            if "polymorphic shapes" not in str(error):
                raise
            raise BadArgumentError(
                f"The function {shown(self.name)} can't be computed for these shapes together. Expected: "
                f"{self.inputs}, where sizes are at least 1. Received: {[np.shape(each) for each in arrays]}."
            ) from error


class LoadedFunction:
    """A function of a loaded object, for each kind of arguments that it was saved for.

    Args:
        name: Its name.
        signature: Its parameters.
        kinds: For each kind, structures of arguments by parameter, the program and the structure of results.
        problem: Why it was saved without programs; None if it was not.
    """

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        kinds: Sequence[tuple[dict[str, Any], AnyProgram, Mapping[str, Any]]],
        problem: str | None,
    ) -> None:
        self._name = name
        self.__name__ = name
        self._signature = signature
        self._kinds = kinds
        self._problem = problem

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            BadTypeError: It was not saved for such arguments.
            TracingError: It was saved without its program.
        """
        if self._problem is not None and not self._kinds:
            raise self._without_program()
        given = self._bind(args, kwargs)
        # As they are, if one kind takes them so; else as what the first kind that can makes of them.
        for convert in (_fitting, _convert):
            for trees, program, results in self._kinds:
                found: dict[int, Any] = {}
                if given.keys() == trees.keys() and all(
                    match_structure(tree, given[name], found) for name, tree in trees.items()
                ):
                    arrays = convert([found[index] for index in range(len(program.inputs))], program.inputs)
                    if arrays is not None:
                        return decode_structure(results, program(arrays).__getitem__)
        if self._problem is not None:
            raise self._without_program()
        raise BadTypeError(
            f"The function {shown(self._name)} was not saved for these arguments. Expected: {self._expect()}. "
            f"Received: {', '.join(f'{name}={shown(value)}' for name, value in given.items()) or 'none'}. Call it with "
            "such arguments before it is saved, or declare an input_signature."
        )

    def _without_program(self) -> TracingError:
        return TracingError(
            f"The function {shown(self._name)} was saved without its program. {self._problem} What takes text is "
            "called by its signature, if it was given one: loaded.signatures."
        )

    @property
    def variables(self) -> list[Any]:
        """The variables that it reads."""
        found = [variable for _, program, _ in self._kinds for variable in program.variables]
        return list({id(variable): variable for variable in found}.values())

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise BadTypeError(
                f"The function {shown(self._name)} does not take these arguments: {error}. Expected: "
                f"{self._expect()}."
            ) from None
        bound.apply_defaults()
        if not self._kinds:
            return dict(bound.arguments)
        wanted = {name for trees, _, _ in self._kinds for name in trees}
        # Parameters with a default, of which a declared function does not say what they are.
        return {name: value for name, value in bound.arguments.items() if name in wanted}

    def _expect(self) -> str:
        kinds = [
            ", ".join(
                f"{name}={decode_structure(tree, program.inputs.__getitem__)!r}"
                for name, tree in trees.items()
            )
            for trees, program, _ in self._kinds
        ]
        return " or ".join(f"({each})" for each in kinds) or "none: it was never called before it was saved"

    def __repr__(self) -> str:
        return f"<loaded function {self._name!r} of {self._expect()}>"


def _fitting(values: list[Any], specs: list[TensorSpec]) -> list[Any] | None:
    """Return values as arrays if all of them are arrays that fit, without changing a dtype."""
    values = [getattr(value, "value", value) for value in values]
    for value, spec in zip(values, specs, strict=True):
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if shape is None or dtype != spec.dtype or not spec.is_compatible_with(value):
            return None
    return values


def _convert(values: list[Any], specs: list[TensorSpec]) -> list[Any] | None:
    try:
        return [declare_argument("x", value, spec) for value, spec in zip(values, specs, strict=True)]
    except (BadTypeError, TypeError, ValueError):
        return None


class LoadedConcreteFunction:
    """A signature of a loaded object, which takes tensors by name and gives a dict of them.

    Attributes:
        name: Its name.

    Args:
        name: Its name.
        program: What it computes.
        inputs: The places of its tensors, by name.
        outputs: Those of its results.
    """

    def __init__(
        self, name: str, program: AnyProgram, inputs: Mapping[str, int], outputs: Mapping[str, int]
    ) -> None:
        self.name = name
        self.__name__ = name
        self._program = program
        self._inputs = dict(inputs)
        self._outputs = dict(outputs)

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        """What it takes by position, which is nothing, and by name."""
        return (), {name: _name(self._program.inputs[index], name) for name, index in self._inputs.items()}

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """What it gives, by name."""
        return {name: _name(self._program.outputs[index], name) for name, index in self._outputs.items()}

    @property
    def inputs(self) -> list[TensorSpec]:
        """What it takes."""
        return list(self.structured_input_signature[1].values())

    @property
    def outputs(self) -> list[TensorSpec]:
        """What it gives."""
        return list(self.structured_outputs.values())

    @property
    def variables(self) -> list[Any]:
        """The variables that it reads."""
        return list(self._program.variables)

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of the variables that are trained."""
        return [each for each in self._program.variables if each.trainable]

    def look(self) -> None:
        """Look whether the program can be computed here, before it is.

        Raises:
            UnimplementedError: An operation of it is not known.
        """
        self._program.look()

    def __call__(self, *args: Any, **inputs: Any) -> dict[str, Any]:
        """Return what it gives, by name.

        Args:
            *args: The only tensor, or one dict of tensors by name.
            **inputs: Tensors by name.

        Raises:
            BadTypeError: They are others than it takes.
        """
        given: Mapping[str, Any] = inputs
        if len(args) == 1 and not inputs:
            is_mapping = isinstance(args[0], Mapping)
            given = args[0] if is_mapping else dict.fromkeys(self._inputs, args[0])
        if given.keys() != self._inputs.keys() or len(args) > 1 or (args and given is inputs):
            raise self._other(f"{len(args)} by position, and {sorted(inputs)}")
        if args and len(self._inputs) != 1 and not isinstance(args[0], Mapping):
            raise self._other("one by position")
        arrays: list[Any] = [None] * len(self._inputs)
        for name, index in self._inputs.items():
            arrays[index] = declare_argument(name, given[name], self._program.inputs[index])
        results = self._program(arrays)
        return {name: results[index] for name, index in self._outputs.items()}

    def _other(self, received: str) -> BadTypeError:
        return BadTypeError(
            f"Signature {shown(self.name)} takes tensors by name. Expected: {self.inputs}. Received: {received}."
        )

    def __repr__(self) -> str:
        inputs = ", ".join(f"{spec.name}: {spec}" for spec in self.inputs)
        outputs = ", ".join(f"{spec.name}: {spec}" for spec in self.outputs)
        return f"<loaded signature {self.name}({inputs}) -> {outputs}>"


class _OfText:
    """A signature whose text the host computes with: it can't be traced."""

    def __init__(self, name: str, info: SignatureInfo, program: object, variables: list[Any]) -> None:
        self.name = name
        self._info = info
        self.variables = variables
        self._weights: list[Any] = []
        self._signature = LoadedSignature(name, info, program, self._weights)

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        """What it takes by position, which is nothing, and by name."""
        return (), {name: _spec_of(name, each) for name, each in self._info.inputs.items()}

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """What it gives, by name."""
        return {name: _spec_of(name, each) for name, each in self._info.outputs.items()}

    def __call__(self, *args: Any, **inputs: Any) -> dict[str, Any]:
        """Return what it gives, by name."""
        self._weights[:] = [each.value for each in self.variables]
        return {name: constant(value) for name, value in self._signature(*args, **inputs).items()}

    def __repr__(self) -> str:
        return f"<loaded signature {self._signature!r}>"


def _name(spec: TensorSpec, name: str) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, name)


def _spec_of(name: str, info: TensorInfo) -> TensorSpec:
    return TensorSpec(info.shape, info.numpy_dtype, name)


class _Programs:
    """The programs of a folder, each read when it is first needed.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._read: dict[str, Any] = {}

    def load(self, file: str) -> Any:
        """Return the program of a file."""
        if file not in self._read:
            self._read[file] = deserialize(self._folder, file)
        return self._read[file]


class _Loader:
    """Makes the object of a folder.

    Args:
        folder: The folder.
        body: What it says of the object; None for functions alone.
    """

    def __init__(self, folder: Folder, body: dict[str, Any] | None) -> None:
        self._platform = platform_of(folder)
        self._programs = _Programs(folder)
        weights = folder.weights()
        listed = [] if body is None else body["variables"]
        known = {each["weight"] for each in listed}
        # What only functions read.
        listed = [
            *listed,
            *({"weight": name, "name": name, "trainable": False} for name in sorted(weights.keys() - known)),
        ]
        self._variables = {each["weight"]: _variable(each, weights) for each in listed}
        # Of functions alone, all variables are the object's.
        own = [self._variables[each["weight"]] for each in listed if body is None or each["weight"] in known]
        self._functions = [self._function(each) for each in (() if body is None else body["functions"])]
        self._objects = self._make([{}] if body is None else body["nodes"], own)
        signatures = {} if body is None else body["signatures"]
        self._objects[0].signatures = SignatureMap(
            {
                name: self._signature(name, info, signatures.get(name))
                for name, info in folder.manifest.signatures.items()
            }
        )

    def root(self) -> LoadedObject:
        """Return the object that was saved."""
        return self._objects[0]

    def _make(self, nodes: list[dict[str, Any]], own: list[Any]) -> list[LoadedObject]:
        objects = [CallableObject() if "__call__" in node else LoadedObject() for node in nodes]
        objects[0]._stratax_variables = own
        for loaded, node in zip(objects, nodes, strict=True):
            for name, child in node.items():
                value = self._value(child, own, objects)
                if name == "__call__":
                    vars(loaded)["_stratax_call"] = value
                elif name == "variables":
                    loaded._stratax_variables = value
                elif not isinstance(getattr(LoadedObject, name, None), property):
                    vars(loaded)[name] = value
        return objects

    def _value(self, child: Any, own: list[Any], objects: list[LoadedObject]) -> Any:
        if child is None:
            return None
        ((kind, value),) = child.items()
        if kind == "variable":
            return own[value]
        if kind == "function":
            return self._functions[value][0]
        if kind == "node":
            return objects[value]
        if kind == "list":
            return [self._value(part, own, objects) for part in value]
        return {name: self._value(part, own, objects) for name, part in value.items()}

    def _function(self, body: Mapping[str, Any]) -> tuple[LoadedFunction, list[_Program]]:
        parameters = [
            inspect.Parameter(
                each["name"],
                getattr(inspect.Parameter, each["kind"]),
                default=each.get("default", inspect.Parameter.empty),
            )
            for each in body["parameters"]
        ]
        kinds, programs = [], []
        for each in body["kinds"]:
            program = self._program(
                body["name"],
                each["files"],
                [_spec(spec) for spec in each["inputs"]],
                [_spec(spec) for spec in each["outputs"]],
                each["weights"],
                each["assigned"],
            )
            programs.append(program)
            kinds += [(dict(arguments), program, each["results"]) for arguments in each["arguments"]]
        signature = inspect.Signature(parameters)
        return LoadedFunction(body["name"], signature, kinds, body["problem"]), programs

    def _program(
        self,
        name: str,
        files: Mapping[str, str],
        inputs: list[TensorSpec],
        outputs: list[TensorSpec],
        weights: Any,
        assigned: Any,
    ) -> _Program:
        variables = [self._variables[each] for each in weights]
        targets = [self._variables[each] for each in assigned]
        programs, here = self._programs, files[self._platform]
        # What can't be read is told when it is loaded.
        programs.load(here)

        def run(*arrays: object) -> list[Any]:
            exported = programs.load(files.get(_platform_traced_for(), here))
            call = exported.call if exported.has_vjp() else _without_derivative(name, exported.call)
            results = call([each.value for each in variables], list(arrays))
            for variable, value in zip(targets, results[len(outputs) :], strict=True):
                variable.assign(value)
            return list(results[: len(outputs)])

        run.__name__ = name if name.isidentifier() else "function"
        # One program for each size that was not declared, without a warning.
        function = Function(run, autograph=False, traces_before_warning=0)
        return _Program(name, inputs, outputs, variables, function)

    def _signature(self, name: str, info: SignatureInfo, described: Mapping[str, Any] | None) -> Any:
        if described is not None:
            program = self._functions[described["function"]][1][0]
            return LoadedConcreteFunction(name, program, described["inputs"], described["outputs"])
        if info.before is not None or info.after is not None:
            exported = self._programs.load(info.program.files[self._platform])
            return _OfText(name, info, exported, [self._variables[each] for each in info.program.weights])
        arguments, results = info.program.arguments, info.program.results
        program = self._program(
            name,
            info.program.files,
            [_spec_of(each, info.inputs[each]) for each in arguments],
            [_spec_of(each, info.outputs[each]) for each in results],
            info.program.weights,
            (),
        )
        places = {each: arguments.index(each) for each in info.inputs}
        return LoadedConcreteFunction(
            name, program, places, {each: results.index(each) for each in info.outputs}
        )


def _platform_traced_for() -> str:
    """Return the platform of the devices that what is being traced is for, which may be others than JAX' first ones."""
    region = regions.current_region()
    placement = None if region is None else region.program.placement
    if placement is None:
        return find_platform(jax.default_backend())
    device: Any = next(iter(placement.device_set))
    return find_platform(device.platform)


def _without_derivative(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that says what is wrong where it is differentiated."""

    @jax.custom_vjp
    def call_it(weights: list[Any], arrays: list[Any]) -> Any:
        return call(weights, arrays)

    def forward(weights: list[Any], arrays: list[Any]) -> Any:
        raise UnimplementedError(
            f"The function {shown(name)} was saved without its derivative. Expected: one that tf.saved_model.save has "
            "saved, and that can be differentiated for any number of examples: not a loop of unknown length. Train "
            "the model itself, from its .keras file."
        )

    call_it.defvjp(forward, lambda *_: ())
    return call_it


def _variable(described: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> Variable:
    value = weights[described["weight"]]
    return Variable(
        value, bool(described["trainable"]), name=described["name"].split("/")[-1], dtype=value.dtype.name
    )


def _spec(described: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(tuple(described["shape"]), find_dtype(described["dtype"]), described["name"])

"""Exports that are called: `load` (export layer). Needs JAX, and no Keras."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax.base import providers
from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError, DataLossError, DeviceError
from stratax.export._folder import Folder, is_of_tensorflow
from stratax.export._host import host_part
from stratax.export._manifest import STRING, ProgramInfo, SignatureInfo, TensorInfo


def load(path: str | bytes | os.PathLike[Any]) -> "Export":
    """Load an export, whose signatures can be called then.

    Nothing in it is executed but its compiled programs; it holds no Python code. JAX promises to read what it has
    exported for half a year at least; a program that this version can't read is told as such.

    Args:
        path: The folder that `stratax.export.save` or an Estimator has written, or a SavedModel of TensorFlow.

    Returns:
        The export.

    Raises:
        FileMissingError: There is none.
        DataLossError: It is damaged, or newer than this version.
        DeviceError: It was not made for what JAX computes on here.
    """
    text = os.fsdecode(path)
    if is_of_tensorflow(text):
        (module,) = providers.providers("SavedModels of TensorFlow")
        made: Export = module.load_export(text)
        return made
    return Export(Folder(path))


class Export:
    """An export that was loaded; `load` makes it.

    Attributes:
        path: Its folder.
        versions: Of the libraries that made it, by name.
        platforms: What it was compiled for.
        signatures: What can be called, by name.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Folder) -> None:
        import jax

        manifest = folder.manifest
        self.path = folder.path
        self.versions = dict(manifest.versions)
        self.platforms = manifest.platforms
        # Before the weights are read, which nobody needs on another platform.
        here = platform_of(folder)
        weights = folder.weights()
        needed = {name for each in manifest.signatures.values() for name in each.program.weights}
        if missing := sorted(needed - weights.keys()):
            raise DataLossError(
                f"The export at {shown(self.path)} is damaged: it has no weight {shown(missing[0])}."
            )
        # Once, for all signatures.
        on_device = {name: jax.device_put(weights[name]) for name in sorted(needed)}
        programs: dict[str, Any] = {}
        self.signatures: dict[str, LoadedSignature] = {}
        for name, info in manifest.signatures.items():
            # Signatures of one function share its file.
            file = info.program.files.get(here, "")
            if file not in programs:
                programs[file] = deserialize(folder, file)
            own = [on_device[weight] for weight in info.program.weights]
            self.signatures[name] = LoadedSignature(name, info, programs[file], own)
            _check_program(self.signatures[name].program, len(info.program.results), programs[file], own)

    def __repr__(self) -> str:
        return f"<Export {self.path!r} with {', '.join(map(str, self.signatures.values()))}>"


class LoadedProgram:
    """What a signature computes on the device.

    Attributes:
        name: The signature's name.
        arguments: What it takes, by name.

    Args:
        name: The signature's name.
        info: What it is.
        arguments: What it takes, by name.
        exported: What `jax.export` has read.
        weights: The arrays that come before its arguments.
    """

    def __init__(
        self,
        name: str,
        info: ProgramInfo,
        arguments: Mapping[str, TensorInfo],
        exported: Any,
        weights: list[Any],
    ) -> None:
        import jax

        self.name = name
        self.arguments = dict(arguments)
        self._results = info.results
        self._weights = weights
        # JAX compiles it for each set of sizes, and keeps the programs.
        self._call = jax.jit(exported.call)

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return its results, by name.

        Args:
            arrays: What it takes, of the right dtypes and numbers of dimensions.

        Raises:
            BadArgumentError: The sizes do not fit together, or one is 0.
        """
        try:
            # The two lists that `run` of `_trace.py` takes.
            results = self._call(self._weights, [arrays[name] for name in self.arguments])
        except ValueError as error:
            # As JAX says that sizes which may be any do not fit together, or are 0.
            if "polymorphic shapes" not in str(error):
                raise
            raise BadArgumentError(
                f"Signature {shown(self.name)} can't be computed for these shapes together. Expected: "
                f"{_list(self.arguments)}, where sizes are at least 1. Received: "
                f"{', '.join(f'{name}: {array.shape}' for name, array in arrays.items())}."
            ) from error
        return {name: np.asarray(array) for name, array in zip(self._results, results, strict=True)}


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call of a signature of which the host has done its first part.

    Attributes:
        arguments: What its program takes, by name.
        values: What the host's second part may need.
    """

    arguments: Mapping[str, np.ndarray]
    values: Mapping[str, Any]


class LoadedSignature:
    """A function of an export.

    A call is three steps, which may be made one by one, too: :meth:`prepare`, `program` and :meth:`finish`.

    Attributes:
        name: Its name.
        method: What it is for: ``"predict"``, ``"classify"``, ``"regress"``, ``"eval"`` or ``"train"``.
        inputs: What it takes, by name.
        outputs: What it gives, by name.
        program: What it computes on the device.
        has_host_part: Whether the host computes anything before its program or after it.

    Args:
        name: Its name.
        info: What it is.
        exported: Its program.
        weights: The arrays that come before the program's arguments.
    """

    def __init__(self, name: str, info: SignatureInfo, exported: object, weights: list[Any]) -> None:
        self.name = name
        self.method = info.method
        self.inputs = dict(info.inputs)
        self.outputs = dict(info.outputs)
        self._before, self._after = info.before, info.after
        # The usual call of a server, an array for the only input, is taken without a look at names. Text is always
        # converted.
        self._single: tuple[str, Any, tuple[int | None, ...]] | None = None
        if len(self.inputs) == 1:
            ((only, what),) = self.inputs.items()
            if what.dtype != STRING:
                self._single = only, what.numpy_dtype, what.shape
        self.has_host_part = info.before is not None or info.after is not None
        self._check(info)
        # What arguments are that the host makes, its plan says.
        infos = self.inputs if self._before is None else {**self.inputs, **self._before.infos}
        arguments = {name: infos[name] for name in info.program.arguments}
        self.program = LoadedProgram(name, info.program, arguments, exported, weights)

    def _check(self, info: SignatureInfo) -> None:
        """Look whether what is computed is given by something before.

        Raises:
            DataLossError: It is not.
        """
        arguments, outputs = set(self.inputs), set(info.program.results)
        if self.has_host_part:
            check_plan = host_part().check_plan
            # Ids of values: `in/` for inputs, `out/` for what the program gives; plans add those that they make.
            known = {f"in/{name}" for name in self.inputs}
            if self._before is not None:
                known = check_plan(self._before, known)
                arguments.update(self._before.gives)
            if self._after is not None:
                check_plan(self._after, known.union(f"out/{name}" for name in info.program.results))
                outputs.update(self._after.gives)
        missing = sorted({*info.program.arguments} - arguments) or sorted(self.outputs.keys() - outputs)
        if missing:
            raise DataLossError(
                f"The signature {shown(self.name)} of the export is damaged: nothing gives {shown(missing[0])}. Export "
                "it again, or copy it anew."
            )

    def __call__(self, *args: Any, **inputs: Any) -> dict[str, np.ndarray]:
        """Return what it gives, by name, as NumPy arrays.

        Args:
            *args: One mapping from names to arrays, or the only input.
            **inputs: Arrays, or lists of numbers, by name.

        Raises:
            BadArgumentError: An input is missing, unknown, or of another shape, or has no rows.
            BadTypeError: One is of another dtype.
        """
        prepared = self.prepare(*args, **inputs)
        return self.finish(prepared, self.program(prepared.arguments))

    def prepare(self, *args: object, **inputs: object) -> PreparedCall:
        """Do the host's part before the program: parsing, decoding, looking up.

        Args:
            *args: As for a call.
            **inputs: Likewise.

        Raises:
            BadArgumentError: As a call does.
            BadTypeError: Likewise.
        """
        arrays = self._only(args, inputs)
        if arrays is None:
            given = self._by_name(args, inputs)
            arrays = {name: as_input(name, given[name], info) for name, info in self.inputs.items()}
        values: dict[str, Any] = {}
        if self.has_host_part:
            values.update((f"in/{name}", array) for name, array in arrays.items())
        if self._before is not None:
            arrays.update(host_part().run(self._before, values))
        # An input that the host alone needs is no argument of the program.
        return PreparedCall({name: arrays[name] for name in self.program.arguments}, values)

    def finish(self, prepared: PreparedCall, results: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Do the host's part after the program, such as naming classes.

        Args:
            prepared: What :meth:`prepare` has returned.
            results: What the program has given for it.

        Returns:
            What the signature gives, by name.
        """
        if self._after is None:
            return dict(results)
        values = {**prepared.values, **{f"out/{name}": array for name, array in results.items()}}
        made = {**results, **host_part().run(self._after, values)}
        return {name: made[name] for name in self.outputs}

    def _only(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> dict[str, Any] | None:
        """Return the only input where it is an array that needs no change: programs may be quicker than checks."""
        if self._single is None or len(args) != 1 or inputs or type(args[0]) is not np.ndarray:
            return None
        name, dtype, shape = self._single
        array = args[0]
        if array.dtype != dtype or array.ndim != len(shape):
            return None
        fits = all(size is None or size == have for size, have in zip(shape, array.shape, strict=True))
        return {name: array} if fits else None

    def _by_name(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> Mapping[str, Any]:
        given: Mapping[str, Any] = inputs
        if args:
            if len(args) > 1 or inputs:
                raise BadArgumentError(
                    f"Signature {shown(self.name)} takes arrays by name, or one mapping of them. Received: "
                    f"{len(args)} positional arguments."
                )
            # A bare array means the only input, whatever its name is.
            given = args[0] if isinstance(args[0], Mapping) else dict.fromkeys(self.inputs, args[0])
            if not isinstance(args[0], Mapping) and len(self.inputs) != 1:
                raise BadArgumentError(
                    f"Signature {shown(self.name)} takes several arrays, by name. Expected: {_list(self.inputs)}."
                )
        if given.keys() != self.inputs.keys():
            raise BadArgumentError(
                f"Signature {shown(self.name)} takes other inputs. Expected: {_list(self.inputs)}. Received: "
                f"{', '.join(map(str, given)) or 'none'}."
            )
        return given

    def __repr__(self) -> str:
        return f"{self.name}({_list(self.inputs)}) -> {_list(self.outputs)}"


def _check_program(program: LoadedProgram, num_results: int, exported: Any, weights: list[Any]) -> None:
    """Look whether a program takes and gives what its signature says.

    Raises:
        DataLossError: It does not.
    """
    import jax

    def kind(dtype: object, num_dims: int) -> tuple[Any, int]:
        # Without sizes, which may be symbols in the program; and 64 bits are 32 where JAX is not told otherwise.
        return jax.dtypes.canonicalize_dtype(dtype), num_dims

    # Manifest and program are two files: one that was exchanged would fail deep inside of XLA, or give nonsense.
    says = [
        *(kind(each.dtype, each.ndim) for each in weights),
        *(kind(each.numpy_dtype, len(each.shape)) for each in program.arguments.values()),
    ]
    takes = [kind(each.dtype, each.ndim) for each in exported.in_avals]
    if says != takes or num_results != len(exported.out_avals):
        raise DataLossError(
            f"The signature {shown(program.name)} of the export is damaged: its program takes or gives other arrays "
            f"than it says. Expected: {', '.join(map(str, exported.in_avals))[:400] or 'nothing'}, and "
            f"{len(exported.out_avals)} results. Received: {len(weights)} weights, then {_list(program.arguments)}, "
            f"and {num_results} results. Export it again, or copy it anew."
        )


def _list(infos: Mapping[str, TensorInfo]) -> str:
    return ", ".join(f"{name}: {info}" for name, info in infos.items()) or "none"


def as_input(name: str, value: object, info: TensorInfo) -> np.ndarray:
    """Return a value as the array that a signature takes.

    Args:
        name: The input's name.
        value: An array, a number, text or lists of these.
        info: What is expected.

    Raises:
        BadArgumentError: It has another shape.
        BadTypeError: It has another dtype.
    """
    wanted = info.numpy_dtype
    # What has a dtype keeps it, and is refused below if it is another one: only Python's values are converted.
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
    else:
        try:
            array = np.asarray(value, object if info.dtype == STRING else None)
        except ValueError as error:
            raise _other_shape(name, info, "lists of different lengths") from error
        is_number = array.dtype.kind in "biuf"
        # As TensorFlow does with Python's numbers: whole ones are floats where floats are wanted.
        # Fractions are never cut off: an input of whole numbers takes whole numbers only.
        if is_number and info.dtype != STRING and (wanted.kind not in "iu" or array.dtype.kind in "iu"):
            if array.dtype.kind in "iu" and wanted.kind in "iu" and array.size and wanted != array.dtype:
                limits = np.iinfo(wanted)
                if array.min() < limits.min or array.max() > limits.max:
                    raise _other_dtype(name, info, "a number that does not fit")
            # Truth values are no numbers, as in TensorFlow.
            if (array.dtype.kind == "b") == (wanted.kind == "b"):
                array = array.astype(wanted)
    if info.dtype == STRING:
        array = _as_text(name, array, info)
    elif array.dtype != wanted:
        raise _other_dtype(name, info, str(array.dtype))
    if len(array.shape) != len(info.shape) or any(
        size is not None and size != have for size, have in zip(info.shape, array.shape, strict=True)
    ):
        raise _other_shape(name, info, f"shape {array.shape}")
    return array


def _as_text(name: str, array: np.ndarray, info: TensorInfo) -> np.ndarray:
    # NumPy pads its own strings to one length; as objects each has its own.
    if array.dtype.kind in "SU":
        array = array.astype(object)
    if array.dtype != object or not all(isinstance(each, str | bytes) for each in array.flat):
        raise _other_dtype(name, info, str(array.dtype))
    made = np.empty(array.shape, object)
    for index, each in enumerate(array.flat):
        made.flat[index] = each.encode() if isinstance(each, str) else each
    return made


def _other_shape(name: str, info: TensorInfo, what: str) -> BadArgumentError:
    return BadArgumentError(f"Input {shown(name)} has another shape. Expected: {info}. Received: {what}.")


def _other_dtype(name: str, info: TensorInfo, what: str) -> BadTypeError:
    return BadTypeError(f"Input {shown(name)} has another dtype. Expected: {info}. Received: {what}.")


def platform_of(folder: Folder) -> str:
    """Return which of an export's programs are called here.

    Raises:
        DeviceError: It was not made for what JAX computes on here.
    """
    import jax

    here = find_platform(jax.default_backend())
    if here not in folder.manifest.platforms:
        raise DeviceError(
            f"The export at {shown(folder.path)} was not made for this platform. Expected: one of "
            f"{', '.join(folder.manifest.platforms)}. Received: {here}. Export it for that platform, or set "
            "JAX_PLATFORMS."
        )
    return here


def find_platform(platform: str) -> str:
    """Return what exports call a platform of JAX."""
    # JAX' name of the default backend does not say whose GPU it is.
    return {"gpu": "cuda"}.get(platform, platform)


def deserialize(folder: Folder, file: str) -> Any:
    """Return a program of an export.

    Raises:
        DataLossError: It can't be read.
    """
    from jax import export

    content = folder.program(file)
    try:
        # The type that JAX declares for it.
        return export.deserialize(bytearray(content))
    except Exception as error:  # JAX says with various errors that it can't read bytes.
        made_with = folder.manifest.versions.get("jax", "an unknown version")
        import jax

        raise DataLossError(
            f"The program {shown(file)} of the export at {shown(folder.path)} can't be read by this JAX. Expected: a "
            f"JAX not much newer or older than the one that exported it, {made_with}. Received: {jax.__version__} "
            f"({type(error).__name__}: {str(error)[:200]})."
        ) from error

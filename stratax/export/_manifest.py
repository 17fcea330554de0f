"""What the folder of an export says of itself: signatures, programs, weights and files (export layer)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from stratax.base.shown import shown
from stratax.errors import DataLossError
from stratax.export._host import host_part

# Raised when an older reader would misread a folder.
FORMAT = 1
STRING = "string"
# NumPy's long doubles, whose form depends on the machine.
_OF_SOME_MACHINES = ("float96", "float128", "complex192", "complex256")
# The last two are of no use to a server: what a model gives of features and labels.
METHODS = ("predict", "classify", "regress", "eval", "train")


@dataclasses.dataclass(frozen=True, slots=True)
class TensorInfo:
    """What a signature takes or gives under one name.

    Attributes:
        dtype: Its dtype's name, such as ``"float32"``; ``"string"`` for text and bytes.
        shape: Its sizes; None where a size may be any.
    """

    dtype: str
    shape: tuple[int | None, ...]

    @property
    def numpy_dtype(self) -> Any:
        """The dtype of its arrays; that of text is `object`."""
        if self.dtype == STRING:
            return np.dtype(object)
        return find_dtype(self.dtype)

    def __str__(self) -> str:
        sizes = ", ".join("None" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]"


class HostPlan(Protocol):
    """What the host computes before or behind a program.

    Attributes:
        gives: Ids of what is used of it, by name.
        infos: What is expected of those, by name: of the arguments of a program.
    """

    @property
    def gives(self) -> Mapping[str, str]: ...

    @property
    def infos(self) -> Mapping[str, TensorInfo]: ...

    def as_json(self) -> dict[str, Any]:
        """Return the plan as values of JSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProgramInfo:
    """A compiled function of a signature.

    Attributes:
        files: Where it is within the folder, for each platform.
        weights: The names of the weights that come before its arguments.
        arguments: The names of its arguments: of inputs, or of results of the host's part before it.
        results: The names of its results.
        batch: The number of rows that it takes; None where it takes any.
    """

    files: Mapping[str, str]
    weights: tuple[str, ...]
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    batch: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SignatureInfo:
    """A function that an export has.

    Attributes:
        method: What it is for: one of ``"predict"``, ``"classify"``, ``"regress"``, ``"eval"`` and ``"train"``.
        inputs: What it takes, by name.
        outputs: What it gives, by name.
        program: What is computed on the device.
        before: What the host computes before, of the inputs: arguments of the program; None for nothing.
        after: What the host computes behind it, and which of its values are outputs; None for nothing.
    """

    method: str
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    program: ProgramInfo
    before: HostPlan | None = None
    after: HostPlan | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """An export.

    Attributes:
        versions: Of the libraries that made it, by name.
        platforms: What its programs are compiled for, of ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``.
        signatures: Its signatures, by name.
    """

    versions: Mapping[str, str]
    platforms: tuple[str, ...]
    signatures: Mapping[str, SignatureInfo]

    def as_json(self) -> dict[str, Any]:
        """Return the manifest as values of JSON."""
        return {
            "versions": dict(self.versions),
            "platforms": list(self.platforms),
            "signatures": {name: _as_json(each) for name, each in self.signatures.items()},
        }

    @classmethod
    def from_json(cls, values: Any, path: str) -> "Manifest":
        """Return the manifest that :meth:`as_json` has given.

        Args:
            values: Values of JSON.
            path: The folder, for the error.

        Raises:
            DataLossError: They are no manifest.
        """
        # All that values of the wrong kind raise in what reads them, plans and dtypes included.
        try:
            return cls(
                versions={str(name): str(version) for name, version in values["versions"].items()},
                platforms=tuple(map(str, values["platforms"])),
                signatures={name: _signature(each) for name, each in values["signatures"].items()},
            )
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            StopIteration,
        ) as error:
            raise DataLossError(
                f"The export at {shown(path)} is damaged: it does not say what it has ({type(error).__name__}: "
                f"{error})."
            ) from error


def find_dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of a name, those of JAX's own among them.

    Raises:
        TypeError: There is none of numbers or truth values.
    """
    # NumPy knows these names only once `ml_dtypes` was imported, which exports without them don't need.
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    found = np.dtype(name)
    # Not objects, records, times, text, other orders of bytes, or numbers that only some machines have.
    has_numbers = found.kind in "biufc" or found.type.__module__ == "ml_dtypes"
    if not has_numbers or found.name != name or name in _OF_SOME_MACHINES:
        raise TypeError(f"a dtype {shown(name)}")
    return found


def _signature(values: Mapping[str, Any]) -> SignatureInfo:
    program = values["program"]
    if values["method"] not in METHODS:
        raise ValueError(f"a method {shown(values['method'])}")
    return SignatureInfo(
        method=values["method"],
        inputs=_infos(values["inputs"]),
        outputs=_infos(values["outputs"]),
        program=ProgramInfo(
            files={str(platform): str(file) for platform, file in program["files"].items()},
            weights=_names(program["weights"]),
            arguments=_names(program["arguments"]),
            results=_names(program["results"]),
            batch=program["batch"],
        ),
        before=_plan(values["before"]),
        after=_plan(values["after"]),
    )


def _as_json(info: SignatureInfo) -> dict[str, Any]:
    return {
        "method": info.method,
        "inputs": {name: dataclasses.asdict(each) for name, each in info.inputs.items()},
        "outputs": {name: dataclasses.asdict(each) for name, each in info.outputs.items()},
        "program": dataclasses.asdict(info.program),
        "before": None if info.before is None else info.before.as_json(),
        "after": None if info.after is None else info.after.as_json(),
    }


def _plan(values: object) -> HostPlan | None:
    return None if values is None else host_part().CallPlan.from_json(values, _infos)


def _infos(values: Mapping[str, Any]) -> dict[str, TensorInfo]:
    found = {}
    for name, each in values.items():
        shape = tuple(each["shape"])
        # By type: JSON's `true` is an `int` in Python, too.
        if any(size is not None and (type(size) is not int or size < 0) for size in shape):
            raise ValueError(f"a shape {shown(shape)}")
        found[name] = TensorInfo(str(each["dtype"]), shape)
        # Known, or an error now.
        _ = found[name].numpy_dtype
    return found


def _names(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, values))

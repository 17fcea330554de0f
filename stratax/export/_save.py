"""`save`: writes an export (export layer)."""

import logging
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import keras

from stratax._version import __version__
from stratax.base.shown import shown
from stratax.core.storage import read_all
from stratax.errors import BadArgumentError, StrataxError
from stratax.export import _folder
from stratax.export._manifest import Manifest, ProgramInfo, SignatureInfo
from stratax.export._objects import signatures_of
from stratax.export._trace import PLATFORMS, ExportedFunction, trace_function

_logger = logging.getLogger("stratax")

# As `jax.export` names platforms, which tells NVIDIA's GPUs from AMD's.
_KNOWN_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def save(
    obj: Any,
    path: str | os.PathLike[str],
    signatures: Any = None,
    *,
    platforms: Sequence[str] = PLATFORMS,
) -> None:
    """Write a model, or functions, as a folder that runs without them: `load` reads it.

    The folder has compiled functions (StableHLO, for any number of examples), weights, and the names, shapes and dtypes
    of what they take and give. It appears whole or not at all.

    Args:
        obj: A Keras model, a function with an `input_signature`, or an object with such methods.
        path: The folder, which is not there yet.
        signatures: A function with an `input_signature`, or several by name, in place of those that are found in `obj`;
            also `ExportedFunction`s.
        platforms: What it is compiled for, of ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``.

    Raises:
        AlreadyExistsError: There is something at `path`.
        BadArgumentError: There is nothing to export, or it changes variables.
        FileAccessError: The folder can't be written, or the disk is full.
        TracingError: A function can't be compiled for any number of examples.

    Example:
        >>> import tempfile, keras, numpy as np
        >>> from stratax.export import load, save
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        >>> folder = tempfile.mkdtemp()
        >>> save(model, folder + "/1", platforms=["cpu"])
        >>> load(folder + "/1").signatures["serving_default"](np.ones((4, 3), "float32"))["output_0"].shape
        (4, 2)
    """
    unknown = [each for each in platforms if each not in _KNOWN_PLATFORMS]
    if unknown or not platforms or isinstance(platforms, str):
        raise BadArgumentError(
            f"An export is compiled for platforms. Expected: a list of {', '.join(_KNOWN_PLATFORMS)}. Received: "
            f"platforms={shown(platforms)}."
        )
    write(signatures_of(obj, signatures), path, platforms=platforms)


def write(
    signatures: Mapping[str, ExportedFunction],
    path: str | os.PathLike[str],
    *,
    platforms: Sequence[str] = PLATFORMS,
    replace: bool = False,
    also: Callable[[pathlib.Path, "VariableNames"], dict[str, SignatureInfo]] | None = None,
    finish: Callable[[pathlib.Path], None] | None = None,
) -> None:
    """Write functions; see :func:`save`.

    Args:
        signatures: The functions, by name. One object under several names is compiled once.
        path: The folder.
        platforms: What they are compiled for.
        replace: Whether an export that is there is replaced.
        also: Writes more into the folder, and returns signatures that it has compiled; called with the folder and the
            names of variables, which are written if they have one.
        finish: Called with the folder when it is complete, before it gets its name: what is added is not the export's.
    """
    with _folder.new_folder(path, replace=replace) as folder:
        (folder / _folder.PROGRAMS).mkdir()
        names = VariableNames()
        infos: dict[str, SignatureInfo] = {} if also is None else also(folder, names)
        done: dict[int, SignatureInfo] = {}
        for name, signature in signatures.items():
            # One function may stand under several names: it is traced and compiled once.
            if id(signature) not in done:
                try:
                    made = trace_function(name, signature, platforms)
                except StrataxError as error:
                    if not signature.is_optional:
                        raise
                    _logger.info("Signature %s is left out of the export: %s", name, error)
                    continue
                files = {}
                for platform, payload in made.payloads.items():
                    # By number: a signature's name may have slashes, or be too long for a file.
                    files[platform] = f"{_folder.PROGRAMS}/{len(done)}.{platform}.bin"
                    (folder / files[platform]).write_bytes(payload)
                done[id(signature)] = SignatureInfo(
                    method=signature.method,
                    inputs=made.inputs,
                    outputs=made.outputs,
                    program=ProgramInfo(
                        files=files,
                        weights=tuple(names.of(variable) for variable in made.variables),
                        arguments=made.arguments,
                        results=made.results,
                    ),
                    before=made.before,
                    after=made.after,
                )
            infos[name] = done[id(signature)]
        # Behind the last trace, since each may have met further variables.
        values = read_all(list(names.variables.values()))
        _folder.write_weights(folder, dict(zip(names.variables, values, strict=True)))
        versions = {"stratax": __version__, "jax": jax.__version__, "keras": keras.__version__}
        _folder.write_manifest(folder, Manifest(versions, tuple(platforms), infos))
        if finish is not None:
            finish(folder)


class VariableNames:
    """Names of variables, each of its own: their paths, with a number where two have one."""

    def __init__(self) -> None:
        self.variables: dict[str, keras.Variable] = {}
        self._of: dict[int, str] = {}

    def of(self, variable: keras.Variable) -> str:
        """Return a variable's name."""
        if id(variable) not in self._of:
            # Keras lets several variables have one path.
            name, count = variable.path, 1
            while name in self.variables:
                count += 1
                name = f"{variable.path}:{count}"
            self.variables[name] = variable
            self._of[id(variable)] = name
        return self._of[id(variable)]

"""The folder of an export: it appears whole, and what is read of it is checked (export layer).

`export.json` names every file with its size and SHA-256 and carries a checksum of itself; a file that it does not name
is never read. Weights are in the format of safetensors, programs are what `jax.export` serializes. Nothing is pickled.
"""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import (
    AlreadyExistsError,
    DataLossError,
    FileAccessError,
    FileMissingError,
    UnimplementedError,
)
from stratax.export._manifest import FORMAT, Manifest
from stratax.io import seal_text, unseal_text

MANIFEST = "export.json"
# What TensorFlow writes.
TENSORFLOW = ("saved_model.pb", "saved_model.pbtxt")
# What `model.save(folder)` writes.
_KERAS = ("config.json", "metadata.json")
WEIGHTS = "weights.safetensors"
# What safetensors calls dtypes.
_KINDS = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bfloat16": "BF16",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
PROGRAMS = "programs"
ASSETS = "assets"
# It is read whole before its checksum is known: what is larger is no manifest, and would only fill memory.
_MOST_MANIFEST_BYTES = 64 << 20
# How often a folder is put in the place of one that other processes keep writing.
_MOST_ATTEMPTS = 20
# The disk, or what one may have of it, is full.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def contains(path: str | bytes | os.PathLike[Any]) -> bool:
    """Return whether there is an export in a folder.

    Args:
        path: The folder.
    """
    return os.path.isfile(os.path.join(os.fsdecode(path), MANIFEST))


@contextlib.contextmanager
def new_folder(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[pathlib.Path]:
    """Give a hidden folder, which gets its name when the block ends; it is gone if the block fails.

    Args:
        path: The name that it gets. An empty folder of that name is replaced.
        replace: Whether an export of that name is replaced, too, and a SavedModel of TensorFlow.

    Raises:
        AlreadyExistsError: There is something of that name.
        FileAccessError: It can't be made there, or the disk is full.
    """
    target = pathlib.Path(os.path.abspath(path))
    _check_free(target, replace=replace)
    # Hidden, and in the same folder: servers that look for versions see numbers only.
    made = target.parent / f".{target.name[:100]}.{uuid.uuid4().hex}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
    except OSError as error:
        raise _not_written(target, error) from error
    try:
        yield made
        # On the disk before the name is: a name that outlives a power failure must not stand for files that don't.
        for file in made.rglob("*"):
            if file.is_file():
                _flush(file)
        # Again: compiling takes minutes, in which somebody may have written there.
        _check_free(target, replace=replace)
        _put(made, target)
        # The new name is an entry of the folder around it.
        _flush(target.parent)
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise _not_written(target, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _not_written(target: pathlib.Path, error: OSError) -> FileAccessError:
    return FileAccessError(
        f"The export {shown(str(target))} can't be written, and nothing of it is left. Received: {error.strerror}. "
        "Make room, or choose another folder.",
        filename=str(target),
    )


def _put(made: pathlib.Path, target: pathlib.Path) -> None:
    """Give a folder its name; what has it, goes."""
    for attempt in range(_MOST_ATTEMPTS):
        # `rename` takes the place of an empty folder only, so what is there steps aside first.
        old = made.with_suffix(f".{attempt}.old")
        with contextlib.suppress(FileNotFoundError):
            os.rename(target, old)
        try:
            os.rename(made, target)
        except OSError as error:
            # Another process, a worker that saves the same, was quicker.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == _MOST_ATTEMPTS - 1:
                raise
        else:
            return
        finally:
            shutil.rmtree(old, ignore_errors=True)


def _check_free(target: pathlib.Path, *, replace: bool) -> None:
    # Anything else stays: `replace` is for exports, of TensorFlow too, not for a folder that was named by mistake.
    if replace and (contains(target) or any((target / name).is_file() for name in TENSORFLOW)):
        return
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise AlreadyExistsError(
            f"There is something at {shown(os.fspath(target))} already. Expected: a folder that is not there yet. Give "
            "another one, a new version for instance, or remove it."
        )


def _flush(path: pathlib.Path) -> None:
    # Only to read: folders can't be opened otherwise.
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_manifest(folder: pathlib.Path, manifest: Manifest) -> None:
    """Write what the folder is, with the checksums of all of its files; called last."""
    # The manifest itself is not there yet, and is sealed with a checksum of its own.
    files = {
        str(file.relative_to(folder).as_posix()): {"bytes": file.stat().st_size, "sha256": _digest(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    body = {"kind": "stratax export", "format": FORMAT, "files": files, **manifest.as_json()}
    (folder / MANIFEST).write_bytes(seal_text(body))


def is_of_tensorflow(path: str) -> bool:
    """Return whether a folder is a SavedModel that TensorFlow wrote, and no export besides.

    Args:
        path: The folder.
    """
    return not contains(path) and os.path.isfile(os.path.join(path, TENSORFLOW[0]))


def refuse_foreign(path: str) -> None:
    """Raise for a folder that another has written.

    Args:
        path: The folder.

    Raises:
        UnimplementedError: TensorFlow has, or Keras' `model.save`.
    """
    if any(os.path.isfile(os.path.join(path, name)) for name in TENSORFLOW):
        raise UnimplementedError(
            f"The SavedModel at {shown(path)} was written by TensorFlow, and is no export. Expected: a folder that "
            "tf.saved_model.save of Stratax has written. TensorFlow's own are loaded by tf.saved_model.load and "
            "stratax.export.load, and served, where their graph is in a file saved_model.pb."
        )
    if all(os.path.isfile(os.path.join(path, name)) for name in _KERAS):
        raise UnimplementedError(
            f"The folder {shown(path)} has a model as Keras saves it, without compiled functions. Expected: a folder "
            "that tf.saved_model.save has written. Load the model: tf.keras.models.load_model(folder)."
        )


class Folder:
    """An export on a disk, of which only what its manifest names is read.

    Args:
        path: The folder.

    Raises:
        FileMissingError: There is no export.
        DataLossError: It is damaged, or of a newer format.
        UnimplementedError: TensorFlow has written what is there.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any]) -> None:
        self.path = os.fsdecode(path)
        file = pathlib.Path(self.path) / MANIFEST
        if not file.is_file():
            refuse_foreign(self.path)
            raise FileMissingError(
                f"There is no export at {shown(self.path)}. Expected: a folder with a file {MANIFEST}, as "
                "stratax.export.save writes it."
            )
        if file.stat().st_size > _MOST_MANIFEST_BYTES:
            raise _make_damage_error(self.path, f"its {MANIFEST} has {file.stat().st_size} bytes")
        content = file.read_bytes()
        try:
            # The version first: a newer format that is sealed otherwise would look like damage.
            found = json.loads(content)
            version = found.get("format") if isinstance(found, dict) else None
            if isinstance(version, int) and version > FORMAT:
                raise DataLossError(
                    f"The export at {shown(self.path)} has a newer format. Expected: at most {FORMAT}. Received: "
                    f"{version}. Install a newer Stratax."
                )
            body = unseal_text(content, kind="stratax export", format=FORMAT)
        except (ValueError, RecursionError) as error:
            if isinstance(error, DataLossError):
                raise
            raise _make_damage_error(self.path, f"{MANIFEST}: {error}") from error
        files = body.get("files")
        if not isinstance(files, dict):
            raise _make_damage_error(self.path, f"{MANIFEST} names no files")
        self._files = files
        self.manifest = Manifest.from_json(body, self.path)

    def check_file(self, name: str) -> str:
        """Return the path of a file that the manifest names, once its size and checksum are right.

        Raises:
            DataLossError: It is not there, is another file, or lies outside of the folder.
        """
        entry = self._files.get(name)
        # Names come out of the folder, and none of them may lead out of it.
        parts = pathlib.PurePosixPath(name).parts
        if not isinstance(entry, dict) or ".." in parts or pathlib.PurePosixPath(name).is_absolute():
            raise _make_damage_error(self.path, f"it names no file {shown(name)}")
        path = pathlib.Path(self.path, *parts)
        if not path.is_file() or path.stat().st_size != entry.get("bytes"):
            raise _make_damage_error(self.path, f"the file {shown(name)} is missing or has another size")
        if _digest(path) != entry.get("sha256"):
            raise _make_damage_error(self.path, f"the checksum of the file {shown(name)} is wrong")
        return os.fspath(path)

    def has(self, name: str) -> bool:
        """Return whether the manifest names a file."""
        return name in self._files

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights, by name."""
        # Functions of their inputs alone have none.
        if WEIGHTS not in self._files:
            return {}
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            return dict(load_file(self.check_file(WEIGHTS)))
        except SafetensorError as error:
            raise _make_damage_error(self.path, f"{WEIGHTS}: {error}") from error

    def program(self, name: str) -> bytes:
        """Return a program as `jax.export` has serialized it."""
        return pathlib.Path(self.check_file(name)).read_bytes()


def write_weights(folder: pathlib.Path, weights: Mapping[str, Any]) -> None:
    """Write weights, one after the other: a model need not fit the host's memory. Nothing where there are none.

    Args:
        folder: The folder.
        weights: Arrays of NumPy or JAX, by name.

    Raises:
        UnimplementedError: If the format has no such dtype.
    """
    if not weights:
        return
    # Late: who reads exports needs nothing of the core.
    from stratax.core.storage import read_whole

    # The largest elements first, so that all begin where they may.
    names = sorted(weights, key=lambda name: (-weights[name].dtype.itemsize, _kind_of(name, weights), name))
    header, end = {}, 0
    for name in names:
        begin, end = end, end + weights[name].nbytes
        header[name] = {
            "dtype": _kind_of(name, weights),
            "shape": list(weights[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / WEIGHTS, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            # Not `ascontiguousarray`, which gives a number a dimension.
            file.write(np.asarray(read_whole(weights[name]), order="C").reshape(-1).view(np.uint8).data)


def _kind_of(name: str, weights: Mapping[str, Any]) -> str:
    dtype = weights[name].dtype.name
    if dtype not in _KINDS:
        raise UnimplementedError(
            f"An export holds weights of the dtypes {', '.join(_KINDS)}. Received: {shown(name)} of dtype {dtype}."
        )
    return _KINDS[dtype]


def _digest(path: pathlib.Path) -> str:
    # `file_digest` reads into a large buffer of its own.
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make_damage_error(path: str, what: str) -> DataLossError:
    return DataLossError(
        f"The export at {shown(path)} is damaged: {what}. It was not read any further. Export it again, or copy it "
        "anew."
    )

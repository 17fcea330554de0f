"""Small files and folders, here or at a URL, written whole or not at all (data layer)."""

import contextlib
import os
import tempfile

from stratax.data._files import local_path


def join(folder: str, *names: str) -> str:
    """A path or URL below another."""
    return (
        "/".join([folder.rstrip("/") or "/", *names])
        if local_path(folder) is None
        else os.path.join(folder, *names)
    )


def read_file(name: str) -> bytes:
    """The content of a file, which is read whole."""
    path = local_path(name)
    if path is not None:
        with open(path, "rb") as file:
            return file.read()
    import fsspec

    filesystem, inner = fsspec.core.url_to_fs(name)
    return bytes(filesystem.cat_file(inner))


def write_file(name: str, content: bytes, replace: bool = True) -> bool:
    """Puts a file there whole; False if one is there that is not to be replaced."""
    path = local_path(name)
    if path is not None:
        return _write_local(path, content, replace)
    import fsspec

    filesystem, inner = fsspec.core.url_to_fs(name)
    if not replace and filesystem.exists(inner):
        return False
    filesystem.pipe_file(inner, content)
    return True


def _write_local(path: str, content: bytes, replace: bool) -> bool:
    descriptor, temporary = tempfile.mkstemp(
        ".tmp", "." + os.path.basename(path) + ".", os.path.dirname(path) or "."
    )
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        return _place(temporary, path, replace)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)


def _place(temporary: str, path: str, replace: bool) -> bool:
    if replace:
        os.replace(temporary, path)
        return True
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # A file system without links: two writers that end in the same moment may both replace, each by a whole file.
        if os.path.exists(path):
            return False
        os.replace(temporary, path)
    return True


def size_of(name: str) -> int:
    """How many bytes a file has."""
    path = local_path(name)
    if path is not None:
        return os.stat(path).st_size
    import fsspec

    filesystem, inner = fsspec.core.url_to_fs(name)
    return int(filesystem.size(inner))


def make_folder(name: str) -> None:
    """Makes a folder and those above it, if they are not there."""
    path = local_path(name)
    if path is not None:
        os.makedirs(path, exist_ok=True)
        return
    import fsspec

    filesystem, inner = fsspec.core.url_to_fs(name)
    filesystem.makedirs(inner, exist_ok=True)


def remove_folder(name: str) -> None:
    """Removes a folder with what is in it, if it is there."""
    import fsspec

    filesystem, inner = fsspec.core.url_to_fs(name)
    with contextlib.suppress(OSError):
        filesystem.rm(inner, recursive=True)

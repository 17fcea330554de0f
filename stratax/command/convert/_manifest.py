"""What a conversion keeps on disk about itself, so that an interrupted one goes on (convert layer).

Beside the files of records lies `<name>.manifest.json`: the settings, a fingerprint of them and of the source, and at
the end what became of each file. What is not finished lies in a folder `.<name>.parts`, which goes when all is done.
"""

import contextlib
import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.command.convert._listing import Listing
from stratax.command.convert._settings import ConversionSettings, labels_text, shard_name
from stratax.command.convert._shard import ShardResult, result_path, write_text
from stratax.io import held, make_folder

_VERSION = 1
_CHOICE = "Repeat the earlier call, choose another folder or name, or overwrite what is there (--overwrite)."


@dataclasses.dataclass(frozen=True, slots=True)
class Workplace:
    """Where a conversion writes.

    Attributes:
        out: The folder of the files.
        name: What the files' names begin with.
        shards: How many files there will be.
    """

    out: pathlib.Path
    name: str
    shards: int

    @property
    def parts(self) -> pathlib.Path:
        """The folder of what is not finished."""
        return self.out / f".{self.name}.parts"

    @property
    def manifest(self) -> pathlib.Path:
        """The file that says what the conversion is."""
        return self.out / f"{self.name}.manifest.json"

    @property
    def skipped(self) -> pathlib.Path:
        """The list of the images that were left out."""
        return self.out / f"{self.name}.skipped.txt"

    @property
    def labels(self) -> pathlib.Path:
        """The names of the classes, one on each line."""
        return self.out / "labels.txt"

    def shard(self, index: int) -> pathlib.Path:
        """Return where the file of that number is to appear."""
        return self.out / shard_name(self.name, index, self.shards)

    def shards_that_exist(self) -> list[pathlib.Path]:
        """Return all files of records of this name, of whatever number."""
        pattern = re.compile(rf"{re.escape(self.name)}-\d{{5,}}-of-\d{{5,}}\.tfrecord")
        return sorted(path for path in self.out.iterdir() if pattern.fullmatch(path.name))


def describe(listing: Listing, settings: ConversionSettings, shards: int) -> dict[str, Any]:
    """Return the manifest of a new conversion: its settings, and a fingerprint of all that decides the files."""
    described = dataclasses.asdict(settings) | {"shards": shards}
    described["resize"] = list(settings.resize) if isinstance(settings.resize, tuple) else settings.resize
    digest = hashlib.sha256()
    for picture in listing.pictures:
        # Names and sizes, not contents: reading all images would take as long as converting them.
        line = f"{picture.name}\0{picture.class_index}\0{picture.size}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return {
        "version": _VERSION,
        "settings": described,
        "classes": list(listing.classes),
        "images": len(listing.pictures),
        "source": digest.hexdigest(),
    }


def prepare(place: Workplace, manifest: dict[str, Any], *, overwrite: bool) -> dict[int, ShardResult]:
    """Make the folders ready, and find what an earlier, interrupted conversion has finished.

    Args:
        place: Where to write; its lock is held.
        manifest: What is to be done.
        overwrite: Whether to remove what an earlier conversion of that name left instead.

    Returns:
        The results of the files that are whole, by number.

    Raises:
        DataError: If something else of that name lies there and it is not to be overwritten.
    """
    if overwrite:
        _remove(place)
    earlier = _read_manifest(place)
    if earlier is not None:
        _check_same(place, earlier, manifest)
        finished = _find_finished(place, earlier)
    else:
        _check_no_strangers(place)
        finished = {}
    # Before the manifest: where there is a manifest, the labels are those of this conversion.
    _write_labels(place, manifest["classes"], overwrite=overwrite)
    if earlier is None:
        write_text(place.manifest, json.dumps(manifest, indent=2) + "\n")
    _clear_parts(place)
    return finished


def complete(place: Workplace, manifest: dict[str, Any], results: dict[int, ShardResult]) -> None:
    """Note that all files are there, list what was left out, and remove the parts."""
    ordered = [dataclasses.asdict(results[index]) for index in sorted(results)]
    write_text(place.manifest, json.dumps(manifest | {"results": ordered}, indent=2) + "\n")
    skipped = [entry for index in sorted(results) for entry in results[index].skipped]
    if skipped:
        write_text(
            place.skipped, "".join(f"{_on_one_line(name)}\t{_on_one_line(why)}\n" for name, why in skipped)
        )
    else:
        place.skipped.unlink(missing_ok=True)
    shutil.rmtree(place.parts, ignore_errors=True)


@contextlib.contextmanager
def lock(place: Workplace) -> Iterator[None]:
    """Hold the place against a second conversion of the same name; the system lets go when this process ends.

    Raises:
        DataError: If another process holds it.
    """
    hold = None
    while hold is None:  # Another conversion may end and remove the folder in between.
        make_folder(str(place.parts))
        try:
            hold = held.hold(place.parts)
        except BlockingIOError as error:
            raise errors.DataError(
                f"Another process is converting images to the same files. Expected: one at a time. Received: "
                f"out={shown(str(place.out))}, name={shown(place.name)}. Wait for it, or choose another folder or name."
            ) from error
    with hold:
        yield


def _remove(place: Workplace) -> None:
    for path in [*place.shards_that_exist(), place.manifest, place.skipped]:
        path.unlink(missing_ok=True)
    for path in place.parts.iterdir():
        path.unlink()


def _clear_parts(place: Workplace) -> None:
    """Remove what was half written; the results of whole files stay."""
    for path in place.parts.iterdir():
        if path.suffix != ".json":
            path.unlink()


def _read_manifest(place: Workplace) -> dict[str, Any] | None:
    try:
        text = place.manifest.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        manifest = json.loads(text)
        if manifest["version"] == _VERSION and isinstance(manifest["settings"], dict):
            return manifest
    except (ValueError, KeyError, TypeError):
        pass
    raise errors.DataError(
        f"There is a manifest that is not of this version's conversions. Expected: version {_VERSION}. Received: "
        f"{shown(str(place.manifest))}. {_CHOICE}"
    )


def _check_same(place: Workplace, earlier: dict[str, Any], manifest: dict[str, Any]) -> None:
    # Every difference is named, so that one look is enough.
    differences = [
        f"{key} was {shown(earlier['settings'].get(key))} and is {shown(value)}"
        for key, value in manifest["settings"].items()
        if earlier["settings"].get(key) != value
    ]
    if earlier.get("classes") != manifest["classes"]:
        differences.append("the classes are others")
    if earlier.get("images") != manifest["images"]:
        differences.append(f"there were {earlier.get('images')} images and are {manifest['images']}")
    elif not differences and earlier.get("source") != manifest["source"]:
        differences.append("the images' names, sizes or labels have changed")
    if differences:
        raise errors.DataError(
            f"An earlier conversion to these files was another one: {'; '.join(differences)}. Expected: the same "
            f"source and settings, to go on with it. Received: out={shown(str(place.out))}, "
            f"name={shown(place.name)}. {_CHOICE}"
        )


def _check_no_strangers(place: Workplace) -> None:
    there = place.shards_that_exist()
    if there:
        raise errors.DataError(
            f"There are files of that name without the manifest of a conversion, such as {there[0].name}. Expected: "
            f"none. Received: out={shown(str(place.out))}, name={shown(place.name)}. {_CHOICE}"
        )


def _find_finished(place: Workplace, earlier: dict[str, Any]) -> dict[int, ShardResult]:
    """Return the results of the files that are there, whole: of an ended conversion or an interrupted one."""
    noted = (
        [_as_result(entry) for entry in earlier["results"]] if earlier.get("results") else _read_noted(place)
    )
    found = {}
    for result in noted:
        path = place.shard(result.index)
        # A result without its file was written just before an interruption; the file is made again.
        if path.is_file() and path.stat().st_size == result.size:
            found[result.index] = result
    return found


def _read_noted(place: Workplace) -> Iterator[ShardResult]:
    for index in range(place.shards):
        # There is none, or it was cut off when the machine lost its power.
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            yield _as_result(json.loads(result_path(place.parts, index).read_text(encoding="utf-8")))


def _as_result(entry: dict[str, Any]) -> ShardResult:
    return ShardResult(**entry | {"skipped": tuple((name, why) for name, why in entry["skipped"])})


def _write_labels(place: Workplace, classes: list[str], *, overwrite: bool) -> None:
    text = labels_text(classes)
    try:
        there = place.labels.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        there = None
    if there is not None and there != text and not overwrite:
        raise errors.DataError(
            "The folder's labels.txt names other classes, so that one number would stand for two of them. Expected: "
            f"the same classes for all files of a folder. Received: out={shown(str(place.out))}, {len(classes)} "
            "classes: "
            f"{_shorten(classes)}; there: {_shorten(there.splitlines())}. Name the classes with a file of labels "
            "(--labels), or choose another folder."
        )
    write_text(place.labels, text)


def _shorten(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _on_one_line(text: str) -> str:
    return " ".join(text.split()) if text.isprintable() else ascii(text)[1:-1]

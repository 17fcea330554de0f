"""Which images a conversion is of, and what class each shows: a tree of class folders or a CSV (convert layer)."""

import collections
import csv
import dataclasses
import io
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence

from stratax import errors
from stratax.base.shown import shown
from stratax.command.convert._settings import check_classes
from stratax.io import read_file, reading

# Names that end so, in small or capital letters, are taken for images.
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".gif", ".webp")

HIDDEN = "hidden"
NOT_AN_IMAGE = "not an image by its name"
WITHOUT_A_CLASS = "outside of a class folder"
OF_NO_LISTED_CLASS = "of a class that the labels do not name"
_PATH_HEADINGS = {"path", "file", "filename", "filepath", "file_name", "image", "image_path", "image_uri"}


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """One image to convert.

    Attributes:
        name: Its path as the record tells it: relative to the source, with `/`; in a CSV as it stands there.
        class_index: The place of its class in the list of classes, from 0.
        size: Bytes of the file; -1 if they are not known (a URL, a file that is missing).
    """

    name: str
    class_index: int
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The images of a source.

    Attributes:
        root: The folder that their names are relative to.
        classes: The name of each class.
        pictures: The images, sorted as the source has them.
        ignored: How many files are left out, by reason.
    """

    root: str
    classes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    ignored: Mapping[str, int]

    @property
    def empty_classes(self) -> tuple[str, ...]:
        """The classes that have no image."""
        used = {picture.class_index for picture in self.pictures}
        return tuple(name for index, name in enumerate(self.classes) if index not in used)


def list_images(source: str | os.PathLike[str], classes: Sequence[str] | None = None) -> Listing:
    """List the images of a tree of class folders, or of a CSV file of paths and labels.

    Args:
        source: A folder with one folder for each class (images may lie deeper in those), or a CSV file with lines
            `path,label`, paths being relative to the CSV's folder.
        classes: The names of the classes in their order. None: all that there are, sorted.

    Returns:
        The listing. Hidden files, files that are no images by their names and files without a class are counted.

    Raises:
        FileMissingError: If there is no such file or folder.
        FileAccessError: If it can't be read.
        DataError: If there is no image in it, a line of the CSV is not a path and a label, or the name of a class has a
            line break in it.
    """
    path = pathlib.Path(source)
    if path.is_dir():
        listing = _list_tree(path, classes)
    elif path.is_file():
        listing = _list_csv(path, classes)
    else:
        raise errors.FileMissingError(
            "There is nothing to convert there. Expected: a folder of class folders with images, or a CSV file of "
            f"lines `path,label`. Received: source={shown(str(source))}. Check the path."
        )
    if not listing.pictures:
        raise errors.DataError(
            f"There is no image to convert ({describe_ignored(listing.ignored)}). Expected: files that end in "
            f"{', '.join(IMAGE_SUFFIXES)}, in folders named after their classes, or named by a CSV. "
            f"Received: source={shown(str(source))}. Arrange the images so, or list them in a CSV."
        )
    if classes is None:
        check_classes(listing.classes, received=f"source={shown(str(source))}")
    return listing


def describe_ignored(ignored: Mapping[str, int]) -> str:
    """Say how many files were left out and why."""
    if not ignored:
        return "no file was ignored"
    return "ignored: " + ", ".join(f"{count} {reason}" for reason, count in sorted(ignored.items()))


def location(root: str, name: str) -> str:
    """Return where the file of that name lies: beneath `root`, or where the name alone says (a URL, from the root)."""
    if "://" in name:
        return name
    if "://" in root:
        return f"{root.rstrip('/')}/{name}"
    return os.path.join(root, *name.split("/")) if not os.path.isabs(name) else name


def _list_tree(folder: pathlib.Path, classes: Sequence[str] | None) -> Listing:
    ignored: collections.Counter[str] = collections.Counter()
    folders = []
    for entry in _sort_entries(folder):
        if entry.name.startswith("."):
            ignored[HIDDEN] += 1
        elif _is_folder(entry):
            folders.append(entry)
        else:
            ignored[WITHOUT_A_CLASS] += 1
    names = tuple(entry.name for entry in folders) if classes is None else tuple(classes)
    index_of = {name: index for index, name in enumerate(names)}
    pictures = []
    for entry in folders:
        for name, size in _images_under(entry, entry.name, ignored, frozenset()):
            if entry.name in index_of:
                pictures.append(Picture(name, index_of[entry.name], size))
            else:
                ignored[OF_NO_LISTED_CLASS] += 1
    return Listing(str(folder), names, tuple(pictures), dict(ignored))


def _images_under(
    folder: os.DirEntry[str], name: str, ignored: collections.Counter[str], above: frozenset[tuple[int, int]]
) -> Iterator[tuple[str, int]]:
    """Yield the names and sizes of the images in a folder and below. A link back to a folder above is left."""
    status = os.stat(folder.path)
    # Device and number name a folder whatever its path is: links may form a cycle.
    if (status.st_dev, status.st_ino) in above:
        return
    above = above | {(status.st_dev, status.st_ino)}
    for entry in _sort_entries(folder.path):
        inner = f"{name}/{entry.name}"
        if entry.name.startswith("."):
            ignored[HIDDEN] += 1
        elif _is_folder(entry):
            yield from _images_under(entry, inner, ignored, above)
        elif not entry.name.lower().endswith(IMAGE_SUFFIXES):
            ignored[NOT_AN_IMAGE] += 1
        else:
            yield inner, _size(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # A link to itself.
        return False


def _sort_entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    with reading(os.fspath(folder)), os.scandir(folder) as entries:
        # File systems list names in any order; the numbers of the classes must not depend on it.
        return sorted(entries, key=lambda entry: entry.name)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        # Not readable, or gone: the error comes with the image itself, where it may be left out.
        return -1


def _list_csv(path: pathlib.Path, classes: Sequence[str] | None) -> Listing:
    root = str(path.parent)
    rows = list(_rows(path))
    names = _classes_of(rows) if classes is None else tuple(classes)
    index_of = {name: index for index, name in enumerate(names)}
    labelled = [(name, label) for name, label in rows if label in index_of]
    pictures = tuple(
        Picture(name, index_of[label], _size(location(root, name)) if "://" not in name else -1)
        for name, label in labelled
    )
    left_out = len(rows) - len(labelled)
    return Listing(root, names, pictures, {OF_NO_LISTED_CLASS: left_out} if left_out else {})


def _rows(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield the paths and labels of a CSV, without its heading if it has one."""
    content = read_file(str(path))
    try:
        # `utf-8-sig`, since spreadsheets put a byte order mark in front.
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            _check_row(path, reader.line_num, fields)
            if reader.line_num == 1 and fields[0].lower() in _PATH_HEADINGS:
                continue
            yield fields[0], fields[1]
    except (csv.Error, UnicodeDecodeError) as error:
        raise errors.DataError(
            f"This file is no CSV of images ({error}). Expected: a folder of class folders, or a text file in UTF-8 "
            f"with lines `path,label`. Received: source={shown(str(path))}."
        ) from error


def _check_row(path: pathlib.Path, line: int, fields: list[str]) -> None:
    if len(fields) != 2 or not all(fields):
        raise errors.DataError(
            "A line of the CSV is not the path of an image and its label. Expected: `path,label`, in double quotes "
            f"if it contains a comma. Received: line {line} of {shown(str(path))}: {shown(fields)}. Mend the line."
        )


def _classes_of(rows: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return all labels, sorted: as numbers where all are whole numbers."""
    labels = {label for _, label in rows}
    if all(label.isdecimal() for label in labels):
        # By value, so that class 10 comes behind class 9; the text tells `1` from `01`.
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels))

"""The conversion of images as an Apache Beam transform, for those that do not fit one machine (convert layer).

It makes the records that `convert_images` makes, by the same code. Importing this module imports Beam, which
`pip install 'stratax-train[beam,images]'` installs, so nothing else of Stratax does.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stratax import errors
from stratax.command.convert._example import image_example
from stratax.command.convert._listing import location
from stratax.command.convert._order import order_key
from stratax.command.convert._settings import (
    DEFAULT_SHARDS,
    ConversionSettings,
    check_classes,
    check_on_error,
    labels_text,
    shard_name,
)
from stratax.command.convert._shard import read_image, write_text
from stratax.data import TFRecordWriter

try:
    import apache_beam as beam
except ImportError as error:
    raise errors.MissingPackageError(
        f"ConvertImages is a transform of Apache Beam, which is not installed. Expected: the extra 'beam'. Received: "
        f"{error}. Run: pip install 'stratax-train[beam,images]'"
    ) from error

__all__ = ["ConvertImages"]
_logger = logging.getLogger(__name__)

# The name of an image and of its class.
Labelled = tuple[str, str]


class ConvertImages(beam.PTransform):
    """Converts labelled images to TFRecord files, wherever Beam runs.

    A transform from a PCollection of pairs (path of an image, name of its class) to one with the paths of the files
    that were written. Every file is one worker's task and appears whole or not at all; a task that Beam repeats
    writes it again. Which file an image is in depends on its path and the seed alone, so that files differ a little in
    length; as a set, the records are those that `stratax convert images` makes. Beam's counters `images` and `skipped`
    (in the namespace `stratax.command.convert`) tell how many there were.

    Args:
        out: The folder to write to: a local one, or a URL that fsspec opens, such as `gs://bucket/flowers`. A local
            one has to be there for all workers.
        classes: The names of the classes in their order; images of others are left out.
            `stratax.command.convert.read_classes` reads them from a file.
        settings: What the records are to be like. None: `ConversionSettings()`, with 16 files.
        root: What the paths are relative to, a folder or a URL; the records tell the paths without it.
        on_error: What a broken image does: `"fail"` fails the pipeline, `"skip"` leaves the image out and logs it.

    Raises:
        BadArgumentError: If `on_error` is something else.
        DataError: If `classes` has none, or one twice.
        MissingPackageError: On import, if Apache Beam is not installed.

    Example:
        >>> import apache_beam as beam  # doctest: +SKIP
        >>> with beam.Pipeline() as pipeline:  # doctest: +SKIP
        ...     images = pipeline | beam.Create([("daisy/1.jpg", "daisy"), ("roses/7.jpg", "roses")])
        ...     images | ConvertImages("records", ["daisy", "roses"], root="photos")
    """

    def __init__(
        self,
        out: str,
        classes: Sequence[str],
        settings: ConversionSettings | None = None,
        *,
        root: str = "",
        on_error: str = "fail",
    ) -> None:
        super().__init__()
        check_on_error(on_error)
        self._out = str(out)
        self._classes = check_classes(list(classes), received="classes")
        self._settings = settings or ConversionSettings()
        self._root = str(root)
        self._on_error = on_error

    def expand(self, images: Any) -> Any:
        """Return the transform's steps: each image to its file's number, then each file written by one worker."""
        shards = self._settings.shards or DEFAULT_SHARDS
        numbered = images | "Number" >> beam.Map(_number, shards, self._settings.seed)
        # Every file is written, also one that gets no image: what reads `...-of-00016` expects 16.
        empty = images.pipeline | "Files" >> beam.Create([(index, None) for index in range(shards)])
        grouped = (numbered, empty) | "Flatten" >> beam.Flatten() | "Group" >> beam.GroupByKey()
        written = grouped | "Write" >> beam.ParDo(
            _WriteShard(
                self._out,
                self._classes,
                self._settings,
                shards,
                self._root,
                skip_broken=self._on_error == "skip",
            )
        )
        labels = images.pipeline | "Classes" >> beam.Create([self._classes])
        _ = labels | "Labels" >> beam.Map(_write_labels, self._out)
        return written


class _WriteShard(beam.DoFn):
    """Writes one file: the images of one number."""

    def __init__(
        self,
        out: str,
        classes: tuple[str, ...],
        settings: ConversionSettings,
        shards: int,
        root: str,
        *,
        skip_broken: bool,
    ) -> None:
        self._out = out
        self._index_of = {name: index for index, name in enumerate(classes)}
        self._settings = settings
        self._shards = shards
        self._root = root
        self._skip_broken = skip_broken
        self._images = beam.metrics.Metrics.counter("stratax.command.convert", "images")
        self._skipped = beam.metrics.Metrics.counter("stratax.command.convert", "skipped")

    def process(self, element: tuple[int, Iterable[Labelled | None]]) -> Iterator[str]:
        """Write the file and yield its path."""
        index, images = element
        name = shard_name(self._settings.name, index, self._shards)
        path = location(self._out, name)
        # None is what makes the group of a file without images.
        listed = [image for image in images if image is not None and image[1] in self._index_of]
        with TFRecordWriter(path) as writer:
            # Beam gives the images of a group in any order; sorted, equal conversions make equal files.
            for image in sorted(listed, key=lambda image: (order_key(image[0], self._settings.seed), image)):
                record = self._record(*image)
                if record is not None:
                    writer.write(record)
        yield path

    def _record(self, name: str, text: str) -> bytes | None:
        try:
            record = image_example(
                read_image(location(self._root, name) if self._root else name),
                filename=name,
                label=self._index_of[text] + self._settings.label_offset,
                text=text,
                resize=self._settings.resize,
                quality=self._settings.quality,
            )
        except errors.DataLossError as error:
            if not self._skip_broken:
                raise
            self._skipped.inc()
            _logger.warning("Skipped %s: %s", name, error)
            return None
        self._images.inc()
        return record


def _number(image: Labelled, shards: int, seed: int) -> tuple[int, Labelled]:
    return order_key(image[0], seed) * shards >> 64, image


def _write_labels(classes: tuple[str, ...], out: str) -> None:
    write_text(location(out, "labels.txt"), labels_text(classes))

"""Images into files of records: the whole conversion (convert layer)."""

import contextlib
import dataclasses
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence

from stratax import errors
from stratax.base.shown import shown
from stratax.command.convert import _manifest, _workers
from stratax.command.convert._example import require_codecs
from stratax.command.convert._listing import Listing, list_images
from stratax.command.convert._order import divide
from stratax.command.convert._settings import (
    DEFAULT_SHARDS,
    ConversionSettings,
    check_classes,
    check_on_error,
)
from stratax.command.convert._shard import ShardResult, ShardTask
from stratax.data.plan import num_cores


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ConversionProgress:
    """How far a conversion is.

    Attributes:
        images: Images whose records are written.
        skipped: Broken images that were left out.
        resumed: How many of both an earlier, interrupted call had done.
        total: All images.
    """

    images: int
    skipped: int
    resumed: int
    total: int


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ConversionReport:
    """What came of a conversion.

    Attributes:
        files: The files of records, in order.
        labels: The file with the names of the classes.
        classes: Those names.
        images: Records in all files.
        resumed_images: How many of them an earlier call had written.
        size: Bytes of all files.
        skipped: The name of each image that was left out, and why.
        skipped_list: The file that lists them; None if there are none.
        ignored: How many files of the source are no images of a class, by reason.
        empty_classes: The classes without an image.
        seconds: How long this call took.
    """

    files: tuple[pathlib.Path, ...]
    labels: pathlib.Path
    classes: tuple[str, ...]
    images: int
    resumed_images: int
    size: int
    skipped: tuple[tuple[str, str], ...]
    skipped_list: pathlib.Path | None
    ignored: Mapping[str, int]
    empty_classes: tuple[str, ...]
    seconds: float

    @property
    def images_per_second(self) -> float:
        """Images that this call converted, each second."""
        return (self.images - self.resumed_images) / self.seconds if self.seconds > 0 else 0.0


def convert_images(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    settings: ConversionSettings | None = None,
    *,
    classes: Sequence[str] | None = None,
    workers: int | None = None,
    on_error: str = "fail",
    overwrite: bool = False,
    progress: Callable[[ConversionProgress], None] | None = None,
) -> ConversionReport:
    """Convert labelled images to TFRecord files of `tf.train.Example`: once, before training.

    Every file appears whole or not at all. A call that was interrupted, however it was, is repeated to go on: files
    that are whole are kept. The records have the features `image/encoded` (a JPEG file in RGB), `image/class/label`
    (from `label_offset`, 1 by default), `image/class/text`, `image/filename`, `image/height`, `image/width`,
    `image/channels`, `image/colorspace` and `image/format`. `labels.txt` in `out` has the names of the classes.

    Args:
        source: A folder with one folder of images for each class, or a CSV file of lines `path,label`.
        out: The folder to write to, a local one; it is made if it is not there.
        settings: What the records are to be like. None: `ConversionSettings()`.
        classes: The names of the classes in their order; images of others are left out. None: all of the source,
            sorted.
        workers: How many processes convert. None: as many as there are processor cores.
        on_error: What a broken image does: `"fail"` ends the conversion, `"skip"` leaves it out and lists it in
            `<name>.skipped.txt`.
        overwrite: Whether to remove what an earlier conversion of that name left, instead of going on with it.
        progress: Called about ten times a second.

    Returns:
        What came of it.

    Raises:
        FileMissingError: If there is no such source.
        FileAccessError: If the source can't be read, or `out` can't be written.
        DataError: If the source has no images, or something else lies in `out` under that name.
        DataLossError: If an image is broken and `on_error` is `"fail"`. It bears the file's name.
        WorkerError: If one of the processes dies; repeat the call to go on.
        MissingPackageError: If the packages of `stratax-train[images]` are not installed.

    Example:
        >>> from stratax.command import convert
        >>> convert.convert_images("photos", "records")  # doctest: +SKIP
        ConversionReport(files=..., images=3670, ...)
    """
    started = time.monotonic()
    settings = settings or ConversionSettings()
    check_on_error(on_error)
    if workers is not None and workers < 1:
        raise errors.BadArgumentError(f"workers must be at least 1. Received: workers={shown(workers)}.")
    # Before the listing, which may take minutes.
    require_codecs()
    listing = list_images(source, check_classes(classes, received="classes") if classes is not None else None)
    place = _manifest.Workplace(pathlib.Path(out), settings.name, _num_shards(listing, settings))
    with _manifest.lock(place):
        manifest = _manifest.describe(listing, settings, place.shards)
        finished = _manifest.prepare(place, manifest, overwrite=overwrite)
        # Files of an earlier call may lack images that this call would not leave out.
        _check_earlier_skips(finished, on_error)
        resumed = sum(result.images for result in finished.values())
        results = _convert(place, listing, settings, finished, workers, on_error, progress)
        _check_any_image(results, source)
        _manifest.complete(place, manifest, results)
    # In the order of the files, not in the order in which they were finished.
    skipped = tuple(entry for index in sorted(results) for entry in results[index].skipped)
    return ConversionReport(
        files=tuple(place.shard(index) for index in range(place.shards)),
        labels=place.labels,
        classes=listing.classes,
        images=sum(result.images for result in results.values()),
        resumed_images=resumed,
        size=sum(result.size for result in results.values()),
        skipped=skipped,
        skipped_list=place.skipped if skipped else None,
        ignored=listing.ignored,
        empty_classes=listing.empty_classes,
        seconds=time.monotonic() - started,
    )


def _convert(
    place: _manifest.Workplace,
    listing: Listing,
    settings: ConversionSettings,
    finished: dict[int, ShardResult],
    workers: int | None,
    on_error: str,
    progress: Callable[[ConversionProgress], None] | None,
) -> dict[int, ShardResult]:
    """Return the results of all files: those that are finished, and the others, which are made."""
    results = dict(finished)
    tasks = [
        task
        for task in tasks_of(place, listing, settings, skip=on_error == "skip")
        # Files are finished one by one, and the division of images does not depend on what is finished.
        if task.index not in finished
    ]
    before = sum(result.images for result in finished.values())
    skipped_before = sum(len(result.skipped) for result in finished.values())

    def tell(images: int, skipped: int) -> None:
        if progress is not None:
            progress(
                ConversionProgress(
                    images=before + images,
                    skipped=skipped_before + skipped,
                    resumed=before + skipped_before,
                    total=len(listing.pictures),
                )
            )

    if tasks:
        # Closed at once on an error: the processes must not outlive the lock on the folder.
        with contextlib.closing(_workers.make_shards(tasks, workers or num_cores(), tell)) as made:
            results |= {result.index: result for result in made}
    return results


def tasks_of(
    place: _manifest.Workplace, listing: Listing, settings: ConversionSettings, *, skip: bool
) -> list[ShardTask]:
    """Return what each file is made of, as it is sent to a worker."""
    return [
        ShardTask(
            index=index,
            path=str(place.shard(index)),
            parts=str(place.parts),
            root=listing.root,
            pictures=pictures,
            classes=listing.classes,
            label_offset=settings.label_offset,
            resize=settings.resize,
            quality=settings.quality,
            skip_broken=skip,
        )
        for index, pictures in enumerate(divide(listing.pictures, place.shards, settings.seed))
    ]


def _num_shards(listing: Listing, settings: ConversionSettings) -> int:
    if settings.shards is None:
        return min(DEFAULT_SHARDS, len(listing.pictures))
    if settings.shards > len(listing.pictures):
        raise errors.BadArgumentError(
            f"There are fewer images than files to write. Expected: at most {len(listing.pictures)} files, one for "
            f"each image. Received: shards={shown(settings.shards)}. Ask for fewer."
        )
    return settings.shards


def _check_earlier_skips(finished: dict[int, ShardResult], on_error: str) -> None:
    skipped = [entry for result in finished.values() for entry in result.skipped]
    if on_error == "fail" and skipped:
        name, why = skipped[0]
        raise errors.DataLossError(
            f"The earlier call left out {len(skipped)} broken images, and this one is to fail on such. Expected: no "
            f"broken image. Received: {shown(name)} ({why}). Mend the images and overwrite, or have them "
            "skipped again.",
            filename=name,
        )


def _check_any_image(results: dict[int, ShardResult], source: str | os.PathLike[str]) -> None:
    if not any(result.images for result in results.values()):
        name, why = next(entry for result in results.values() for entry in result.skipped)
        raise errors.DataError(
            "Not one image of the source could be read. Expected: at least one. Received: "
            f"source={shown(str(source))}; "
            f"the first is {shown(name)} ({why}). See whether the paths are right."
        )

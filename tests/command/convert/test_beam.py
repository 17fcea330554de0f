"""The conversion of images on Beam's local runner."""

import os
import subprocess
import sys

import apache_beam as beam
import fsspec
import pytest
from apache_beam.testing.util import assert_that, equal_to

from stratax.command import convert
from stratax.command.convert.beam import ConvertImages
from stratax.errors import BadArgumentError, DataError
from tests.command.convert.pictures import records_of, serialized_in, write_tree

SETTINGS = convert.ConversionSettings(shards=3, resize=10, seed=5)


def labelled(images):
    return [(path.relative_to(images).as_posix(), path.parent.name) for path in sorted(images.rglob("*.jpg"))]


def run(images, transform, expected=None):
    """Runs the transform over pairs on Beam's in-process runner; the counters by name."""
    pipeline = beam.Pipeline("DirectRunner")
    written = pipeline | beam.Create(images) | transform
    if expected is not None:
        assert_that(written, equal_to(expected))
    result = pipeline.run()
    result.wait_until_finish()
    counters = result.metrics().query(beam.metrics.MetricsFilter().with_namespace("stratax.command.convert"))[
        "counters"
    ]
    return {counter.key.metric.name: counter.result for counter in counters}


def test_the_records_are_those_of_the_command(tmp_path):
    images = write_tree(tmp_path / "images", ("cat", "dog"), 5)
    (tmp_path / "out").mkdir()
    files = [str(tmp_path / f"out/train-0000{index}-of-00003.tfrecord") for index in range(3)]
    transform = ConvertImages(str(tmp_path / "out"), ["cat", "dog"], SETTINGS, root=str(images))
    assert run(labelled(images), transform, files) == {"images": 10}
    report = convert.convert_images(images, tmp_path / "local", SETTINGS, workers=1)
    ours = sorted(record for file in files for record in serialized_in(file))
    assert ours == sorted(record for file in report.files for record in serialized_in(file))
    assert (tmp_path / "out/labels.txt").read_bytes() == report.labels.read_bytes()


def test_broken_images_are_skipped_and_counted_or_fail_the_pipeline(tmp_path):
    images = write_tree(tmp_path / "images", ("cat", "dog"), 2)
    (tmp_path / "out").mkdir()
    (images / "cat/000.jpg").write_bytes(b"no image")
    pairs = [*labelled(images), ("cat/none.jpg", "cat"), ("owl/1.jpg", "owl")]
    skipping = ConvertImages(str(tmp_path / "out"), ["cat", "dog"], root=str(images), on_error="skip")
    assert run(pairs, skipping) == {"images": 3, "skipped": 2}
    files = sorted((tmp_path / "out").glob("*.tfrecord"))
    assert len(files) == 16
    assert len(records_of(files)) == 3
    # Beam wraps what a step raises in an error of its own, or gives it another message.
    with pytest.raises(Exception, match="cat/000.jpg"):
        run(pairs[:1], ConvertImages(str(tmp_path / "out"), ["cat"], root=str(images)))


def test_files_may_be_written_to_a_url(tmp_path):
    images = write_tree(tmp_path / "images", ("cat",), 2)
    settings = convert.ConversionSettings(shards=1)
    run(labelled(images), ConvertImages("memory://beam-out", ["cat"], settings, root=str(images)))
    filesystem = fsspec.filesystem("memory")
    (tmp_path / "copy").write_bytes(filesystem.cat("/beam-out/train-00000-of-00001.tfrecord"))
    assert len(records_of([tmp_path / "copy"])) == 2
    assert filesystem.cat("/beam-out/labels.txt") == b"cat\n"


@pytest.mark.parametrize(
    ("classes", "options", "error", "message"),
    [
        (["cat"], {"on_error": "cry"}, BadArgumentError, "on_error='cry'"),
        ([], {}, DataError, "names no class"),
        (["cat", "cat"], {}, DataError, "names 'cat' twice"),
    ],
)
def test_a_wrong_call_is_refused_before_the_pipeline_runs(classes, options, error, message):
    with pytest.raises(error, match=message):
        ConvertImages("out", classes, **options)


@pytest.mark.processes
def test_without_beam_the_extra_is_named():
    program = """
import sys
sys.modules["apache_beam"] = None
import stratax.errors
try:
    import stratax.command.convert.beam
except stratax.errors.MissingPackageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "pip install 'stratax-train[beam,images]'" in done.stdout

"""Whole conversions. Those that convert start processes; they are kept few and small."""

import fcntl
import json
import os
import shutil
import signal
import time

import pytest

from stratax.command import convert
from stratax.command.convert import _conversion, _listing, _manifest, _shard
from stratax.command.convert._order import divide
from stratax.data.workers import start_executor
from stratax.errors import (
    BadArgumentError,
    DataError,
    DataLossError,
    FileAccessError,
    FileMissingError,
    WorkerError,
)
from tests.command.convert.pictures import make_endless, names_in, records_of, write_tree
from tests.data.processes import wait_until_none_is_left

pytestmark = pytest.mark.processes

SETTINGS = convert.ConversionSettings(shards=3)
KILL_LIMIT_SECONDS = 20


@pytest.fixture
def images(tmp_path):
    return write_tree(tmp_path / "images", ("cat", "dog", "fox"), 4)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "deep" / "out"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Three classes of images, converted, for the tests that only look at what a further call does."""
    folder = tmp_path_factory.mktemp("template")
    write_tree(folder / "images", ("cat", "dog", "fox"), 4)
    run(folder / "images", folder / "deep/out")
    return folder


@pytest.fixture
def converted(template, images, out):
    """`images` and `out`, converted."""
    shutil.rmtree(images)
    shutil.copytree(template, out.parent.parent, dirs_exist_ok=True)
    return convert.ConversionSettings(shards=3)


def run(images, out, settings=SETTINGS, **options):
    return convert.convert_images(images, out, settings, workers=options.pop("workers", 1), **options)


def contents(report):
    return [path.read_bytes() for path in report.files]


def test_all_images_are_converted_once_and_nothing_else_is_left(images, out):
    seen = []
    report = run(images, out, workers=2, progress=seen.append)
    assert [path.name for path in report.files] == [f"train-0000{i}-of-00003.tfrecord" for i in range(3)]
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*(path.name for path in report.files), "labels.txt", "train.manifest.json"]
    )
    assert sorted(names_in(report.files)) == sorted(
        f"{c}/{i:03}.jpg" for c in ("cat", "dog", "fox") for i in range(4)
    )
    labels = {
        record["image/class/text"][0]: record["image/class/label"] for record in records_of(report.files)
    }
    assert labels == {b"cat": [1], b"dog": [2], b"fox": [3]}
    assert report.labels.read_text() == "cat\ndog\nfox\n"
    assert (report.images, report.resumed_images, report.skipped, report.skipped_list) == (12, 0, (), None)
    assert report.size == sum(path.stat().st_size for path in report.files)
    assert report.images_per_second > 0
    assert all(progress.total == 12 for progress in seen)
    assert sorted(progress.images for progress in seen) == [progress.images for progress in seen]


def test_the_files_are_the_same_whoever_makes_them(images, tmp_path):
    assert contents(run(images, tmp_path / "one")) == contents(run(images, tmp_path / "two", workers=2))


def test_a_second_call_finds_everything_there(converted, images, out):
    before = [path.read_bytes() for path in sorted(out.glob("*.tfrecord"))]
    again = run(images, out)
    assert (again.images, again.resumed_images, again.images_per_second) == (12, 12, 0)
    assert contents(again) == before


def test_files_that_are_lost_or_cut_are_made_again_and_the_others_stay(images, out):
    first = run(images, out)
    whole = contents(first)
    first.files[0].unlink()
    first.files[1].write_bytes(whole[1][:-1])
    kept = first.files[2].stat().st_mtime_ns
    again = run(images, out)
    assert contents(again) == whole
    assert again.resumed_images == 4
    assert again.files[2].stat().st_mtime_ns == kept


def test_a_broken_image_is_fatal_and_named_and_after_mending_the_call_goes_on(images, out):
    broken = images / "dog/002.jpg"
    good = broken.read_bytes()
    broken.write_bytes(good[: len(good) // 2] + bytes(len(good) - len(good) // 2))
    with pytest.raises(DataLossError, match="'dog/002.jpg'") as caught:
        run(images, out)
    assert caught.value.filename == "dog/002.jpg"
    broken.write_bytes(good)
    assert run(images, out).images == 12


def test_broken_images_are_skipped_listed_and_remembered(images, out):
    (images / "dog/002.jpg").write_bytes(b"\xff\xd8\xff no image")
    (images / "fox/two\nlines.jpg").write_bytes(b"")
    report = run(images, out, on_error="skip")
    assert (
        report.images,
        [name for name, _ in report.skipped].count("dog/002.jpg"),
        len(report.skipped),
    ) == (11, 1, 2)
    lines = (out / "train.skipped.txt").read_text().splitlines()
    assert len(lines) == 2
    assert {line.split("\t")[0] for line in lines} == {"dog/002.jpg", "fox/two\\nlines.jpg"}
    assert report.skipped_list == out / "train.skipped.txt"
    report.files[0].unlink()
    again = run(images, out, on_error="skip")
    assert sorted(again.skipped) == sorted(report.skipped)
    with pytest.raises(DataLossError, match=r"left out 2 broken images.*Received: '(dog/002|fox)"):
        run(images, out, on_error="fail")


def test_a_source_of_broken_images_only_is_an_error(tmp_path, out):
    (tmp_path / "images/cat").mkdir(parents=True)
    (tmp_path / "images/cat/a.jpg").write_bytes(b"x")
    with pytest.raises(DataError, match=r"Not one image.*'cat/a\.jpg'"):
        run(tmp_path / "images", out, convert.ConversionSettings(), on_error="skip")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shards": 2}, "shards was 3 and is 2"),
        ({"resize": (8, 8)}, "resize was None and is .8, 8."),
        ({"label_offset": 0, "seed": 4}, "label_offset was 1 and is 0; seed was 0 and is 4"),
    ],
)
def test_other_settings_over_an_earlier_conversion_are_refused_unless_it_is_to_be_replaced(
    changed, message, converted, images, out
):
    changed = convert.ConversionSettings(**{"shards": 3} | changed)
    with pytest.raises(DataError, match=message):
        run(images, out, changed)
    if changed.shards == 2:
        report = run(images, out, changed, overwrite=True)
        assert sorted(out.glob("*.tfrecord")) == sorted(report.files)
        assert len(report.files) == 2


def test_another_source_over_an_earlier_conversion_is_refused(converted, images, out):
    (images / "cat/000.jpg").rename(images / "cat/new.jpg")
    with pytest.raises(DataError, match="names, sizes or labels have changed"):
        run(images, out)
    (images / "cat/new.jpg").unlink()
    with pytest.raises(DataError, match="there were 12 images and are 11"):
        run(images, out)


def test_train_and_val_share_a_folder_if_their_classes_are_the_same(converted, tmp_path, out):
    val = convert.ConversionSettings(shards=1, name="val")
    run(write_tree(tmp_path / "val", ("cat", "dog", "fox"), 1), out, val)
    assert len(list(out.glob("*.tfrecord"))) == 4
    other = write_tree(tmp_path / "other", ("cat", "owl"), 1)
    with pytest.raises(DataError, match=r"names other classes.*2 classes: cat, owl; there: cat, dog, fox"):
        run(other, out, convert.ConversionSettings(shards=1, name="test"))


def test_files_of_the_name_that_are_no_conversion_of_ours_are_not_touched(images, out):
    out.mkdir(parents=True)
    (out / "train-00000-of-00009.tfrecord").write_bytes(b"precious")
    with pytest.raises(DataError, match=r"without the manifest.*train-00000-of-00009"):
        run(images, out)
    (out / "train.manifest.json").write_text('{"version": 99}')
    with pytest.raises(DataError, match="manifest that is not of this version"):
        run(images, out)
    assert (out / "train-00000-of-00009.tfrecord").read_bytes() == b"precious"


def test_a_note_that_was_cut_off_is_of_no_finished_file(images, out):
    """As a machine leaves it that has lost its power."""
    whole = contents(run(images, out))
    manifest = json.loads((out / "train.manifest.json").read_text())
    del manifest["results"]
    (out / "train.manifest.json").write_text(json.dumps(manifest))
    (out / ".train.parts").mkdir()
    (out / ".train.parts/00001.json").write_text('{"index": 1, "im')
    (out / ".train.parts/00002.json").write_text("{}")
    report = run(images, out)
    assert (contents(report), report.resumed_images) == (whole, 0)


def test_a_folder_that_can_not_be_made_is_named(images, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileAccessError, match="can't be written.*file/out/.train.parts"):
        run(images, tmp_path / "file/out")


def test_a_second_conversion_at_the_same_time_is_refused(images, out):
    (out / ".train.parts").mkdir(parents=True)
    descriptor = os.open(out / ".train.parts", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(DataError, match="Another process is converting"):
            run(images, out)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"on_error": "cry"}, "Expected: one of .*on_error='cry'"),
        ({"settings": convert.ConversionSettings(shards=13)}, "at most 12 files.*shards=13"),
    ],
)
def test_a_wrong_call_is_refused(options, message, images, out):
    with pytest.raises(BadArgumentError, match=message):
        run(images, out, **options)
    assert not out.exists()


def test_a_missing_source_and_a_wrong_list_of_classes_are_refused(images, out):
    with pytest.raises(FileMissingError, match="nothing to convert there"):
        run(images / "nowhere", out)
    with pytest.raises(DataError, match="names 'cat' twice"):
        run(images, out, classes=["cat", "cat"])


def test_names_in_every_script_and_of_any_bytes_come_through(tmp_path, out):
    images = write_tree(tmp_path / "images", ("猫 и кот",), 2)
    strange = os.fsdecode(b"caf\xe9.jpg")
    (images / "猫 и кот/000.jpg").rename(images / "猫 и кот" / strange)
    report = run(images, out, convert.ConversionSettings(shards=1))
    names = {record["image/filename"][0] for record in records_of(report.files)}
    assert names == {"猫 и кот/001.jpg".encode(), "猫 и кот/".encode() + b"caf\xe9.jpg"}
    assert report.labels.read_text() == "猫 и кот\n"
    assert run(images, out, convert.ConversionSettings(shards=1)).resumed_images == 2


def test_a_killed_worker_is_an_error_in_seconds_that_names_its_file_and_the_next_call_goes_on(images, out):
    """It is killed while it reads an image, the last of a file, when the other one has made all the other files."""
    pictures = divide(_listing.list_images(images).pictures, 3, seed=0)[1]
    ending = make_endless(images / pictures[-1].name)
    killed = []

    def kill(progress):
        with _shard.Meter(out / ".train.parts") as meter:
            process, converted, _ = meter.read(1)
        # The last image of a file is counted a little before the file has its name.
        if converted == 3 and progress.images == 11 and len(list(out.glob("train-*"))) == 2 and not killed:
            killed.append(time.monotonic())
            os.kill(process, signal.SIGKILL)

    message = rf"died \(exit code SIGKILL.*train-00001-of-00003\.tfrecord at '{pictures[-1].name}'\."
    with pytest.raises(WorkerError, match=message):
        run(images, out, workers=2, progress=kill)
    assert time.monotonic() - killed[0] < KILL_LIMIT_SECONDS
    with ending():
        report = run(images, out, workers=2)
    assert report.resumed_images == 8
    assert sorted(names_in(report.files)) == sorted(
        f"{c}/{i:03}.jpg" for c in ("cat", "dog", "fox") for i in range(4)
    )


def test_an_interrupt_ends_the_workers(images, out):
    make_endless(images / "dog/002.jpg")

    def interrupt(progress):
        if progress.images > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(images, out, workers=2, progress=interrupt)
    assert wait_until_none_is_left() == []


def test_workers_convert_without_jax_and_keras(images, out, tmp_path):
    listing = _listing.list_images(images)
    place = _manifest.Workplace(tmp_path, "train", 1)
    place.parts.mkdir()
    (task,) = _conversion.tasks_of(place, listing, SETTINGS, skip=False)
    executor = start_executor(1)
    try:
        assert executor.submit(_shard.make_shard, task).result(60).images == 12
        found = executor.submit(eval, "{'jax', 'keras', 'stratax', 'PIL'} & set(__import__('sys').modules)")
        assert found.result(60) == {"stratax", "PIL"}
    finally:
        executor.shutdown(kill_workers=True)

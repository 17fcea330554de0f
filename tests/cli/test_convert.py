"""`stratax convert images` as a user calls it."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.cli import command
from tests.command.convert.pictures import make_endless, names_in, records_of, write_tree

pytestmark = pytest.mark.processes

LIMIT_SECONDS = 60


def run(*arguments):
    return command.run(["convert", "images", *map(str, arguments)])


def start(*arguments):
    """The command in a process of its own, which no terminal interrupts along with the tests."""
    return subprocess.Popen(
        [sys.executable, "-m", "stratax.cli", "convert", "images", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"STRATAX_SIMULATE": ""},
    )


def wait_until(condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_tree_becomes_files_and_the_report_says_what_was_left_out(tmp_path, capsys):
    images = write_tree(tmp_path / "images", ("cat", "dog"), 3)
    (images / "empty").mkdir()
    (images / "loose.txt").write_text("x")
    assert (
        run(images, tmp_path / "out", "--shards", 2, "--workers", 1, "--resize", "8x8", "--name", "val") == 0
    )
    printed = capsys.readouterr()
    assert "6 images of 3 classes in 2 files" in printed.out
    assert re.search(r"\d s, [\d,]+ images/s\n", printed.out)
    assert "ignored: 1 outside of a class folder" in printed.out
    assert "no image of class empty" in printed.out
    files = sorted((tmp_path / "out").glob("val-*-of-00002.tfrecord"))
    assert {(r["image/height"][0], r["image/width"][0]) for r in records_of(files)} == {(8, 8)}
    assert run(images, tmp_path / "out", "--shards", 2, "--resize", "8x8", "--name", "val") == 0
    assert "all of them were there already" in capsys.readouterr().out


def test_a_csv_with_a_list_of_labels_and_numbers_from_0(tmp_path, capsys):
    write_tree(tmp_path / "images", ("cat", "dog"), 1)
    (tmp_path / "list.csv").write_text("images/cat/000.jpg,cat\nimages/dog/000.jpg,dog\nimages/x.jpg,owl\n")
    (tmp_path / "labels").write_text("dog\ncat\n")
    options = ("--labels", tmp_path / "labels", "--label-offset", 0, "--workers", 1)
    assert run(tmp_path / "list.csv", tmp_path / "out", *options) == 0
    assert "ignored: 1 of a class that the labels do not name" in capsys.readouterr().out
    records = records_of(sorted((tmp_path / "out").glob("*.tfrecord")))
    assert {(r["image/class/text"][0], r["image/class/label"][0]) for r in records} == {
        (b"cat", 1),
        (b"dog", 0),
    }


def test_a_broken_image_is_fatal_with_exit_code_1_or_skipped_with_0(tmp_path, capsys):
    images = write_tree(tmp_path / "images", ("cat",), 3)
    (images / "cat/001.jpg").write_bytes(b"nothing")
    call = (images, tmp_path / "out", "--workers", 1)
    assert run(*call) == 1
    assert "Error: This image can't be decoded" in (message := capsys.readouterr().err)
    assert "'cat/001.jpg'" in message
    assert run(*call, "--on-error", "skip") == 0
    printed = capsys.readouterr()
    assert "2 images" in printed.out
    assert "skipped: cat/001.jpg" in printed.err
    assert f"1 broken images skipped, see {tmp_path / 'out' / 'train.skipped.txt'}" in printed.err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--resize", "big"), 2, "'big' is no size"),
        (("--resize", "0"), 2, "resize is out of range"),
        (("--shards", "9"), 2, "fewer images than files"),
        (("--name", "a/b"), 2, "name='a/b'"),
        (("--on-error", "cry"), 2, "'cry' is not one of"),
        (("--labels", "nowhere.txt"), 2, "does not exist"),
        (("--quality", "0"), 2, "is not in the range"),
    ],
)
def test_a_wrong_call_is_explained(options, code, message, tmp_path, capsys):
    images = write_tree(tmp_path / "images", ("cat",), 1)
    assert run(images, tmp_path / "out", *options) == code
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_a_source_that_is_not_there_is_a_wrong_call_and_one_without_images_a_failure(tmp_path, capsys):
    assert run(tmp_path / "nowhere", tmp_path / "out") == 2
    assert "does not exist" in capsys.readouterr().err
    assert run(tmp_path, tmp_path / "out") == 1
    assert "no image to convert" in capsys.readouterr().err


def interrupt(call, out, number):
    """Ends a conversion after two of its three files: exit code and errors. No process or memory of it is left."""
    process = start(*call)
    wait_until(lambda: process.poll() is not None or len(list(out.glob("train-*.tfrecord"))) == 2)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, said = process.communicate(timeout=LIMIT_SECONDS)
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []
    # Semaphores of the processes' queues, which a helper of loky's removes.
    wait_until(lambda: not list(pathlib.Path("/dev/shm").glob(f"*loky-{process.pid}-*")))
    return process.returncode, said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_processes_of_an_interrupted_conversion_end_without_a_traceback(number, code, tmp_path):
    images, out = write_tree(tmp_path / "images", ("cat",), 12), tmp_path / "out"
    make_endless(images / "cat/005.jpg")
    ended, said = interrupt((images, out, "--shards", 3, "--workers", 2), out, number)
    assert ended == code
    assert "Traceback" not in said


def test_processes_of_a_killed_conversion_end_and_the_next_call_goes_on(tmp_path):
    images, out = write_tree(tmp_path / "images", ("cat",), 12), tmp_path / "out"
    ending = make_endless(images / "cat/005.jpg")
    call = (images, out, "--shards", 3, "--workers", 2)
    assert interrupt(call, out, signal.SIGKILL)[0] == -signal.SIGKILL
    assert [len(names_in([path])) for path in out.glob("train-*.tfrecord")] == [4, 4]
    with ending():
        again = start(*call)
        printed, _ = again.communicate(timeout=LIMIT_SECONDS)
    assert again.returncode == 0
    assert ", 8 images were there already" in printed
    assert sorted(names_in(sorted(out.glob("train-*.tfrecord")))) == [f"cat/{i:03}.jpg" for i in range(12)]
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".tfrecord") == [
        "labels.txt",
        "train.manifest.json",
    ]

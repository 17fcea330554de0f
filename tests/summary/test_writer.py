"""Writers of summaries: files, defaults, steps, conditions, failures."""

import gc
import signal
import subprocess
import sys
import textwrap
import time

import jax.numpy as jnp
import pytest

from stratax import summary
from stratax.errors import BadArgumentError, FileAccessError, SummaryError


def test_the_inner_of_two_writers_is_used_and_then_the_outer_again(tmp_path, read):
    outer, inner = (summary.create_file_writer(tmp_path / name) for name in ("outer", "inner"))
    with outer.as_default(step=10):
        summary.scalar("a", 1.0)
        with inner.as_default(step=20):
            summary.scalar("b", 1.0)
        summary.scalar("c", 1.0)
        with inner.as_default():
            summary.scalar("d", 1.0)
    assert summary.scalar("e", 1.0, step=0) is False
    outer.close()
    inner.close()
    found = [{tag: step for tag, [(step, _)] in read(tmp_path / name).items()} for name in ("outer", "inner")]
    assert found == [{"a": 10, "c": 10}, {"b": 20, "d": 10}]


def test_a_step_and_a_writer_can_be_set_from_now_on(tmp_path, read):
    writer = summary.create_file_writer(tmp_path)
    writer.set_as_default(step=3)
    assert summary.experimental.get_step() == 3
    summary.scalar("a", 1.0)
    summary.experimental.set_step(4)
    summary.scalar("a", 2.0)
    summary.flush()
    assert read(tmp_path) == {"a": [(3, 1.0), (4, 2.0)]}
    writer.close()


def test_a_writer_that_writes_nothing_leaves_the_one_around_it(tmp_path, read):
    writer = summary.create_file_writer(tmp_path)
    nothing = summary.create_noop_writer()
    with writer.as_default(), nothing.as_default(step=9):
        summary.scalar("a", 1.0, step=0)
    nothing.init()
    nothing.flush()
    nothing.close()
    writer.close()
    assert read(tmp_path) == {"a": [(0, 1.0)]}


def test_a_closed_writer_is_refused(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        writer.close()
        writer.close()
        writer.flush()
        with pytest.raises(SummaryError, match="after its end"):
            summary.scalar("a", 1.0, step=0)
    for use in (writer.as_default, writer.set_as_default, writer.init):
        with pytest.raises(SummaryError, match="closed>.*Make a new one"):
            use()


def test_files_are_named_as_tensorflow_names_them(tmp_path):
    writer = summary.create_file_writer(tmp_path / "new" / "folder", filename_suffix=".mine")
    summary.create_file_writer(tmp_path).close()
    writer.close()
    (mine,) = (tmp_path / "new" / "folder").iterdir()
    assert mine.name.startswith("events.out.tfevents.")
    assert mine.name.endswith(".mine")
    assert [each.suffix for each in tmp_path.iterdir() if each.is_file()] == [".v2"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"logdir": None}, "create_noop_writer"),
        ({"max_queue": -1}, "max_queue=-1"),
        ({"flush_millis": "soon"}, "flush_millis='soon'"),
        ({"flush_millis": float("nan")}, "flush_millis=nan"),
    ],
)
def test_arguments_that_can_not_be_right_are_refused(tmp_path, arguments, match):
    with pytest.raises(BadArgumentError, match=match):
        summary.create_file_writer(**({"logdir": tmp_path} | arguments))


def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileAccessError, match="file/logs"):
        summary.create_file_writer(tmp_path / "file" / "logs")


def test_a_file_that_can_not_be_written_any_more_says_so(tmp_path, recwarn, monkeypatch):
    writer = summary.create_file_writer(tmp_path)

    def refuse(event):
        raise OSError("No space left on device")

    monkeypatch.setattr(writer._file._events, "add_event", refuse)
    with writer.as_default():
        summary.scalar("a", 1.0, step=0)
        with pytest.raises(FileAccessError, match="could not be written.*No space left"):
            writer.flush()
        with pytest.raises(FileAccessError, match="are dropped"):
            summary.scalar("a", 1.0, step=0)
    with pytest.raises(FileAccessError):
        writer.close()
    assert ["can't be written" in str(each.message) for each in recwarn] == [True]


def test_a_value_that_is_gone_is_left_out_and_the_others_are_written(tmp_path, read, caplog):
    writer = summary.create_file_writer(tmp_path)
    array = jnp.ones(())
    with writer.as_default(), caplog.at_level("ERROR", "stratax"):
        summary.scalar("a", array, step=0)
        array.delete()
        summary.scalar("a", 2.0, step=1)
        writer.flush()
    writer.close()
    assert read(tmp_path)["a"][-1] == (1, 2.0)
    assert all("is left out" in message for message in caplog.messages)


def test_more_than_max_queue_events_are_on_the_disk_soon(tmp_path, read):
    writer = summary.create_file_writer(tmp_path, max_queue=3, flush_millis=600_000)
    with writer.as_default():
        for step in range(8):
            summary.scalar("a", step, step=step)
        deadline = time.monotonic() + 20
        while len(read(tmp_path).get("a", [])) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    writer.close()


def test_a_writer_that_nobody_holds_ends_its_file(tmp_path, read):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        summary.scalar("a", 1.0, step=0)
    thread = writer._file._thread
    del writer
    gc.collect()
    thread.join(20)
    assert not thread.is_alive()
    assert read(tmp_path) == {"a": [(0, 1.0)]}


PROGRAM = """
    import sys, time
    from stratax import summary
    writer = summary.create_file_writer(sys.argv[1], max_queue=1000, flush_millis=500)
    writer.set_as_default()
    summary.scalar("a", 1.0, step=1)
    {end}
"""


def run(tmp_path, end, **options):
    program = textwrap.dedent(PROGRAM).format(end=end)
    return subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], **options)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("1 / 0", 1),
        ("from stratax.cluster import exits; exits.leave(201)", 201),
    ],
)
def test_a_program_that_ends_without_close_has_written_all(tmp_path, read, end, code):
    assert run(tmp_path, end, stderr=subprocess.DEVNULL).wait() == code
    assert read(tmp_path) == {"a": [(1, 1.0)]}


@pytest.mark.processes
def test_a_killed_program_has_written_what_is_older_than_flush_millis(tmp_path, read):
    end = "time.sleep(1.5); summary.scalar('b', 2.0, step=2); print('written', flush=True); time.sleep(60)"
    process = run(tmp_path, end, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    found = read(tmp_path)
    assert found.pop("a") == [(1, 1.0)]
    # What is younger may have come, or not; what is there can be read.
    assert found in ({}, {"b": [(2, 2.0)]})

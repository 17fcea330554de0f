"""Reading event files: whole, cut off, damaged, and while they are written."""

import os
import pathlib

import pytest

from stratax import summary
from stratax.errors import DataLossError, FileMissingError
from stratax.tensorflow.v1.train import summary_iterator


@pytest.fixture
def path(tmp_path):
    """A file of four events, the first of which tells the version."""
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in range(3):
            summary.scalar("a", step, step=step)
    writer.close()
    (path,) = tmp_path.iterdir()
    return path


def steps(events):
    return [event.step for event in events if event.HasField("summary")]


def test_the_events_of_a_file_come_in_order(path):
    events = list(summary_iterator(path))
    assert events[0].file_version == "brain.Event:2"
    assert [event.step for event in events[1:]] == [0, 1, 2]
    assert all(event.wall_time > 1.7e9 for event in events)


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_file_that_is_cut_off_ends_with_its_last_whole_event(path, cut):
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    events = summary_iterator(path)
    assert steps(events) == [0, 1]
    path.write_bytes(content)
    assert steps(events) == [2]


def test_an_empty_file_has_no_events(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert list(summary_iterator(tmp_path / "empty")) == []


def test_a_damaged_event_says_so_and_the_next_one_comes(path):
    content = bytearray(path.read_bytes())
    first = int.from_bytes(content[:8], "little") + 16
    content[first + 20] ^= 1
    path.write_bytes(content)
    events = summary_iterator(path)
    next(events)
    with pytest.raises(DataLossError, match=rf"Event 1 of .*at byte {first}, is damaged") as caught:
        next(events)
    assert (caught.value.filename, caught.value.record, caught.value.offset) == (str(path), 1, first)
    assert steps(events) == [1, 2]


def test_a_damaged_length_ends_the_file_with_an_error(path):
    content = bytearray(path.read_bytes())
    content[int.from_bytes(content[:8], "little") + 16] ^= 1
    path.write_bytes(content)
    events = summary_iterator(path)
    next(events)
    with pytest.raises(DataLossError, match="damaged length"):
        next(events)
    assert list(events) == []


def test_what_is_no_event_says_so(tmp_path):
    from stratax.data import TFRecordWriter

    with TFRecordWriter(str(tmp_path / "records")) as writer:
        writer.write(b"\xff\xff\xff")
    with pytest.raises(DataLossError, match="is no event"):
        next(summary_iterator(tmp_path / "records"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileMissingError, match="nothing"):
        summary_iterator(tmp_path / "nothing")


def test_a_reader_of_the_same_process_waits_for_the_writer(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    (path,) = tmp_path.iterdir()
    with writer.as_default():
        for step in range(300):
            summary.histogram("a", [1.0, 2.0], step=step)
    relative = pathlib.Path(os.path.relpath(path))
    assert steps(summary_iterator(relative)) == list(range(300))
    writer.close()


def test_a_file_at_a_url_is_read(path):
    import fsspec

    fsspec.filesystem("memory").pipe_file("/events", path.read_bytes())
    assert steps(summary_iterator("memory://events")) == [0, 1, 2]

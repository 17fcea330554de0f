"""Whoever reads a path in this process waits for whoever writes it, and writes of one folder end as they began."""

import contextlib
import os
import subprocess
import sys
import threading

import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _store
from stratax.io import unfinished
from stratax.tf.io import gfile
from stratax.train import Checkpoint, CheckpointManager, CheckpointOptions, latest_checkpoint, load_checkpoint

WAIT = CheckpointOptions(enable_async=False)


def checkpoint_of(value):
    return Checkpoint(v=sx.Variable(value))


@pytest.fixture
def written(monkeypatch):
    """The values in the order in which they came to stand in files; that of 1.0 waits for a while for another."""
    order, another = [], threading.Event()
    write = _store.write

    def slow(path, contents):
        value = float(contents.arrays["v"])
        if value == 1.0:
            another.wait(0.3)
        write(path, contents)
        order.append(value)
        another.set()

    monkeypatch.setattr(_store, "write", slow)
    return order


@pytest.fixture
def held(monkeypatch):
    """An event without which no checkpoint is written."""
    go = threading.Event()
    write = _store.write

    def wait(path, contents):
        go.wait(60)
        write(path, contents)

    monkeypatch.setattr(_store, "write", wait)
    yield go
    go.set()


def test_a_path_has_what_was_written_to_it_last_whoever_wrote_and_reads(tmp_path, written):
    checkpoint_of(1.0).write(tmp_path / "ckpt")
    path = checkpoint_of(2.0).write(tmp_path / "ckpt")
    found = sx.Variable(0.0)
    Checkpoint(v=found).read(path)
    assert (float(found), written) == (2.0, [1.0, 2.0])


def test_the_latest_of_two_managers_of_a_folder_is_the_one_saved_last(tmp_path, written):
    first, second = (CheckpointManager(checkpoint_of(value), tmp_path, 1) for value in (1.0, 2.0))
    first.save(1)
    second.save(2)
    assert latest_checkpoint(tmp_path) == first.latest_checkpoint == str(tmp_path / "ckpt-2")
    assert written == [1.0, 2.0]
    assert os.listdir(tmp_path) == ["ckpt-2"]


READERS = {
    "restore": lambda path: Checkpoint(v=sx.Variable(0.0)).restore(path).assert_consumed(),
    "load_checkpoint": load_checkpoint,
    "load_variable": lambda path: sx.train.load_variable(path, "v") == 1.0,
    "list_variables": sx.train.list_variables,
    "of the folder": lambda path: load_checkpoint(path.parent),
    "latest_checkpoint": lambda path: latest_checkpoint(path.parent),
    "get_checkpoint_state": lambda path: sx.train.get_checkpoint_state(path.parent),
    "checkpoint_exists": sx.train.checkpoint_exists,
    "checkpoints_iterator": lambda path: list(sx.train.checkpoints_iterator(path.parent, timeout=0)),
    "manager": lambda path: CheckpointManager(Checkpoint(), path.parent, 1).checkpoints,
    "gfile.exists": gfile.exists,
    "gfile.isdir": gfile.isdir,
    "gfile.listdir": lambda path: gfile.listdir(path.parent) == ["ckpt-1", "ckpt-1.index"],
    "gfile.walk": lambda path: list(gfile.walk(path)),
    "gfile.glob": lambda path: gfile.glob(f"{path.parent}/ckpt-*"),
    "GFile": lambda path: gfile.GFile(path / "index.json").read(),
    "gfile.rmtree": lambda path: gfile.rmtree(path) is None and not os.path.exists(path),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_waits_for_a_write_that_another_object_began(tmp_path, written, name):
    folder = tmp_path / "link"
    (tmp_path / "folder").mkdir()
    folder.symlink_to(tmp_path / "folder")
    checkpoint_of(1.0).write(tmp_path / "folder" / "ckpt-1")
    assert READERS[name](folder / "ckpt-1")


def test_another_folder_is_read_meanwhile(tmp_path, held):
    writer = checkpoint_of(1.0)
    writer.write(tmp_path / "one" / "ckpt")
    assert latest_checkpoint(tmp_path / "other") is None
    assert not gfile.exists(tmp_path / "other" / "ckpt")
    held.set()
    writer.sync()


def test_a_write_that_failed_raises_in_its_writer_and_keeps_others_from_what_is_older(tmp_path, monkeypatch):
    path = checkpoint_of(1.0).write(tmp_path / "ckpt", WAIT)
    writer = checkpoint_of(2.0)
    with monkeypatch.context() as patch:
        patch.setattr(_store, "_put_in_place", lambda *places: (_ for _ in ()).throw(OSError("no room")))
        writer.write(path)
        for read in (lambda: checkpoint_of(0.0).read(path), lambda: load_checkpoint(path)):
            with pytest.raises(errors.CheckpointError, match="last write of this checkpoint failed.*no room"):
                read()
    with pytest.raises(errors.CheckpointError, match="could not be written.*no room"):
        writer.sync()
    assert load_checkpoint(path).get_tensor("v") == 1.0


def test_a_later_write_takes_the_place_of_one_that_failed(tmp_path, monkeypatch):
    lost = checkpoint_of(1.0)
    with monkeypatch.context() as patch:
        patch.setattr(_store, "_put_in_place", lambda *places: (_ for _ in ()).throw(OSError("no room")))
        lost.write(tmp_path / "ckpt")
        assert not sx.train.checkpoint_exists(tmp_path / "ckpt")
    path = checkpoint_of(2.0).write(tmp_path / "ckpt")
    assert load_checkpoint(path).get_tensor("v") == 2.0
    with pytest.raises(errors.CheckpointError, match="no room"):
        lost.sync()


def test_waits_have_a_limit_and_say_what_they_wait_for(tmp_path, held, monkeypatch):
    first, second = checkpoint_of(1.0), checkpoint_of(2.0)
    path = first.write(tmp_path / "ckpt")
    monkeypatch.setattr(unfinished, "WRITE_SECONDS", 0.05)
    second.write(path)
    waits = [lambda: load_checkpoint(path), second.sync, lambda: latest_checkpoint(tmp_path)]
    for wait in waits:
        with pytest.raises(errors.CheckpointError, match=r"within 0.05 s.*ckpt', which is still written"):
            wait()
    held.set()
    monkeypatch.setattr(unfinished, "WRITE_SECONDS", 60.0)
    # The second write has waited for the first one, too, and given up; it may have said so above.
    with contextlib.suppress(errors.CheckpointError):
        second.sync()
    assert load_checkpoint(path).get_tensor("v") == 1.0


def test_what_runs_in_a_write_may_read_it_while_the_next_one_waits(tmp_path):
    seen, began = [], threading.Event()

    def look(path):
        began.wait(60)
        seen.append(float(load_checkpoint(path).get_tensor("v")))

    first, second = checkpoint_of(1.0), checkpoint_of(2.0)
    path = first.write(tmp_path / "ckpt", CheckpointOptions(experimental_write_callbacks=[look]))
    second.write(path)
    began.set()
    first.sync()
    second.sync()
    assert seen == [1.0]
    assert load_checkpoint(path).get_tensor("v") == 2.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.processes
def test_a_forked_process_does_not_wait_for_its_parents_writes():
    program = """
import os, threading
from stratax.io import unfinished
go = threading.Event()
unfinished.begin("/nowhere/ckpt", lambda: go.wait(60) and None, print)
child = os.fork()
if child == 0:
    os._exit(0 if unfinished.wait_for("/nowhere/ckpt") is None else 1)
assert os.waitpid(child, 0)[1] == 0
go.set()
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)
    assert done.returncode == 0


SECONDS = 60


class Works:
    """Begins writes that wait for an event each, and notes in which order their work is done."""

    def __init__(self):
        self.done = []
        self.events = []

    def begin(self, path, error=None):
        event = threading.Event()
        self.events.append(event)

        def work():
            event.wait(SECONDS)
            self.done.append(str(path))
            if error is not None:
                raise error

        return event, unfinished.begin(path, work, leave=lambda error: None)


@pytest.fixture
def works():
    made = Works()
    yield made
    for event in made.events:
        event.set()
    for write in list(unfinished._writes):
        write.finish()


def test_writes_that_touch_one_another_end_in_their_order_and_others_do_not_wait(works, tmp_path):
    first, one = works.begin(tmp_path / "a")
    second, beside = works.begin(tmp_path / "b")
    below, deep = works.begin(tmp_path / "a" / "c" / "d")
    other, elsewhere = works.begin(tmp_path / "x" / "y")
    for event in (second, below, other):
        event.set()
    elsewhere.wait()
    assert works.done == [str(tmp_path / "x" / "y")]
    assert one.is_running
    assert not elsewhere.is_running
    first.set()
    for write in (one, beside, deep):
        write.wait()
    assert set(works.done[1:]) == {str(write.path) for write in (one, beside, deep)}
    assert works.done[1] == str(one.path)


@pytest.mark.parametrize("place", ["folder/ckpt", "folder", "folder/ckpt/file", "folder/beside", "."])
def test_who_reads_what_a_write_touches_waits_for_it(works, tmp_path, place):
    event, write = works.begin(tmp_path / "folder" / "ckpt")
    timer = threading.Timer(0.05, event.set)
    timer.start()
    assert unfinished.wait_for(tmp_path / place) is None
    assert not write.is_running
    timer.join()


def test_who_reads_something_else_does_not_wait(works, tmp_path):
    _, write = works.begin(tmp_path / "folder" / "ckpt")
    assert unfinished.wait_for(tmp_path / "other" / "ckpt") is None
    assert write.is_running


def test_a_failure_is_given_to_who_reads_exactly_this_path_until_its_writer_has_it(works, tmp_path):
    event, write = works.begin(tmp_path / "a", ValueError("mine"))
    event.set()
    assert unfinished.wait_for(tmp_path) is None
    for _ in range(2):
        assert str(unfinished.wait_for(tmp_path / "a")) == "mine"
    assert str(write.error) == "mine"
    assert str(write.finish()) == "mine"
    assert (write.finish(), write.error, unfinished.wait_for(tmp_path / "a")) == (None, None, None)


def test_a_failure_is_of_no_interest_to_readers_once_a_later_write_has_succeeded(works, tmp_path):
    for error in (ValueError("mine"), None):
        event, write = works.begin(tmp_path / "a", error)
        event.set()
        write.wait()
    assert unfinished.wait_for(tmp_path / "a") is None
    assert [str(write.error) for write in unfinished._writes] == ["mine"]  # Its writer is still told.


def test_a_failure_does_not_keep_the_next_write_of_the_folder_from_its_work(works, tmp_path):
    first, _ = works.begin(tmp_path / "a", ValueError("mine"))
    second, write = works.begin(tmp_path / "a")
    first.set()
    second.set()
    assert write.finish() is None
    assert works.done == [str(tmp_path / "a")] * 2


def test_what_runs_in_a_write_can_begin_no_other_and_not_wait_for_itself(tmp_path):
    caught = []

    def work():
        for call in (lambda: unfinished.begin(tmp_path / "b", print, leave=print), lambda: write[0].wait()):
            with pytest.raises(errors.CheckpointError, match=r"by what runs while one is written"):
                call()
            caught.append(1)
        assert unfinished.wait_for(tmp_path / "a") is None

    began, write = threading.Event(), []
    write.append(unfinished.begin(tmp_path / "a", lambda: began.wait(SECONDS) and work(), leave=print))
    began.set()
    assert write[0].finish() is None
    assert caught == [1, 1]


def test_at_the_end_of_the_program_failures_are_written_out_and_the_first_one_decides_how_it_ends(
    tmp_path, capsys
):
    left = []
    for name in ("a", "b", "c"):

        def work(name=name):
            if name != "b":
                raise ValueError(f"no room for {name}")

        unfinished.begin(
            tmp_path / name, work, leave=lambda error, name=name: left.append((name, str(error)))
        )
    unfinished._at_exit()
    assert capsys.readouterr().err == "stratax: no room for a\nstratax: no room for c\n"
    assert left == [("a", "no room for a")]
    assert unfinished._writes == []


AT_THE_END = """
import atexit, sys, threading
import stratax.tf as tf

def start(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

checkpoint = tf.train.Checkpoint(v=tf.Variable(3.0))
if sys.argv[2] == "last line":
    checkpoint.write(sys.argv[1])
else:
    atexit.register(lambda: print(checkpoint.write(sys.argv[1])))
    if sys.argv[2] == "second":
        checkpoint.write(sys.argv[1] + "-before")
# Python 3.12 starts no threads from here on: exit functions of threads are called last in, first out.
threading._register_atexit(lambda: setattr(threading.Thread, "start", start))
"""


@pytest.mark.processes
@pytest.mark.parametrize("where", ["last line", "atexit", "second"])
def test_what_is_saved_at_the_end_of_the_program_is_there(tmp_path, where):
    path = str(tmp_path / "ckpt")
    command = [sys.executable, "-c", AT_THE_END, path, where]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert load_checkpoint(path).get_tensor("v") == 3.0


@pytest.mark.processes
def test_what_cannot_be_saved_in_an_exit_function_is_raised_there(tmp_path):
    path = tmp_path / "ckpt"
    path.mkdir()
    (path / "mine").write_text("no checkpoint")
    command = [sys.executable, "-c", AT_THE_END, str(path), "atexit"]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert "CheckpointError: The checkpoint could not be written" in done.stderr
    assert (path / "mine").exists()

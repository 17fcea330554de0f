"""Folders that a process holds: nobody removes them while it lives, and whoever comes next does when it has died."""

import contextlib
import errno
import os
import shutil
import subprocess
import sys

import pytest

from stratax.io import held

LOCKS = pytest.mark.parametrize("lock_file", ["", "lock"])


def makes(folder):
    """Makes folders 0, 1, 2, ... in a folder."""
    made = []

    def make():
        made.append(folder / str(len(made)))
        made[-1].mkdir()
        return made[-1]

    return make, made


@LOCKS
def test_a_held_folder_stays_until_it_is_released(tmp_path, lock_file):
    make, _ = makes(tmp_path)
    folder, hold = held.make_held(make, lock_file=lock_file)
    with pytest.raises(BlockingIOError):
        held.hold(folder, lock_file=lock_file)
    held.remove_if_abandoned(folder, lock_file=lock_file)
    assert folder.is_dir()
    hold.release()
    hold.release()
    held.remove_if_abandoned(folder, lock_file=lock_file)
    assert not folder.exists()


@LOCKS
def test_what_a_killed_process_held_is_removed(tmp_path, lock_file):
    folder = tmp_path / "folder"
    folder.mkdir()
    program = f"""
import os, signal
from stratax.io import held
hold = held.hold({str(folder)!r}, lock_file={lock_file!r})
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "STRATAX_SIMULATE": ""}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        held.remove_if_abandoned(folder, lock_file=lock_file)
        assert folder.is_dir()
        process.kill()
    held.remove_if_abandoned(folder, lock_file=lock_file)
    assert not folder.exists()


@LOCKS
@pytest.mark.parametrize("moment", ["before it is opened", "before it is locked", "while it is removed"])
def test_a_folder_that_another_process_takes_for_abandoned_is_made_again(
    tmp_path, monkeypatch, lock_file, moment
):
    make, made = makes(tmp_path)
    lock, other = held._lock, contextlib.ExitStack()

    def make_and_lose():
        folder = make()
        if len(made) == 1 and moment == "before it is opened":
            shutil.rmtree(folder)
        if len(made) == 1 and moment == "while it is removed":
            other.enter_context(held.hold(folder, lock_file=lock_file))
        return folder

    def lock_late(descriptor):
        if len(made) == 1 and moment == "before it is locked":
            shutil.rmtree(made[0])
        return lock(descriptor)

    monkeypatch.setattr(held, "_lock", lock_late)
    with other:
        folder, hold = held.make_held(make_and_lose, lock_file=lock_file)
    assert folder == tmp_path / "1"
    with hold, pytest.raises(BlockingIOError):
        held.hold(folder, lock_file=lock_file)


@LOCKS
def test_where_the_file_system_has_no_locks_nothing_is_removed(tmp_path, monkeypatch, lock_file):
    def no_locks(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", no_locks)
    make, _ = makes(tmp_path)
    folder, hold = held.make_held(make, lock_file=lock_file)
    assert not hold.is_exclusive
    hold.release()
    held.remove_if_abandoned(folder, lock_file=lock_file)
    assert folder.is_dir()


def test_what_belongs_to_another_user_or_is_a_link_stays(tmp_path):
    make, _ = makes(tmp_path)
    folder = make()
    link = tmp_path / "link"
    link.symlink_to(folder)
    held.remove_if_abandoned(folder, owner=os.geteuid() + 1)
    held.remove_if_abandoned(link)
    held.remove_if_abandoned(tmp_path / "nothing")
    assert folder.is_dir()
    held.remove_if_abandoned(folder, owner=os.geteuid())
    assert not folder.exists()


def test_folders_that_always_disappear_are_an_error(tmp_path):
    make, made = makes(tmp_path)

    def make_and_lose():
        folder = make()
        folder.rmdir()
        return folder

    with pytest.raises(OSError, match="removed by another process as soon as it was made"):
        held.make_held(make_and_lose)
    assert len(made) == held._ATTEMPTS

"""Local sockets lie where only their owner can reach them, and are gone with their process."""

import os
import stat
import subprocess
import sys
import tempfile

import pytest

from stratax.cluster import _sockets
from stratax.cluster._sockets import remove_abandoned_sockets, remove_sockets, socket_path
from stratax.errors import FileAccessError


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A short folder for sockets, and no other; this process has none in it yet."""
    with tempfile.TemporaryDirectory(prefix="s-", dir="/tmp") as folder:
        monkeypatch.setattr(_sockets, "_state", _sockets._State())
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        yield folder
        remove_sockets()


def test_sockets_lie_in_one_folder_of_mode_0700_which_goes_away(place):
    paths = [socket_path("service"), socket_path("service")]
    assert len(set(paths)) == 2
    (folder,) = {os.path.dirname(path) for path in paths}
    assert os.path.dirname(folder) == place
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    open(paths[0], "w").close()
    remove_sockets()
    remove_sockets()
    assert os.listdir(place) == []
    assert os.path.dirname(socket_path("relay")) != folder


@pytest.mark.parametrize("at_a_start", [True, False])
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(place, at_a_start):
    program = "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n" + (
        "from stratax.cluster._sockets import socket_path\n"
        "open(socket_path('service'), 'w').close(); print('made', flush=True); sys.stdin.read(); os._exit(0)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "made\n"
        (theirs,) = os.listdir(place)
        os.mkdir(os.path.join(place, "another-folder"))
        socket_path("service")
        assert len(os.listdir(place)) == 3
        remove_sockets()
        assert set(os.listdir(place)) == {theirs, "another-folder"}
        remove_abandoned_sockets()
        assert set(os.listdir(place)) == {theirs, "another-folder"}
        process.kill()
    if at_a_start:
        socket_path("service")
    else:
        remove_abandoned_sockets()
    assert theirs not in os.listdir(place)
    assert "another-folder" in os.listdir(place)


def test_a_process_that_was_forked_off_has_a_folder_of_its_own(place):
    path = socket_path("service")
    child = os.fork()
    if not child:
        remove_sockets()
        os._exit(0 if os.path.dirname(socket_path("service")) != os.path.dirname(path) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert os.path.isdir(os.path.dirname(path))


def test_where_the_folder_for_temporary_files_will_not_do_another_is_taken(place, monkeypatch):
    for name, mode in (("x" * 100, 0o700), ("open", 0o777)):
        folder = os.path.join(place, name)
        os.mkdir(folder)
        os.chmod(folder, mode)
        monkeypatch.setattr(_sockets, "_state", _sockets._State())
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        assert os.path.dirname(os.path.dirname(socket_path("service"))) == place
        assert os.listdir(folder) == []
        remove_sockets()


def test_where_nothing_will_do_the_error_says_why(place, monkeypatch):
    long, missing = os.path.join(place, "x" * 100), os.path.join(place, "missing")
    os.mkdir(long)
    monkeypatch.setattr(
        _sockets, "_places", lambda: [_sockets.pathlib.Path(long), _sockets.pathlib.Path(missing)]
    )
    with pytest.raises(FileAccessError, match=r"Set TMPDIR.*path is too long.*missing \(No such file"):
        socket_path("service")

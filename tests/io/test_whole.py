"""Small files and folders are written whole or not at all."""

import os
import pathlib
import socket
import subprocess
import sys

import fsspec
import pytest

from stratax import errors, io
from stratax.io import _whole


@pytest.fixture(params=["local", "url"])
def folder(request, tmp_path):
    """An empty folder."""
    if request.param == "local":
        yield str(tmp_path)
        return
    memory = fsspec.filesystem("memory")
    memory.makedirs("/whole", exist_ok=True)
    yield "memory://whole"
    memory.rm("/whole", recursive=True)


def refuse(*arguments):
    raise OSError("no")


def test_a_file_is_written_read_measured_and_replaced_only_if_that_is_said(folder):
    path = io.join(folder, "a", "b")
    io.make_folder(io.join(folder, "a"))
    io.make_folder(io.join(folder, "a"))
    assert io.write_file(path, b"first", replace=False)
    assert not io.write_file(path, b"second", replace=False)
    assert io.read_file(path) == b"first"
    assert io.write_file(path, b"third one")
    assert (io.read_file(path), io.size_of(path)) == (b"third one", 9)
    io.remove_folder(io.join(folder, "a"))
    io.remove_folder(io.join(folder, "a"))
    for look in (io.read_file, io.size_of):
        with pytest.raises(errors.FileMissingError, match="a/b"):
            look(path)


def test_names_are_joined_as_a_path_or_a_url():
    assert io.join("/a", "b", "c") == "/a/b/c"
    assert io.join("gs://bucket/", "b") == "gs://bucket/b"


def test_a_hidden_file_is_beside_its_place_and_fits_no_pattern_for_it(tmp_path):
    path = str(tmp_path / ("\N{LATIN SMALL LETTER U WITH DIAERESIS}" * 120 + ".txt"))
    with io.open_beside(path) as first, io.open_beside(path) as second:
        names = {os.path.basename(file.name) for file in (first, second)}
        assert len(names) == 2
        assert all(name.startswith(".") and name.endswith(".tmp") for name in names)
        assert {os.path.dirname(file.name) for file in (first, second)} == {str(tmp_path)}
        for file in (first, second):
            io.discard(file)
    assert os.listdir(tmp_path) == []


def test_a_file_appears_when_its_block_ends_and_not_at_all_if_it_fails(tmp_path):
    path = tmp_path / "a"
    with io.new_file(str(path)) as file:
        file.write(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"

    def cut_off():
        with io.new_file(str(path)) as file:
            file.write(b"second")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cut_off()
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_what_is_published_is_there_and_what_is_discarded_afterwards_stays(tmp_path):
    path = tmp_path / "a"
    for content, replace, expected in [(b"1", False, True), (b"2", False, False), (b"3", True, True)]:
        file = io.open_beside(str(path))
        file.write(content)
        assert io.publish(file, str(path), replace=replace) is expected
        io.discard(file)
    assert path.read_bytes() == b"3"
    assert os.listdir(tmp_path) == ["a"]


def test_where_there_are_no_links_a_file_that_is_there_stays_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(_whole.os, "link", refuse)
    path = str(tmp_path / "a")
    assert io.write_file(path, b"first", replace=False)
    assert not io.write_file(path, b"second", replace=False)
    assert io.read_file(path) == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_a_replaced_file_has_its_own_ending_and_stays_if_the_block_fails(tmp_path):
    path = tmp_path / "a.h5"
    path.write_text("before")

    def cut_off():
        with io.replace_file(str(path)) as hidden:
            assert hidden.endswith(".a.h5")
            pathlib.Path(hidden).write_text("half")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cut_off()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.h5"]


def test_a_link_keeps_its_place_and_what_it_points_at_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "a"
    link.symlink_to(tmp_path / "disk" / "b")
    with io.replace_file(str(link)) as hidden:
        pathlib.Path(hidden).write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "disk" / "b").read_text() == "new"


def test_what_another_user_s_process_writes_is_left_alone(tmp_path, monkeypatch):
    theirs = tmp_path / f".{socket.gethostname()}.1-1.tmp.a"
    theirs.touch()

    def kill(pid, signal):
        raise PermissionError

    monkeypatch.setattr(_whole.os, "kill", kill)
    with io.replace_file(str(tmp_path / "a")) as hidden:
        pathlib.Path(hidden).write_text("new")
    assert theirs.exists()


def test_what_a_killed_process_has_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    gone = process.pid
    dead = tmp_path / f".{socket.gethostname()}.{gone}-1.tmp.a.h5"
    other = tmp_path / f".{socket.gethostname()}.{os.getppid()}-1.tmp.a.h5"
    elsewhere = tmp_path / f".another-host.{gone}-1.tmp.a.h5"
    for path in (dead, other, elsewhere):
        path.touch()
    with io.replace_file(str(tmp_path / "a.h5")) as path:
        assert pathlib.Path(path).parent == tmp_path
        pathlib.Path(path).write_text("new")
    assert (tmp_path / "a.h5").read_text() == "new"
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.h5", other, elsewhere])

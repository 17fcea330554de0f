"""Files and folders under TensorFlow's names, on this machine and at a URL."""

import errno
import pathlib

import fsspec
import pytest

from stratax import errors
from stratax.io import gfile as gfile


@pytest.fixture(params=["local", "url"])
def folder(request, tmp_path):
    """An empty folder."""
    if request.param == "local":
        yield str(tmp_path)
        return
    memory = fsspec.filesystem("memory")
    memory.makedirs("/gfile", exist_ok=True)
    yield "memory://gfile"
    memory.rm("/gfile", recursive=True)


def test_a_file_is_written_with_its_folders_and_read(folder):
    path = gfile.join(folder, "a", "b.bin")
    gfile.write_file(path.encode(), b"\x00\xff")
    assert gfile.read_file(path.encode()) == b"\x00\xff"
    gfile.write_file(path, "gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n")
    assert gfile.read_file(path) == b"gr\xc3\xbcn"
    (match,) = gfile.matching_files(gfile.join(folder, "a", "*"))
    assert gfile.read_file(match) == b"gr\xc3\xbcn"


def test_folders_are_made_listed_walked_and_removed(folder):
    deep = gfile.join(folder, "x", "y")
    gfile.makedirs(deep)
    gfile.makedirs(deep)
    gfile.write_file(gfile.join(deep, "file"), b"1")
    gfile.mkdir(gfile.join(folder, "z"))
    gfile.mkdir(gfile.join(folder, "z"))
    assert list(gfile.walk(gfile.join(deep, "file"))) == list(gfile.walk(gfile.join(folder, "no"))) == []
    assert gfile.listdir(folder) == ["x", "z"]
    assert [gfile.isdir(gfile.join(folder, *parts)) for parts in (["x"], ["x", "y", "file"], ["no"])] == [
        True,
        False,
        False,
    ]
    assert sorted(gfile.walk(folder)) == [
        (folder, ["x", "z"], []),
        (gfile.join(folder, "x"), ["y"], []),
        (deep, [], ["file"]),
        (gfile.join(folder, "z"), [], []),
    ]
    assert gfile.stat(gfile.join(folder, "x")).is_directory
    gfile.rmtree(gfile.join(folder, "x"))
    assert gfile.listdir(folder) == ["z"]


def test_a_file_is_copied_renamed_and_removed_and_replaced_only_if_that_is_said(folder):
    first, second = gfile.join(folder, "first"), gfile.join(folder, "second")
    gfile.write_file(first, b"1")
    gfile.copy(first, second)
    gfile.write_file(first, b"2")
    for move in (gfile.copy, gfile.rename):
        with pytest.raises(errors.AlreadyExistsError, match="a file or folder of this name.*overwrite=True"):
            move(first, second)
    gfile.rename(first, second, overwrite=True)
    assert gfile.read_file(second) == b"2"
    assert not gfile.exists(first)
    gfile.remove(second)
    assert not gfile.exists(second)


def test_a_file_is_copied_from_one_file_system_to_another(tmp_path):
    gfile.write_file(tmp_path / "here", b"12")
    gfile.copy(tmp_path / "here", "memory://gfile-there")
    assert gfile.read_file("memory://gfile-there") == b"12"
    gfile.remove("memory://gfile-there")


def test_a_file_is_written_and_read_from_front_to_back(folder):
    path = gfile.join(folder, "lines")
    with gfile.GFile(path, "w") as file:
        file.write("one\r\n")
        file.flush()
        file.write("two")
    with gfile.GFile(path) as file:
        assert (file.name, file.mode, file.size()) == (path, "r", 8)
        assert file.readline() == "one\n"
        assert list(file) == ["two"]
        file.seek(0)
        assert file.read(3) == "one"
        assert file.tell() == 3
        assert file.readlines() == ["\n", "two"]
    with gfile.GFile(path, "ab") as file:
        file.write(b"!")
    assert gfile.GFile(path, "rb").read() == b"one\r\ntwo!"
    assert list(gfile.GFile(path, "rb")) == [b"one\n", b"two!"]
    gfile.write_file(path, b"a\r\nb\rc\r\r\n\r\nlast\r")
    assert gfile.GFile(path).readlines() == ["a\n", "bc\n", "\n", "last"]  # TensorFlow 2.21's.
    gfile.GFile(path, "w").close()
    assert gfile.stat(path).length == 0
    assert gfile.stat(path).mtime_nsec > 1e18


def test_text_and_bytes_are_written_in_any_mode(folder):
    path = gfile.join(folder, "mixed")
    with gfile.GFile(path, "w") as file:
        file.write("\N{LATIN SMALL LETTER U WITH DIAERESIS}")
        file.write(b"\xff")
        file.write("b")
    assert gfile.read_file(path) == b"\xc3\xbc\xffb"
    with gfile.GFile(path, "wb") as file:
        file.write("\N{LATIN SMALL LETTER U WITH DIAERESIS}")
    assert gfile.read_file(path) == b"\xc3\xbc"


def test_an_empty_name_is_no_folder():
    assert not gfile.exists("")
    assert not gfile.isdir("")
    for use in (gfile.listdir, gfile.stat, gfile.remove, gfile.rmtree):
        with pytest.raises(errors.FileMissingError, match="filename=''"):
            use("")


def test_links_are_removed_and_renamed_themselves_and_walked_through(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "link").symlink_to("a")
    top = str(tmp_path)
    assert list(gfile.walk(top)) == [
        (top, ["a", "link"], ["dangling"]),
        *[(f"{top}/{name}", below, []) for name, below in (("a", ["b"]), ("a/b", []))],
        *[(f"{top}/{name}", below, []) for name, below in (("link", ["b"]), ("link/b", []))],
    ]
    assert [folder for folder, _, _ in gfile.walk(top, topdown=False)][-1] == top
    gfile.rename(tmp_path / "dangling", tmp_path / "renamed")
    gfile.remove(tmp_path / "renamed")
    gfile.remove(tmp_path / "link")
    assert gfile.listdir(tmp_path) == ["a"]
    assert gfile.isdir(tmp_path / "a" / "b")


def test_a_pattern_excludes_letters_in_either_way(folder):
    for name in "abc":
        gfile.write_file(gfile.join(folder, name), b"")
    found = [gfile.matching_files(gfile.join(folder, pattern)) for pattern in ("[^b]", "[!b]")]
    assert [[path[-1:] for path in paths] for paths in found] == [[b"a", b"c"]] * 2


def test_what_is_not_there_is_an_error_of_the_family(folder):
    missing = gfile.join(folder, "none")
    for use in (
        gfile.read_file,
        gfile.listdir,
        gfile.stat,
        gfile.remove,
        gfile.rmtree,
        lambda path: gfile.GFile(path).read(),
        lambda path: gfile.copy(path, path + "2"),
        lambda path: gfile.rename(path, path + "2"),
    ):
        with pytest.raises(errors.FileMissingError, match="no such file") as caught:
            use(missing)
        assert caught.value.filename == missing
    assert gfile.listdir(folder) == []


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match="contents must be str or bytes"):
        gfile.write_file(tmp_path / "a", 3)
    with pytest.raises(errors.BadArgumentError, match="mode is 'r', 'w' or 'a'"):
        gfile.GFile(tmp_path / "a", "x")
    with pytest.raises(errors.BadTypeError, match="name of a file is a string or a path"):
        gfile.exists(3)
    (tmp_path / "file").touch()
    with pytest.raises(errors.AlreadyExistsError, match="a file or folder of this name.*Remove it"):
        gfile.mkdir(tmp_path / "file")
    with pytest.raises(errors.BadTypeError, match="file_content must be str or bytes.*=3"):
        gfile.GFile(tmp_path / "b", "w").write(3)
    with pytest.raises(errors.FileMissingError, match="no such folder"):
        gfile.mkdir(tmp_path / "no" / "where")
    with pytest.raises(errors.DataLossError, match="a directory is there"):
        gfile.remove(tmp_path)
    with pytest.raises(errors.FileAccessError, match="can't be read: UnsupportedOperation"):
        gfile.GFile(tmp_path / "a", "w").read()


def test_what_the_system_refuses_is_an_error_of_the_family(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "a").touch()
    monkeypatch.setattr(gfile.os, "replace", refuse)
    with pytest.raises(errors.FileAccessError, match="can't be written: Read-only file system"):
        gfile.rename(tmp_path / "a", tmp_path / "b")
    assert pathlib.Path(tmp_path / "a").exists()

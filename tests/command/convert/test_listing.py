import os

import pytest

from stratax.command.convert import _listing
from stratax.errors import DataError, FileMissingError
from tests.command.convert.pictures import image_file, write_tree


def names(listing):
    return [picture.name for picture in listing.pictures]


def test_a_tree_gives_its_images_sorted_with_the_place_of_their_class(tmp_path):
    write_tree(tmp_path, ("dog", "cat"), 2)
    listing = _listing.list_images(tmp_path)
    assert listing.classes == ("cat", "dog")
    assert names(listing) == ["cat/000.jpg", "cat/001.jpg", "dog/000.jpg", "dog/001.jpg"]
    assert [picture.class_index for picture in listing.pictures] == [0, 0, 1, 1]
    assert listing.pictures[0].size == (tmp_path / "cat/000.jpg").stat().st_size
    assert listing.ignored == {}


def test_images_deeper_in_a_class_folder_belong_to_the_class(tmp_path):
    write_tree(tmp_path, ("cat",), 1)
    (tmp_path / "cat/young/first").mkdir(parents=True)
    (tmp_path / "cat/young/first/a.PNG").write_bytes(image_file("PNG"))
    assert names(_listing.list_images(tmp_path)) == ["cat/000.jpg", "cat/young/first/a.PNG"]


def test_what_is_no_image_of_a_class_is_counted_by_reason(tmp_path):
    write_tree(tmp_path, ("cat",), 1)
    for path in (".hidden/a.jpg", ".note", "loose.jpg", "cat/.DS_Store", "cat/Thumbs.db", "cat/readme.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(b"x")
    listing = _listing.list_images(tmp_path)
    assert names(listing) == ["cat/000.jpg"]
    assert listing.ignored == {"hidden": 3, "not an image by its name": 2, "outside of a class folder": 1}
    assert _listing.describe_ignored(listing.ignored).startswith("ignored: 3 hidden, 2 not")
    assert _listing.describe_ignored({}) == "no file was ignored"


def test_an_empty_folder_stays_a_class_so_that_the_numbers_of_others_do_not_move(tmp_path):
    write_tree(tmp_path, ("cat", "dog"), 1)
    (tmp_path / "bird").mkdir()
    listing = _listing.list_images(tmp_path)
    assert listing.classes == ("bird", "cat", "dog")
    assert listing.empty_classes == ("bird",)


def test_given_classes_decide_the_numbers_and_leave_others_out(tmp_path):
    write_tree(tmp_path, ("cat", "dog", "fox"), 2)
    listing = _listing.list_images(tmp_path, ["fox", "wolf", "cat"])
    assert [(p.name, p.class_index) for p in listing.pictures][::2] == [
        ("cat/000.jpg", 2),
        ("fox/000.jpg", 0),
    ]
    assert listing.ignored == {"of a class that the labels do not name": 2}
    assert listing.empty_classes == ("wolf",)


def test_a_link_back_up_the_tree_does_not_go_round_for_ever(tmp_path):
    write_tree(tmp_path, ("cat",), 1)
    os.symlink(tmp_path / "cat", tmp_path / "cat/again", target_is_directory=True)
    os.symlink(tmp_path / "cat/000.jpg", tmp_path / "cat/link.jpg")
    assert names(_listing.list_images(tmp_path)) == ["cat/000.jpg", "cat/link.jpg"]


def test_a_link_to_itself_is_no_folder(tmp_path):
    write_tree(tmp_path, ("cat",), 1)
    os.symlink("endless", tmp_path / "endless")
    os.symlink("again", tmp_path / "cat/again")
    listing = _listing.list_images(tmp_path)
    assert names(listing) == ["cat/000.jpg"]
    assert listing.ignored == {"outside of a class folder": 1, "not an image by its name": 1}


def test_a_class_has_no_line_break_in_its_name(tmp_path):
    write_tree(tmp_path, ("two\nlines",), 1)
    with pytest.raises(DataError, match=r"names 'two\\nlines', which has a line break.*source="):
        _listing.list_images(tmp_path)


def write_csv(tmp_path, text, encoding="utf-8"):
    write_tree(tmp_path / "images", ("cat", "dog"), 1)
    path = tmp_path / "list.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("heading", ["", "path,label\n", "filename,class\n\n", "\ufeffImage_Path, label\n"])
def test_a_csv_gives_paths_relative_to_its_folder_and_sorted_labels(heading, tmp_path):
    path = write_csv(tmp_path, f'{heading}images/dog/000.jpg,köter\n"images/cat/000.jpg", cat\r\n')
    listing = _listing.list_images(path)
    assert listing.classes == ("cat", "köter")
    assert [(p.name, p.class_index) for p in listing.pictures] == [
        ("images/dog/000.jpg", 1),
        ("images/cat/000.jpg", 0),
    ]
    assert all(p.size > 0 for p in listing.pictures)
    assert os.path.exists(_listing.location(listing.root, "images/dog/000.jpg"))


def test_labels_that_are_whole_numbers_are_sorted_as_numbers(tmp_path):
    listing = _listing.list_images(write_csv(tmp_path, "a.jpg,10\nb.jpg,9\nc.jpg,2\n"))
    assert listing.classes == ("2", "9", "10")
    assert [picture.size for picture in listing.pictures] == [-1, -1, -1]


def test_a_csv_line_whose_label_is_not_listed_is_left_out(tmp_path):
    listing = _listing.list_images(write_csv(tmp_path, "a.jpg,cat\nb.jpg,dog\n"), ["dog"])
    assert names(listing) == ["b.jpg"]
    assert listing.ignored == {"of a class that the labels do not name": 1}


@pytest.mark.parametrize("line", ["a.jpg", "a.jpg,cat,1", "a.jpg,", ",cat"])
def test_a_line_that_is_no_path_and_label_is_named(line, tmp_path):
    with pytest.raises(DataError, match="line 2 of .*list.csv"):
        _listing.list_images(write_csv(tmp_path, f"b.jpg,cat\n{line}\n"))


@pytest.mark.parametrize("content", [b'a.jpg,"cat\n', b"\xff\xfe\x00a"])
def test_a_file_that_is_no_csv_is_refused(content, tmp_path):
    (tmp_path / "list.csv").write_bytes(content)
    with pytest.raises(DataError, match="no CSV of images"):
        _listing.list_images(tmp_path / "list.csv")


def test_a_source_that_is_not_there_or_has_no_image_is_refused(tmp_path):
    with pytest.raises(FileMissingError, match="nothing to convert there.*nowhere"):
        _listing.list_images(tmp_path / "nowhere")
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat/notes.txt").write_text("x")
    with pytest.raises(DataError, match="no image to convert .*1 not an image by its name"):
        _listing.list_images(tmp_path)


@pytest.mark.parametrize(
    ("root", "name", "expected"),
    [
        ("/data", "cat/a.jpg", "/data/cat/a.jpg"),
        ("/data", "/other/a.jpg", "/other/a.jpg"),
        ("/data", "gs://bucket/a.jpg", "gs://bucket/a.jpg"),
        ("gs://bucket/", "cat/a.jpg", "gs://bucket/cat/a.jpg"),
    ],
)
def test_a_name_says_where_the_file_is(root, name, expected):
    assert _listing.location(root, name) == expected

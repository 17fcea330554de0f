import collections

from stratax.command.convert import _order
from stratax.command.convert._listing import Picture

PICTURES = [
    Picture(f"{kind}/{number}.jpg", index, 1) for index, kind in enumerate("ab") for number in range(501)
]


def test_every_image_is_in_one_file_and_files_are_of_equal_size():
    divided = _order.divide(PICTURES, 4, 0)
    assert sorted(p.name for part in divided for p in part) == sorted(p.name for p in PICTURES)
    assert sorted(map(len, divided)) == [250, 250, 251, 251]


def test_files_mix_the_classes():
    for part in _order.divide(PICTURES, 4, 0):
        counts = collections.Counter(p.class_index for p in part)
        assert min(counts.values()) > 80


def test_the_order_is_a_function_of_name_and_seed():
    assert _order.divide(PICTURES, 4, 7) == _order.divide(PICTURES[::-1], 4, 7)
    assert _order.divide(PICTURES, 4, 7) != _order.divide(PICTURES, 4, 8)
    # The same on every machine and in every version, so that Beam's workers and a later call agree.
    assert _order.order_key("daisy/1.jpg", 0) == 0xD482BED5C1315CDA


def test_an_image_that_a_csv_names_twice_is_there_twice():
    (part,) = _order.divide([PICTURES[0], PICTURES[0]], 1, 0)
    assert part == (PICTURES[0], PICTURES[0])

"""Text is code points and code points are text."""

import numpy as np
import pytest

import stratax.tf as tf


def test_code_points_of_a_text_and_back():
    points = tf.strings.unicode_decode("aé", "UTF-8")
    assert np.asarray(points).tolist() == [97, 233]
    assert np.asarray(tf.strings.unicode_encode(points, "UTF-8")).item() == "aé".encode()


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("replace", [97, 0xFFFD, 0x7F, 0x85]),
        ("strict", [97, 0xFFFD, 0x7F, 0x85]),
        ("ignore", [97, 0x7F, 0x85]),
    ],
)
def test_the_control_characters_that_are_replaced_are_the_first_32(errors, expected):
    found = tf.strings.unicode_decode(
        "a\x01\x7f\x85", "UTF-8", errors=errors, replace_control_characters=True
    )
    assert np.asarray(found).tolist() == expected


def test_a_replacement_stands_for_bytes_that_are_no_character_and_for_no_character():
    found = tf.strings.unicode_decode(b"a\xef\xbf\xbd\xffb", "UTF-8", replacement_char=63)
    assert np.asarray(found).tolist() == [97, 0xFFFD, 63, 98]

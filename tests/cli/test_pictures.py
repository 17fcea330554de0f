import numpy as np

from stratax.cli._pictures import draw


def test_black_and_white_become_the_ends_of_the_scale_two_characters_a_pixel():
    assert draw(np.array([[0.0, 1.0], [1.0, 0.0]])) == "  @@\n@@  "


def test_shades_between_are_rounded_to_the_nearest_character():
    assert draw(np.array([[0.0, 0.5, 1.0]]))[::2] == " =@"


def test_values_out_of_range_are_cut_off():
    assert draw(np.array([[-3.0, 7.0]])) == "  @@"


def test_an_image_of_28_rows_is_drawn_smaller_with_square_proportions():
    image = np.zeros((28, 28))
    image[:4, :2] = 1.0
    lines = draw(image).splitlines()
    assert [len(line) for line in lines] == [14] * 7
    assert lines[0] == "@" + " " * 13
    assert "".join(lines[1:]).strip() == ""

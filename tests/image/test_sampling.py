"""Parts of images are sampled around boxes."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import image
from stratax.errors import BadArgumentError

OBJECT = np.array([[[0.2, 0.3, 0.7, 0.8]]], np.float32)


def share_of_object(box):
    height, width = min(box[2], 0.7) - max(box[0], 0.2), min(box[3], 0.8) - max(box[1], 0.3)
    return max(height, 0) * max(width, 0) / 0.25


def test_a_sampled_part_has_the_shape_and_shows_what_was_asked_for():
    for seed in range(20):
        begin, size, boxes = image.stateless_sample_distorted_bounding_box(
            [60, 80, 3], OBJECT, (seed, 1), 0.5, (0.8, 1.2), (0.2, 0.9)
        )
        rows, columns, channels = size.tolist()
        assert channels == -1
        assert 0.7 < columns / rows < 1.3
        assert 0.2 <= rows * columns / 4800 <= 0.9
        assert boxes.shape == (1, 1, 4)
        assert share_of_object(boxes[0, 0]) >= 0.45
        assert (begin[:2] + size[:2] <= (60, 80)).all()


def test_sampled_parts_follow_from_their_seed():
    first, again, other = (
        image.stateless_sample_distorted_bounding_box([60, 80, 3], OBJECT, seed)[2].tolist()
        for seed in ((1, 2), (1, 2), (1, 3))
    )
    assert first == again != other


def test_a_part_that_can_not_be_found_is_the_whole_image():
    sampled = image.sample_distorted_bounding_box(
        [4, 4, 3], OBJECT, min_object_covered=1.0, area_range=(0.05, 0.1)
    )
    assert sampled.size.tolist() == [4, 4, -1]
    assert sampled.bboxes.tolist() == [[[0, 0, 1, 1]]]


def test_parts_are_sampled_in_a_pipeline():
    def cut(pixels):
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.shape(pixels), tf.zeros([0, 0, 4]), use_image_if_no_bounding_boxes=True
        )
        return tf.image.resize(tf.slice(pixels, begin, size), [4, 4])

    data = tf.data.Dataset.from_tensor_slices(np.ones((3, 16, 16, 3), np.float32)).map(cut)
    assert [np.asarray(element).shape for element in data] == [(4, 4, 3)] * 3


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"area_range": (0.5, 2.0)}, "area of at most 1"),
        ({"bounding_boxes": np.zeros((1, 0, 4))}, "one at least"),
        ({"bounding_boxes": np.array([[[0.5, 0, 0.2, 1]]])}, "y1 below y2"),
    ],
)
def test_ranges_and_boxes_that_make_no_sense_are_refused(options, what):
    given = {"image_size": [8, 8, 3], "bounding_boxes": OBJECT, **options}
    with pytest.raises(BadArgumentError, match=what):
        image.sample_distorted_bounding_box(**given)

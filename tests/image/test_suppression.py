"""Of boxes that overlap, the best stays."""

import numpy as np

from stratax import image


def test_of_boxes_that_overlap_the_best_stays():
    boxes = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]])
    scores = np.float32([0.8, 0.9, 0.1])
    assert np.asarray(image.non_max_suppression(boxes, scores, 3, 0.5)).tolist() == [1, 2]
    assert np.asarray(image.non_max_suppression(boxes, scores, 3, 0.95)).tolist() == [1, 0, 2]

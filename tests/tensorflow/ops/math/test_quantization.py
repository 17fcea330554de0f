"""Numbers are moved to the steps of a quantized range."""

import numpy as np

import stratax.tf as tf


def test_numbers_are_clipped_to_the_range_and_moved_to_its_steps():
    found = np.asarray(
        tf.quantization.fake_quant_with_min_max_args(np.float32([-1, 0, 3.01, 9]), min=0.0, max=6.0)
    )
    np.testing.assert_allclose(found, [0, 0, round(3.01 / (6 / 255)) * (6 / 255), 6], rtol=1e-6)

"""Whole numbers where fractions are computed: TensorFlow 2.21 refuses most of them, and none is cut off here."""

import numpy as np
import pytest

import stratax.tf as tf

NAMES = (
    "math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.digamma math.erf math.erfc math.lgamma "
    "math.special.dawsn math.special.expint math.special.fresnel_cos math.special.fresnel_sin math.reciprocal_no_nan "
    "math.l2_normalize math.lbeta math.angle math.exp math.sin math.sqrt math.tanh math.reduce_std norm "
    "linalg.expm linalg.logm linalg.sqrtm linalg.eigvalsh linalg.det linalg.inv"
)
WHOLE = np.array([[4, 1], [1, 3]])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("name", NAMES.split())
def test_they_count_as_fractions(name, dtype):
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    of_fractions = np.asarray(function(tf.constant(WHOLE, tf.float32)))
    for whole in (tf.constant(WHOLE, dtype), WHOLE.astype(dtype)):
        found = np.asarray(function(whole))
        assert found.dtype.kind == "f"
        np.testing.assert_allclose(found, of_fractions, rtol=1e-5, atol=1e-6)


def test_several_results_and_operands_count_as_fractions():
    values, vectors = tf.linalg.eigh(tf.constant(WHOLE))
    np.testing.assert_allclose(values, [2.381966, 4.618034], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors), [[0.525731, 0.850651], [0.850651, 0.525731]], rtol=1e-5)
    np.testing.assert_allclose(
        tf.math.igamma(tf.constant([1, 2]), tf.constant([1, 3])), [0.632121, 0.800852], rtol=1e-5
    )
    ((clipped,), norm) = tf.clip_by_global_norm([tf.constant([3, 4])], 1.0)
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-6)
    assert float(norm) == 5.0


def test_the_rows_of_one_tensor_are_added():
    assert tf.add_n(tf.constant([[1, 2], [3, 4]])).numpy().tolist() == [4, 6]
    assert tf.add_n([tf.constant([[1, 2], [3, 4]])]).numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.function(tf.add_n)(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist() == [4.0, 6.0]

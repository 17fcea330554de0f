"""`tf.math.special` (tf layer)."""

from stratax.tensorflow.ops.math.special import bessel_i0 as bessel_i0
from stratax.tensorflow.ops.math.special import bessel_i0e as bessel_i0e
from stratax.tensorflow.ops.math.special import bessel_i1 as bessel_i1
from stratax.tensorflow.ops.math.special import bessel_i1e as bessel_i1e
from stratax.tensorflow.ops.math.special import dawsn as dawsn
from stratax.tensorflow.ops.math.special import expint as expint
from stratax.tensorflow.ops.math.special import fresnel_cos as fresnel_cos
from stratax.tensorflow.ops.math.special import fresnel_sin as fresnel_sin
from stratax.tensorflow.ops.math.special import spence as spence

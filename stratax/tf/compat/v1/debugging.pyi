"""`tf.compat.v1.debugging` (tf layer)."""

from stratax.tf.debugging import *

del assert_equal
del assert_greater
del assert_greater_equal
del assert_less
del assert_less_equal
del assert_near
del assert_negative
del assert_non_negative
del assert_non_positive
del assert_none_equal
del assert_positive
del assert_rank
del assert_rank_at_least
del assert_rank_in
del assert_scalar
from stratax.tensorflow.v1.functions import assert_equal as assert_equal  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_greater as assert_greater  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_greater_equal as assert_greater_equal  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_less as assert_less  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_less_equal as assert_less_equal  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_near as assert_near  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_negative as assert_negative  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_non_negative as assert_non_negative  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_non_positive as assert_non_positive  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_none_equal as assert_none_equal  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_positive as assert_positive  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_rank as assert_rank  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_rank_at_least as assert_rank_at_least  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_rank_in as assert_rank_in  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.functions import assert_scalar as assert_scalar  # type: ignore[assignment] # noqa: E402

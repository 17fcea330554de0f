"""What programs import of `tensorflow.python.ops.rnn_cell_impl` (tf layer)."""

from stratax.tensorflow.v1.rnn_cell import *

from ._cells import _concat as _concat
from ._cells import _like_rnncell as _like_rnncell
from ._cells import assert_like_rnncell as assert_like_rnncell

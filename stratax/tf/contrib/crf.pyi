"""`tf.contrib.crf`: linear-chain conditional random fields (tf layer)."""

from stratax.tensorflow.contrib._crf import CrfForwardRnnCell as CrfForwardRnnCell
from stratax.tensorflow.contrib._crf import crf_binary_score as crf_binary_score
from stratax.tensorflow.contrib._crf import crf_decode as crf_decode
from stratax.tensorflow.contrib._crf import crf_log_likelihood as crf_log_likelihood
from stratax.tensorflow.contrib._crf import crf_log_norm as crf_log_norm
from stratax.tensorflow.contrib._crf import crf_multitag_sequence_score as crf_multitag_sequence_score
from stratax.tensorflow.contrib._crf import crf_sequence_score as crf_sequence_score
from stratax.tensorflow.contrib._crf import crf_unary_score as crf_unary_score
from stratax.tensorflow.contrib._crf import viterbi_decode as viterbi_decode

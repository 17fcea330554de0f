"""`tf.random` (tf layer)."""

import stratax.tensorflow.ops.nn.candidates
from stratax.tensorflow.ops.nn.candidates import all_candidate_sampler as all_candidate_sampler
from stratax.tensorflow.ops.nn.candidates import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)
from stratax.tensorflow.ops.nn.candidates import (
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
)
from stratax.tensorflow.ops.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from stratax.tensorflow.ops.random.generator import Algorithm as Algorithm
from stratax.tensorflow.ops.random.generator import Generator as Generator
from stratax.tensorflow.ops.random.generator import create_rng_state as create_rng_state
from stratax.tensorflow.ops.random.generator import get_global_generator as get_global_generator
from stratax.tensorflow.ops.random.generator import set_global_generator as set_global_generator
from stratax.tensorflow.ops.random.random import categorical as categorical
from stratax.tensorflow.ops.random.random import gamma as gamma
from stratax.tensorflow.ops.random.random import normal as normal
from stratax.tensorflow.ops.random.random import poisson as poisson
from stratax.tensorflow.ops.random.random import set_seed as set_seed
from stratax.tensorflow.ops.random.random import shuffle as shuffle
from stratax.tensorflow.ops.random.random import truncated_normal as truncated_normal
from stratax.tensorflow.ops.random.random import uniform as uniform
from stratax.tensorflow.ops.random.stateless import fold_in as fold_in
from stratax.tensorflow.ops.random.stateless import split as split
from stratax.tensorflow.ops.random.stateless import stateless_binomial as stateless_binomial
from stratax.tensorflow.ops.random.stateless import stateless_categorical as stateless_categorical
from stratax.tensorflow.ops.random.stateless import stateless_gamma as stateless_gamma
from stratax.tensorflow.ops.random.stateless import stateless_normal as stateless_normal
from stratax.tensorflow.ops.random.stateless import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from stratax.tensorflow.ops.random.stateless import stateless_poisson as stateless_poisson
from stratax.tensorflow.ops.random.stateless import stateless_truncated_normal as stateless_truncated_normal
from stratax.tensorflow.ops.random.stateless import stateless_uniform as stateless_uniform

from . import experimental as experimental

learned_unigram_candidate_sampler = stratax.tensorflow.ops.nn.candidates.sample_learned_unigrams

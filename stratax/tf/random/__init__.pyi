from stratax.ops.candidates import all_candidate_sampler as all_candidate_sampler
from stratax.ops.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from stratax.ops.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from stratax.ops.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from stratax.ops.generator import Algorithm as Algorithm
from stratax.ops.generator import Generator as Generator
from stratax.ops.generator import create_rng_state as create_rng_state
from stratax.ops.generator import get_global_generator as get_global_generator
from stratax.ops.generator import set_global_generator as set_global_generator
from stratax.ops.random import categorical as categorical
from stratax.ops.random import gamma as gamma
from stratax.ops.random import normal as normal
from stratax.ops.random import poisson as poisson
from stratax.ops.random import set_seed as set_seed
from stratax.ops.random import shuffle as shuffle
from stratax.ops.random import truncated_normal as truncated_normal
from stratax.ops.random import uniform as uniform
from stratax.ops.stateless import fold_in as fold_in
from stratax.ops.stateless import split as split
from stratax.ops.stateless import stateless_binomial as stateless_binomial
from stratax.ops.stateless import stateless_categorical as stateless_categorical
from stratax.ops.stateless import stateless_gamma as stateless_gamma
from stratax.ops.stateless import stateless_normal as stateless_normal
from stratax.ops.stateless import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from stratax.ops.stateless import stateless_poisson as stateless_poisson
from stratax.ops.stateless import stateless_truncated_normal as stateless_truncated_normal
from stratax.ops.stateless import stateless_uniform as stateless_uniform

from . import experimental as experimental

"""`tf.random.experimental` (tf layer)."""

import stratax.tensorflow.ops.random.stateless
from stratax.tensorflow.ops.random.generator import Algorithm as Algorithm
from stratax.tensorflow.ops.random.generator import Generator as Generator
from stratax.tensorflow.ops.random.generator import create_rng_state as create_rng_state
from stratax.tensorflow.ops.random.generator import get_global_generator as get_global_generator
from stratax.tensorflow.ops.random.generator import set_global_generator as set_global_generator
from stratax.tensorflow.ops.random.stateless import index_shuffle as index_shuffle
from stratax.tensorflow.ops.random.stateless import stateless_shuffle as stateless_shuffle

stateless_fold_in = stratax.tensorflow.ops.random.stateless.fold_in
stateless_split = stratax.tensorflow.ops.random.stateless.split

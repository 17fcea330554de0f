import stratax.tensorflow.ops.stateless
from stratax.tensorflow.ops.generator import Algorithm as Algorithm
from stratax.tensorflow.ops.generator import Generator as Generator
from stratax.tensorflow.ops.generator import create_rng_state as create_rng_state
from stratax.tensorflow.ops.generator import get_global_generator as get_global_generator
from stratax.tensorflow.ops.generator import set_global_generator as set_global_generator
from stratax.tensorflow.ops.stateless import index_shuffle as index_shuffle
from stratax.tensorflow.ops.stateless import stateless_shuffle as stateless_shuffle

stateless_fold_in = stratax.tensorflow.ops.stateless.fold_in
stateless_split = stratax.tensorflow.ops.stateless.split

import stratax.ops.stateless
from stratax.ops.generator import Algorithm as Algorithm
from stratax.ops.generator import Generator as Generator
from stratax.ops.generator import create_rng_state as create_rng_state
from stratax.ops.generator import get_global_generator as get_global_generator
from stratax.ops.generator import set_global_generator as set_global_generator
from stratax.ops.stateless import index_shuffle as index_shuffle
from stratax.ops.stateless import stateless_shuffle as stateless_shuffle

stateless_fold_in = stratax.ops.stateless.fold_in
stateless_split = stratax.ops.stateless.split

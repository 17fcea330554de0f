from stratax.ops.random import categorical as categorical
from stratax.ops.random import normal as normal
from stratax.ops.random import set_seed as set_seed
from stratax.ops.random import shuffle as shuffle
from stratax.ops.random import truncated_normal as truncated_normal
from stratax.ops.random import uniform as uniform

from stratax.v1.losses import *

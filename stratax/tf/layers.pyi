from stratax.v1.layers import *

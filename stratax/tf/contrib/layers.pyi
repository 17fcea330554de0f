from stratax.v1.contrib_layers import *

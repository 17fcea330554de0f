from stratax.v1.initializers import *

from stratax.v1.metrics import *

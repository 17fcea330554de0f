from stratax.v1.summary import *

from stratax.v1.flags import *

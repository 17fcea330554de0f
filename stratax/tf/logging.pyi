from stratax.v1.logging import *

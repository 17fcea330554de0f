from stratax.v1.lookup import *

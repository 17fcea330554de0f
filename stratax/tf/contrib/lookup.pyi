from stratax.v1.contrib_lookup import *

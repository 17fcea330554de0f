from stratax.v1.contrib_summary import *

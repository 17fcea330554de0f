from stratax.v1.app import *

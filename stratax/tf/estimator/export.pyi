from stratax.estimator.export import *

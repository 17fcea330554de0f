from stratax.estimator.inputs import *

from ._learn_estimator import InputFnOps as InputFnOps

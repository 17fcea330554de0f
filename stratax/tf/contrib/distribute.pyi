from stratax.estimator import DistributeConfig as DistributeConfig

import stratax.tensorflow.estimator.canned

KMeansClustering = stratax.tensorflow.estimator.canned.KMeans

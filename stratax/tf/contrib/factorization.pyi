"""`tf.contrib.factorization`: clusters (tf layer)."""

import stratax.tensorflow.estimator.canned

KMeansClustering = stratax.tensorflow.estimator.canned.KMeans

from . import cluster_resolver as cluster_resolver
from . import data as data
from . import distribute as distribute
from . import estimator as estimator
from . import framework as framework
from . import layers as layers
from . import summary as summary
from . import tpu as tpu

"""Print what runs a program as the workers of a cluster on Kubernetes or Slurm, or on TPU VMs (manifests layer).

`stratax manifest` does the same from the command line. The resolvers that find the cluster from inside such a job are
in `stratax.cluster`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)

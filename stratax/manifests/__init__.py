"""Print what runs a program as the workers of a cluster on Kubernetes or Slurm (manifests layer).

`stratax manifest` does the same from the command line. The resolvers that find the cluster from inside such a job are
in `stratax.cluster`.
"""

from stratax.manifests._kubernetes import KUBERNETES_PORT, KubernetesPlan, kubernetes_manifest, name_for
from stratax.manifests._slurm import SLURM_PORT, SlurmPlan, slurm_script

__all__ = [
    "KUBERNETES_PORT",
    "SLURM_PORT",
    "KubernetesPlan",
    "SlurmPlan",
    "kubernetes_manifest",
    "name_for",
    "slurm_script",
]

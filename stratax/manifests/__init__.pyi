from ._kubernetes import KUBERNETES_PORT as KUBERNETES_PORT
from ._kubernetes import KubernetesPlan as KubernetesPlan
from ._kubernetes import kubernetes_manifest as kubernetes_manifest
from ._kubernetes import name_for as name_for
from ._slurm import SLURM_PORT as SLURM_PORT
from ._slurm import SlurmPlan as SlurmPlan
from ._slurm import slurm_script as slurm_script

"""The Kubernetes objects that run a program as the workers of a cluster (manifests layer)."""

import dataclasses
import json
import pathlib
import re
import secrets
from typing import Any

import yaml

from stratax.base.shown import shown
from stratax.cluster import ExitCode, is_retryable
from stratax.cluster.launching import (
    JOB_ID_VARIABLE,
    JOB_VARIABLE,
    NUM_WORKERS_VARIABLE,
    SECRET_VARIABLE,
    SERVICE_VARIABLE,
    TPU_PORT,
    check_least,
    check_port,
    new_secret,
)
from stratax.command.manifests._tasks import tasks_of
from stratax.command.manifests._tpus import TpuSlice
from stratax.errors import BadArgumentError

# The port at which the workers meet: the one that `KubernetesClusterResolver` takes, too.
KUBERNETES_PORT = 8470

_INDEX = "JOB_COMPLETION_INDEX"
_INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_START_FIELD = "metadata.labels['batch.kubernetes.io/controller-uid']"
_INSTANCE_LABEL = "app.kubernetes.io/instance"
_JOB_LABEL = "batch.kubernetes.io/job-name"
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL = 63
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|Ki|[MGTPE]i?)?")
_IMAGE = re.compile(r"[^\s]+")
_CONTAINER = "worker"
_SECRET_KEY = "secret"
# What GKE calls the chips of a node, and what its nodes are chosen by.
_CHIPS = "google.com/tpu"
_ACCELERATOR_LABEL = "cloud.google.com/gke-tpu-accelerator"
_TOPOLOGY_LABEL = "cloud.google.com/gke-tpu-topology"
_SPOT_LABEL = "cloud.google.com/gke-spot"
# Such nodes may have a taint of that name.
_SPOT_TOLERATION = {"key": _SPOT_LABEL, "operator": "Equal", "value": "true", "effect": "NoSchedule"}
_RESERVATION_LABEL = "cloud.google.com/reservation-name"
# The port at which the TPU's own runtime finds the other hosts.
_RUNTIME_PORT = 8471


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesPlan:
    """What to run, and on what.

    Attributes:
        image: The container image, which has the program and `stratax` in it.
        command: The program and its arguments, as in the container.
        workers: How many workers.
        name: The name of the Job and of the Service.
        namespace: Their namespace; None for the one that `kubectl` uses.
        gpus_per_worker: How many GPUs each worker gets.
        cpus: How many CPUs each worker gets, such as ``"4"`` or ``"500m"``; None for what the cluster gives.
        memory: How much memory each worker gets, such as ``"16Gi"``; None for what the cluster gives.
        port: The port of every worker.
        restarts: How often each worker may be started again after a failure that is worth it.
        volumes: Claims to volumes and where they are mounted in every worker.
        secret: The name of a Secret whose key ``secret`` holds the cluster's secret; None: one is made, called like the
            Job.
        chief: Whether there is a chief besides the workers. What is said of workers holds for it, too.
        ps: How many parameter servers there are; they get no GPUs.
        evaluator: Whether there is an evaluator.
        tpu: The slice of a TPU pod on which the workers run, one on each of its hosts, in Google Kubernetes Engine;
            None for none. GKE itself tells the hosts of one another, so there is no TF_CONFIG.
        spot: Whether its nodes may be taken away; only with `tpu`.
        reservation: The reservation that its nodes are of; None for none. Only with `tpu`.

    Raises:
        BadArgumentError: If a value is out of range or of the wrong form.
    """

    image: str
    command: tuple[str, ...]
    workers: int
    name: str
    namespace: str | None = None
    gpus_per_worker: int = 0
    cpus: str | None = None
    memory: str | None = None
    port: int = KUBERNETES_PORT
    restarts: int = 0
    volumes: tuple[tuple[str, str], ...] = ()
    secret: str | None = None
    chief: bool = False
    ps: int = 0
    evaluator: bool = False
    tpu: TpuSlice | None = None
    spot: bool = False
    reservation: str | None = None

    @property
    def tasks(self) -> tuple[tuple[str, int], ...]:
        """How many tasks there are of each type."""
        return tasks_of(self.workers, chief=self.chief, ps=self.ps, evaluator=self.evaluator)

    @property
    def has_types(self) -> bool:
        """Whether there are others than workers, so that each type is a Job of its own."""
        return len(self.tasks) > 1

    def job_name(self, job: str) -> str:
        """Return the name of the Job that runs the tasks of a type."""
        return f"{self.name}-{job}" if self.has_types else self.name

    def __post_init__(self) -> None:
        for field, least in {"workers": 1, "gpus_per_worker": 0, "restarts": 0, "ps": 0}.items():
            check_least(field, getattr(self, field), least)
        check_port("port", self.port)
        self._check_tpu()
        if not _IMAGE.fullmatch(self.image):
            raise BadArgumentError(f"image must be the name of one. Received: image={shown(self.image)}.")
        longest = max(len(f"{self.job_name(job)}-{count - 1}") for job, count in self.tasks) - len(self.name)
        _check_name("name", self.name, _LONGEST_LABEL - longest)
        for field in ("namespace", "secret", "reservation"):
            value = getattr(self, field)
            if value is not None:
                _check_name(field, value, _LONGEST_LABEL)
        _check_quantity("cpus", self.cpus)
        _check_quantity("memory", self.memory)
        for claim, path in self.volumes:
            _check_volume(claim, path)

    def _check_tpu(self) -> None:
        if self.tpu is None:
            for field in ("spot", "reservation"):
                if getattr(self, field):
                    raise BadArgumentError(
                        f"{field} is said of a TPU's nodes. Give the slice, too: tpu. "
                        f"Received: {field}={shown(getattr(self, field))}."
                    )
            return
        if self.workers != self.tpu.num_hosts:
            raise BadArgumentError(
                f"The program runs once on each host of a TPU. Expected: {self.tpu.num_hosts} workers for "
                f"{self.tpu.generation}:{self.tpu.shape}. Received: workers={self.workers}. Leave the workers out."
            )
        for field in ("gpus_per_worker", "chief", "ps", "evaluator"):
            if getattr(self, field):
                raise BadArgumentError(
                    f"{field} has no meaning on a TPU: its hosts are equal workers. Leave it out. "
                    f"Received: {field}={shown(getattr(self, field))}."
                )
        if self.port != KUBERNETES_PORT:
            raise BadArgumentError(
                f"The hosts of a TPU meet at port {TPU_PORT}. Leave the port out. Received: port={self.port}."
            )


def kubernetes_manifest(plan: KubernetesPlan) -> str:
    """Return a Secret, a headless Service and an indexed Job as YAML, for `kubectl apply`.

    Pod n of the Job is worker n. The Service gives every pod a name, and TF_CONFIG lists those names. A pod that ended
    with a retryable `ExitCode` is started again; since the others end by themselves when they lose one, all are. Any
    other failure ends the Job. With a chief, parameter servers or an evaluator there is a Job for each type, called
    ``NAME-worker`` and so on, and where there are servers the others go on without a worker. Needs Kubernetes 1.29 or
    newer.

    On a TPU slice the workers are its hosts: the pods are put on nodes with that slice and take all chips of theirs.
    GKE gives such pods ``TPU_WORKER_ID`` and ``TPU_WORKER_HOSTNAMES``, since their Job is indexed, has a subdomain and
    asks for TPUs; `TPUClusterResolver` reads them.

    The Secret has a new random value in every call: what is returned should be kept as secrets are, or the plan should
    name a Secret that is there already.

    Args:
        plan: What to run.

    Example:
        >>> plan = KubernetesPlan(image="digits:1", command=("python", "train.py"), workers=2, name="digits")
        >>> [document["kind"] for document in yaml.safe_load_all(kubernetes_manifest(plan))]
        ['Secret', 'Service', 'Job']
    """
    # One for all Jobs: their pods know one another by it.
    job_id = secrets.token_hex(8) if plan.has_types else None
    jobs = [_job(plan, job, count, job_id) for job, count in plan.tasks]
    documents = [*([_secret(plan)] if plan.secret is None else []), _service(plan), *jobs]
    # One line for each value: a folded TF_CONFIG is hard to read and to edit.
    return yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True, width=float("inf"))


def name_for(program: str) -> str:
    """Return a name for a job that runs a program.

    Args:
        program: A file or module.

    Example:
        >>> name_for("jobs/Train_digits.py")
        'train-digits'
    """
    name = re.sub("[^a-z0-9]+", "-", pathlib.PurePath(program).stem.lower()).strip("-")
    return name if _LABEL.fullmatch(name) else f"stratax-{name}".strip("-")


def _check_name(field: str, value: str, longest: int) -> None:
    if not _LABEL.fullmatch(value) or len(value) > longest:
        raise BadArgumentError(
            f"{field} must have at most {longest} characters, which are lower-case letters, digits and hyphens; it "
            f"begins with a letter and does not end with a hyphen. Received: {field}={shown(value)}."
        )


def _check_quantity(field: str, value: str | None) -> None:
    if value is not None and not _QUANTITY.fullmatch(value):
        raise BadArgumentError(
            f"{field} must be a quantity as Kubernetes writes them, such as '4', '500m' or '16Gi'. "
            f"Received: {field}={shown(value)}."
        )


def _check_volume(claim: str, path: str) -> None:
    if not claim or not path.startswith("/") or ":" in path:
        raise BadArgumentError(
            "A volume must be a claim's name and the absolute path at which it is mounted, CLAIM:/PATH. "
            f"Received: volume={shown(f'{claim}:{path}')}."
        )


def _metadata(plan: KubernetesPlan) -> dict[str, Any]:
    return {"name": plan.name, **({"namespace": plan.namespace} if plan.namespace else {})}


def _secret(plan: KubernetesPlan) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(plan),
        "type": "Opaque",
        "stringData": {_SECRET_KEY: new_secret()},
    }


def _service(plan: KubernetesPlan) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(plan),
        "spec": {
            "clusterIP": "None",
            # The workers look one another up before any of them could be called ready.
            "publishNotReadyAddresses": True,
            "selector": {_INSTANCE_LABEL if plan.has_types else _JOB_LABEL: plan.name},
            "ports": _ports(plan, "port"),
        },
    }


def _job(plan: KubernetesPlan, job: str, count: int, job_id: str | None) -> dict[str, Any]:
    labels = {"labels": {_INSTANCE_LABEL: plan.name}} if plan.has_types else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**_metadata(plan), "name": plan.job_name(job), **labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            # Counted for each worker: one failure ends them all, so each of them counts it once.
            "backoffLimitPerIndex": plan.restarts,
            "maxFailedIndexes": 0,
            "podFailurePolicy": {"rules": _rules()},
            "template": {**({"metadata": labels} if labels else {}), "spec": _pod(plan, job, job_id)},
        },
    }


def _rules() -> list[dict[str, Any]]:
    """Return what becomes of a pod that failed, by the first rule that applies; else it counts and is started again."""
    retryable = [code for code in range(1, 256) if is_retryable(code)]
    return [
        # The node is drained, preempted or lost: no fault of the program.
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Ignore", "onExitCodes": _codes("In", [int(ExitCode.PREEMPTED)])},
        {"action": "FailJob", "onExitCodes": _codes("NotIn", retryable)},
    ]


def _codes(operator: str, values: list[int]) -> dict[str, Any]:
    return {"containerName": _CONTAINER, "operator": operator, "values": values}


def _pod(plan: KubernetesPlan, job: str, job_id: str | None) -> dict[str, Any]:
    volumes = [
        {"name": f"volume-{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, (claim, _) in enumerate(plan.volumes)
    ]
    # NCCL talks between a worker's GPUs through shared memory, of which a container has 64 MiB otherwise.
    shared = [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}] if _gpus(plan, job) > 1 else []
    return {
        "subdomain": plan.name,
        "restartPolicy": "Never",
        **({"nodeSelector": selector} if (selector := _nodes(plan)) else {}),
        **({"tolerations": [_SPOT_TOLERATION]} if plan.spot else {}),
        "containers": [_container(plan, job, job_id)],
        **({"volumes": [*volumes, *shared]} if volumes or shared else {}),
    }


def _nodes(plan: KubernetesPlan) -> dict[str, str]:
    """Return the labels of the nodes on which the pods are to run."""
    if plan.tpu is None:
        return {}
    return _drop_none(
        {
            _ACCELERATOR_LABEL: plan.tpu.node_label,
            _TOPOLOGY_LABEL: plan.tpu.shape,
            _SPOT_LABEL: "true" if plan.spot else None,
            _RESERVATION_LABEL: plan.reservation,
        }
    )


def _ports(plan: KubernetesPlan, field: str) -> list[dict[str, Any]]:
    ports = {"stratax": plan.port} if plan.tpu is None else {"stratax": TPU_PORT, "tpu": _RUNTIME_PORT}
    return [{"name": name, field: port} for name, port in ports.items()]


def _gpus(plan: KubernetesPlan, job: str) -> int:
    return 0 if job == "ps" else plan.gpus_per_worker


def _container(plan: KubernetesPlan, job: str, job_id: str | None) -> dict[str, Any]:
    mounts = [
        {"name": f"volume-{number}", "mountPath": path} for number, (_, path) in enumerate(plan.volumes)
    ]
    if _gpus(plan, job) > 1:
        mounts.append({"name": "shared-memory", "mountPath": "/dev/shm"})
    return {
        "name": _CONTAINER,
        "image": plan.image,
        # Kubernetes would put variables in the place of $(...).
        "command": [word.replace("$", "$$") for word in plan.command],
        "env": _environment(plan, job, job_id),
        "ports": _ports(plan, "containerPort"),
        **({"resources": resources} if (resources := _resources(plan, job)) else {}),
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _environment(plan: KubernetesPlan, job: str, job_id: str | None) -> list[dict[str, Any]]:
    return [
        *(_config(plan, job) if plan.tpu is None else []),
        # A Job that takes the place of another of its name may start while the other's pods are still ending.
        {"name": JOB_ID_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": _START_FIELD}}}
        if job_id is None
        else {"name": JOB_ID_VARIABLE, "value": job_id},
        {
            "name": SECRET_VARIABLE,
            "valueFrom": {"secretKeyRef": {"name": plan.secret or plan.name, "key": _SECRET_KEY}},
        },
        # What `KubernetesClusterResolver` looks for, which knows workers only.
        *(
            []
            if plan.has_types or plan.tpu is not None
            else [
                {"name": NUM_WORKERS_VARIABLE, "value": str(plan.workers)},
                {"name": JOB_VARIABLE, "value": plan.name},
                {"name": SERVICE_VARIABLE, "value": plan.name},
            ]
        ),
        {"name": "PYTHONUNBUFFERED", "value": "1"},
    ]


def _config(plan: KubernetesPlan, job: str) -> list[dict[str, Any]]:
    """Return the variables that make TF_CONFIG."""
    cluster = {
        each: [f"{plan.job_name(each)}-{number}.{plan.name}:{plan.port}" for number in range(count)]
        for each, count in plan.tasks
        # It is in no cluster.
        if each != "evaluator"
    }
    # Kubernetes puts the number in; it does so for variables that stand before only, so this one is written out.
    task = f'{{"type": "{job}", "index": $({_INDEX})}}'
    return [
        {"name": _INDEX, "valueFrom": {"fieldRef": {"fieldPath": _INDEX_FIELD}}},
        {"name": "TF_CONFIG", "value": f'{{"cluster": {json.dumps(cluster)}, "task": {task}}}'},
    ]


def _resources(plan: KubernetesPlan, job: str) -> dict[str, Any]:
    chips = None if plan.tpu is None else str(plan.tpu.chips_per_host)
    requests = {"cpu": plan.cpus, "memory": plan.memory, _CHIPS: chips}
    limits = {
        "memory": plan.memory,
        _CHIPS: chips,
        "nvidia.com/gpu": str(_gpus(plan, job)) if _gpus(plan, job) else None,
    }
    both = {"requests": _drop_none(requests), "limits": _drop_none(limits)}
    return {name: values for name, values in both.items() if values}


def _drop_none(values: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}

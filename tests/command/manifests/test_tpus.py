"""TPU slices as Google's cloud calls them, and the Kubernetes objects for them, with what GKE adds to such pods."""

import kubernetes_validate
import pytest
import yaml

from stratax.cluster._tpu_pod import pod_cluster
from stratax.command.manifests import KubernetesPlan, TpuSlice, kubernetes_manifest
from stratax.command.rehearsal import known_topologies, parse_topology
from stratax.errors import BadArgumentError
from tests.command.manifests.test_kubernetes import NEWEST, OLDEST, action_of, expanded

FULL = {
    "namespace": "learning",
    "spot": True,
    "reservation": "ours",
    "cpus": "24",
    "memory": "128Gi",
    "restarts": 4,
    "volumes": (("data", "/data"), ("checkpoints", "/checkpoints")),
}


def slice_of(name, chips_per_host=0):
    generation, _, shape = parse_topology(name).name.partition(":")
    return TpuSlice(generation=generation, shape=shape, chips_per_host=chips_per_host)


def plan_of(topology="v5e:4x4", chips_per_host=0, **changes):
    tpu = slice_of(topology, chips_per_host)
    given = {
        "image": "digits:1",
        "command": ("python", "train.py"),
        "name": "digits",
        "workers": tpu.num_hosts,
        "tpu": tpu,
    }
    return KubernetesPlan(**{**given, **changes})


def documents_of(**changes):
    return list(yaml.safe_load_all(kubernetes_manifest(plan_of(**changes))))


def job_of(**changes):
    return documents_of(**changes)[-1]["spec"]


def pod_of(**changes):
    return job_of(**changes)["template"]["spec"]


def container_of(**changes):
    return pod_of(**changes)["containers"][0]


@pytest.mark.parametrize("settings", [{}, FULL], ids=["least", "everything"])
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_schema_takes_the_objects(settings, version):
    documents = documents_of(**settings)
    assert [document["kind"] for document in documents] == ["Secret", "Service", "Job"]
    for document in documents:
        assert kubernetes_validate.validate(document, version, strict=True) == version
    documents[-1]["spec"]["template"]["spec"]["nodeSelectors"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(documents[-1], version, strict=True)


@pytest.mark.parametrize(
    ("topology", "accelerator", "shape", "hosts", "chips"),
    [
        ("v3-8", "tpu-v3-device", "2x2", 1, 4),
        ("v3-32", "tpu-v3-slice", "4x4", 4, 4),
        ("v4-8", "tpu-v4-podslice", "2x2x1", 1, 4),
        ("v4-32", "tpu-v4-podslice", "2x2x4", 4, 4),
        ("v5litepod-1", "tpu-v5-lite-podslice", "1x1", 1, 1),
        ("v5e-4", "tpu-v5-lite-podslice", "2x2", 1, 4),
        ("v5e:2x4", "tpu-v5-lite-podslice", "2x4", 1, 8),
        ("v5litepod-16", "tpu-v5-lite-podslice", "4x4", 4, 4),
        ("v5p-16", "tpu-v5p-slice", "2x2x2", 2, 4),
        ("v5p:16x16x24", "tpu-v5p-slice", "16x16x24", 1536, 4),
        ("v6e-1", "tpu-v6e-slice", "1x1", 1, 1),
        ("v6e-8", "tpu-v6e-slice", "2x4", 1, 8),
        ("v6e:16x16", "tpu-v6e-slice", "16x16", 64, 4),
    ],
)
def test_pods_are_put_on_the_hosts_of_the_slice(topology, accelerator, shape, hosts, chips):
    job = job_of(topology=topology)
    assert (job["completions"], job["parallelism"]) == (hosts, hosts)
    pod = job["template"]["spec"]
    assert pod["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": accelerator,
        "cloud.google.com/gke-tpu-topology": shape,
    }
    asked = {"google.com/tpu": str(chips)}
    assert pod["containers"][0]["resources"] == {"requests": asked, "limits": asked}


def test_each_slice_that_can_be_compiled_for_is_divided_among_whole_hosts():
    for topology in known_topologies():
        tpu = slice_of(topology.name)
        assert tpu.num_hosts * tpu.chips_per_host == tpu.num_chips == topology.num_chips
        # What the compiler calls it, with the cloud's name of the generation.
        assert tpu.accelerator_type.replace("v5litepod", "v5e") == topology.accelerator_type
        assert parse_topology(tpu.accelerator_type).name == topology.name


@pytest.mark.parametrize(
    ("topology", "runtime"),
    [
        ("v2-8", "tpu-ubuntu2204-base"),
        ("v4-8", "tpu-ubuntu2204-base"),
        ("v5e-16", "v2-alpha-tpuv5-lite"),
        ("v5p-8", "v2-alpha-tpuv5"),
        ("v6e-1", "v2-alpha-tpuv6e"),
    ],
)
def test_virtual_machines_have_the_software_for_jax(topology, runtime):
    assert slice_of(topology).runtime_version == runtime


@pytest.mark.parametrize("topology", ["v5e:2x4", "v6e:2x4"])
def test_eight_chips_may_be_on_two_hosts(topology):
    job = job_of(topology=topology, chips_per_host=4)
    assert job["parallelism"] == 2
    assert job["template"]["spec"]["containers"][0]["resources"]["limits"] == {"google.com/tpu": "4"}


def with_what_gke_adds(documents, index, monkeypatch):
    """Set a pod's variables as GKE's webhook does for Jobs that fulfil its conditions, and as Kubernetes does."""
    _, service, job = documents
    pod = job["spec"]["template"]["spec"]
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["parallelism"] > 1
    assert pod["containers"][0]["resources"]["requests"]["google.com/tpu"]
    # Pods have names only below the Service that their subdomain says.
    assert pod["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    names = [f"{job['metadata']['name']}-{n}.{pod['subdomain']}" for n in range(job["spec"]["parallelism"])]
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", ",".join(names))
    monkeypatch.setenv("TPU_WORKER_ID", str(index))
    return names


@pytest.mark.parametrize("index", [0, 3])
def test_a_pod_finds_the_others(index, monkeypatch):
    documents = documents_of()
    names = with_what_gke_adds(documents, index, monkeypatch)
    assert pod_cluster("worker") == ({"worker": [f"{name}:8482" for name in names]}, index)
    assert {"name": "stratax", "port": 8482} in documents[1]["spec"]["ports"]
    assert documents[1]["spec"]["publishNotReadyAddresses"] is True
    # Another cluster than the slice's hosts would be connected to otherwise.
    assert not any(entry["name"] == "TF_CONFIG" for entry in container_of()["env"])


def test_pods_have_a_secret_and_know_their_start():
    secret, *_ = documents_of()
    entries = {entry["name"]: entry.get("valueFrom") for entry in container_of()["env"]}
    assert entries["STRATAX_CLUSTER_SECRET"]["secretKeyRef"] == {
        "name": secret["metadata"]["name"],
        "key": "secret",
    }
    assert (
        entries["STRATAX_JOB_ID"]["fieldRef"]["fieldPath"]
        == "metadata.labels['batch.kubernetes.io/controller-uid']"
    )
    assert [each["kind"] for each in documents_of(secret="mine")] == ["Service", "Job"]
    entries = {entry["name"]: entry for entry in container_of(secret="mine")["env"]}
    assert entries["STRATAX_CLUSTER_SECRET"]["valueFrom"]["secretKeyRef"]["name"] == "mine"


def test_what_is_asked_for_besides_is_given():
    pod, container = pod_of(**FULL), container_of(**FULL)
    assert pod["nodeSelector"]["cloud.google.com/gke-spot"] == "true"
    assert pod["nodeSelector"]["cloud.google.com/reservation-name"] == "ours"
    assert [each["key"] for each in pod["tolerations"]] == ["cloud.google.com/gke-spot"]
    assert container["resources"] == {
        "requests": {"cpu": "24", "memory": "128Gi", "google.com/tpu": "4"},
        "limits": {"memory": "128Gi", "google.com/tpu": "4"},
    }
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/data", "/checkpoints"]
    assert [volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]] == [
        "data",
        "checkpoints",
    ]
    assert {"tolerations", "volumes"}.isdisjoint(pod_of())


def test_failures_are_treated_as_those_of_other_workers():
    job = job_of(restarts=4)
    assert (job["backoffLimitPerIndex"], job["maxFailedIndexes"]) == (4, 0)
    rules = job["podFailurePolicy"]["rules"]
    assert [action_of(rules, code) for code in (1, 201, 203)] == ["FailJob", "Count", "Ignore"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"


def test_arguments_reach_the_program_as_they_were_given():
    words = ("python", "train.py", "$(STRATAX_JOB_ID)", "$$", "a b", "'\"\n", "on", "")
    command = container_of(command=words)["command"]
    assert tuple(expanded(word, {"STRATAX_JOB_ID": "x"}) for word in command) == words


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topology": "v2-8"}, "no nodes with TPUs of v2.*v3, v4.*manifest tpu-vm. Received: v2:2x2"),
        ({"chips_per_host": 8}, "The hosts of v5e:4x4 have 4 chips. Received: chips_per_host=8"),
        ({"topology": "v6e-8", "chips_per_host": 1}, "The hosts of v6e:2x4 have 8 or 4 chips"),
        ({"workers": 2}, "once on each host of a TPU. Expected: 4 workers for v5e:4x4. Received: workers=2"),
        ({"gpus_per_worker": 1}, "gpus_per_worker has no meaning on a TPU"),
        ({"ps": 1}, "ps has no meaning on a TPU"),
        ({"port": 99}, "The hosts of a TPU meet at port 8482.*port=99"),
        ({"tpu": None, "spot": True}, "spot is said of a TPU's nodes. Give the slice"),
        ({"tpu": None, "reservation": "ours"}, "reservation is said of a TPU's nodes"),
        ({"reservation": "Ours"}, "reservation must have at most 63 characters"),
    ],
)
def test_wrong_plans_are_refused(changes, message):
    with pytest.raises(BadArgumentError, match=message):
        kubernetes_manifest(plan_of(**changes))


@pytest.mark.parametrize(
    ("generation", "shape", "message"),
    [
        ("v9", "2x2", "generation must be one of v2, .*generation='v9'"),
        ("v5e", "3", "shape must be the chips along each dimension.*shape='3'"),
        ("v5e", "3x3", "which fill whole hosts.*shape='3x3'"),
        ("v4", "1x1x1", "which fill whole hosts"),
    ],
)
def test_there_are_slices_of_whole_hosts_only(generation, shape, message):
    with pytest.raises(BadArgumentError, match=message):
        TpuSlice(generation=generation, shape=shape)

"""The Kubernetes objects: against Kubernetes' own schema, and as a pod of theirs reads its environment."""

import json
import re

import kubernetes_validate
import pytest
import yaml

from stratax.cluster import ExitCode, KubernetesClusterResolver, TFConfigClusterResolver, is_retryable
from stratax.command.manifests import KubernetesPlan, kubernetes_manifest, name_for
from stratax.errors import BadArgumentError

OLDEST, NEWEST = "1.29", "1.37"
FULL = {
    "namespace": "learning",
    "gpus_per_worker": 2,
    "cpus": "1.5",
    "memory": "16Gi",
    "restarts": 4,
    "port": 1234,
    "volumes": (("data", "/data"), ("checkpoints", "/checkpoints")),
}


def plan_of(**changes):
    given = {"image": "registry/digits:1", "command": ("python", "train.py"), "workers": 3, "name": "digits"}
    return KubernetesPlan(**{**given, **changes})


def documents_of(**changes):
    return list(yaml.safe_load_all(kubernetes_manifest(plan_of(**changes))))


def job_of(**changes):
    return documents_of(**changes)[-1]["spec"]


def container_of(**changes):
    return job_of(**changes)["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("settings", [{}, FULL], ids=["least", "everything"])
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_schema_takes_the_objects(settings, version):
    secret, service, job = documents_of(**settings)
    for document in (secret, service, job):
        assert kubernetes_validate.validate(document, version, strict=True) == version
    job["spec"]["completionsMode"] = "Indexed"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, version, strict=True)


def test_the_service_names_every_pod_of_the_job():
    _, service, job = documents_of(**FULL)
    assert service["metadata"] == job["metadata"] == {"name": "digits", "namespace": "learning"}
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    # The Job's controller puts this label on its pods.
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "digits"}
    assert job["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    assert (job["spec"]["completionMode"], job["spec"]["completions"], job["spec"]["parallelism"]) == (
        "Indexed",
        3,
        3,
    )


def expanded(text, known):
    """Puts variables into a text as Kubernetes does: $(NAME) of one that is known, and $$ for one $."""
    return re.sub(
        r"\$(?:\$|\((\w+)\))",
        lambda match: known.get(match[1], match[0]) if match[1] else "$",
        text,
    )


def environment_of(container, index):
    """What a pod's environment is: a variable can use those before it."""
    known = {}
    for entry in container["env"]:
        if "value" in entry:
            known[entry["name"]] = expanded(entry["value"], known)
        elif "fieldRef" in entry["valueFrom"]:
            known[entry["name"]] = {
                "metadata.annotations['batch.kubernetes.io/job-completion-index']": str(index),
                "metadata.labels['batch.kubernetes.io/controller-uid']": "a-b-c",
            }[entry["valueFrom"]["fieldRef"]["fieldPath"]]
    return known


@pytest.mark.parametrize("index", [0, 2])
def test_a_pod_finds_its_cluster_by_tf_config_and_by_the_resolver(index, monkeypatch):
    for name, value in environment_of(container_of(port=8470), index).items():
        monkeypatch.setenv(name, value)
    resolver = TFConfigClusterResolver()
    assert resolver.cluster_spec() == {"worker": [f"digits-{n}.digits:8470" for n in range(3)]}
    assert (resolver.task_type, resolver.task_id) == ("worker", index)
    other = KubernetesClusterResolver()
    assert (other.cluster_spec(), other.task_type, other.task_id) == (
        resolver.cluster_spec(),
        "worker",
        index,
    )


SERVED = {"workers": 2, "chief": True, "ps": 2, "evaluator": True}


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_each_type_of_task_is_a_job_whose_pods_find_themselves(version):
    secret, service, *jobs = documents_of(**{**FULL, **SERVED, "gpus_per_worker": 2})
    for document in (secret, service, *jobs):
        assert kubernetes_validate.validate(document, version, strict=True) == version
    assert [job["metadata"]["name"] for job in jobs] == [
        "digits-chief",
        "digits-worker",
        "digits-ps",
        "digits-evaluator",
    ]
    labels = {"app.kubernetes.io/instance": "digits"}
    assert service["spec"]["selector"] == labels
    addresses = [f"digits-{task}.digits:1234" for task in ("chief-0", "worker-0", "worker-1", "ps-0", "ps-1")]
    identities = set()
    for job, count in zip(jobs, [1, 2, 2, 1], strict=True):
        template = job["spec"]["template"]
        assert job["metadata"]["labels"] == template["metadata"]["labels"] == labels
        assert job["spec"]["completions"] == job["spec"]["parallelism"] == count
        assert template["spec"]["subdomain"] == "digits"
        (container,) = template["spec"]["containers"]
        kind = job["metadata"]["name"].rpartition("-")[2]
        # A server computes on the processor.
        assert container["resources"]["limits"].get("nvidia.com/gpu") == (None if kind == "ps" else "2")
        for index in range(count):
            known = environment_of(container, index)
            config = json.loads(known["TF_CONFIG"])
            assert config["cluster"] == {
                "chief": addresses[:1],
                "worker": addresses[1:3],
                "ps": addresses[3:],
            }
            assert config["task"] == {"type": kind, "index": index}
            identities.add(known["STRATAX_JOB_ID"])
    # One secret, and one identity, without which they would not know one another.
    assert len(identities) == 1
    assert identities != {
        environment_of(documents_of(**SERVED)[2]["spec"]["template"]["spec"]["containers"][0], 0)[
            "STRATAX_JOB_ID"
        ]
    }


def test_pods_of_two_jobs_of_one_name_are_distinguished():
    assert environment_of(container_of(), 0)["STRATAX_JOB_ID"] == "a-b-c"


def test_all_pods_get_the_secret_which_is_another_for_each_manifest():
    secrets = [documents_of(**FULL)[0] for _ in range(2)]
    assert [(each["kind"], each["metadata"]) for each in secrets] == [
        ("Secret", {"name": "digits", "namespace": "learning"})
    ] * 2
    values = {each["stringData"]["secret"] for each in secrets}
    assert {len(value) for value in values} == {64}
    assert len(values) == 2
    entries = {entry["name"]: entry for entry in container_of()["env"]}
    reference = entries["STRATAX_CLUSTER_SECRET"]["valueFrom"]["secretKeyRef"]
    assert reference == {"name": "digits", "key": "secret"}


def test_a_secret_that_is_there_already_is_referred_to():
    documents = documents_of(secret="mine")
    assert [document["kind"] for document in documents] == ["Service", "Job"]
    entries = {entry["name"]: entry for entry in container_of(secret="mine")["env"]}
    reference = entries["STRATAX_CLUSTER_SECRET"]["valueFrom"]["secretKeyRef"]
    assert reference == {"name": "mine", "key": "secret"}


def test_arguments_reach_the_program_as_they_were_given():
    words = ("python", "train.py", "$(TF_CONFIG)", "$$", "a b", "'\"\n", "--x=1", "on", "")
    container = container_of(command=words)
    known = environment_of(container, 0)
    assert tuple(expanded(word, known) for word in container["command"]) == words


def action_of(rules, code):
    """What Kubernetes does about a pod that ended with an exit code: the first rule that applies."""
    for rule in rules:
        codes = rule.get("onExitCodes")
        if codes and (code in codes["values"]) == (codes["operator"] == "In"):
            return rule["action"]
    return "Count"


def test_exit_codes_decide_whether_pods_are_started_again():
    job = job_of(restarts=4)
    rules = job["podFailurePolicy"]["rules"]
    assert (job["backoffLimitPerIndex"], job["maxFailedIndexes"]) == (4, 0)
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert rules[0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert action_of(rules, ExitCode.PREEMPTED) == "Ignore"
    others = [code for code in range(1, 256) if code != ExitCode.PREEMPTED]
    assert {code for code in others if action_of(rules, code) == "Count"} == {
        code for code in others if is_retryable(code)
    }
    assert {action_of(rules, code) for code in others if not is_retryable(code)} == {"FailJob"}
    # Kubernetes wants them sorted.
    assert all(rule["onExitCodes"]["values"] == sorted(rule["onExitCodes"]["values"]) for rule in rules[1:])


def test_workers_get_what_was_asked_for():
    container = container_of(**FULL)
    assert container["resources"] == {
        "requests": {"cpu": "1.5", "memory": "16Gi"},
        "limits": {"memory": "16Gi", "nvidia.com/gpu": "2"},
    }
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [
        "/data",
        "/checkpoints",
        "/dev/shm",
    ]
    volumes = job_of(**FULL)["template"]["spec"]["volumes"]
    assert [volume.get("persistentVolumeClaim", {}).get("claimName") for volume in volumes] == [
        "data",
        "checkpoints",
        None,
    ]
    assert {"resources", "volumeMounts"}.isdisjoint(container_of())
    assert "volumes" not in job_of()["template"]["spec"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"restarts": -1}, "restarts must be at least 0"),
        ({"gpus_per_worker": -1}, "gpus_per_worker must be at least 0"),
        ({"port": 0}, "port must be between 1 and 65535"),
        ({"image": "a b"}, "image must be the name of one.*'a b'"),
        ({"name": "Digits"}, "name must have at most 61 characters.*'Digits'"),
        ({"name": "1st"}, "begins with a letter"),
        ({"name": "d-"}, "does not end with a hyphen"),
        ({"name": "d" * 61, "workers": 11}, "at most 60 characters"),
        ({"name": "d" * 52, "evaluator": True}, "at most 51 characters"),
        ({"ps": -1}, "ps must be at least 0"),
        ({"secret": "My secret"}, "secret must have at most 63 characters.*'My secret'"),
        ({"namespace": "a.b"}, "namespace must have at most 63 characters"),
        ({"cpus": "many"}, "cpus must be a quantity.*'many'"),
        ({"memory": "16 GB"}, "memory must be a quantity.*'16 GB'"),
        ({"volumes": (("data", "data"),)}, "absolute path.*'data:data'"),
        ({"volumes": (("", "/data"),)}, "A volume must be a claim's name"),
    ],
)
def test_wrong_plans_are_refused(changes, message):
    with pytest.raises(BadArgumentError, match=message):
        plan_of(**changes)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("train.py", "train"),
        ("jobs/Train_Digits.v2.py", "train-digits-v2"),
        ("01.py", "stratax-01"),
        ("_.py", "stratax"),
    ],
)
def test_jobs_are_called_like_their_program(program, name):
    assert name_for(program) == name
    plan_of(name=name)

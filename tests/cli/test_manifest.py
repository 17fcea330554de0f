"""`stratax manifest` as a user calls it."""

import pytest
import yaml

from tests.cli import command


def test_kubernetes_objects_are_printed(capsys):
    options = ("--workers", "2", "--image", "digits:1", "--restarts", "3", "--volume", "claim:/data")
    assert command.run(["manifest", "kubernetes", *options, "--", "train.py", "--epochs", "3"]) == 0
    secret, service, job = yaml.safe_load_all(capsys.readouterr().out)
    assert {each["metadata"]["name"] for each in (secret, service, job)} == {"train"}
    assert command.run(["manifest", "kubernetes", *options, "--secret", "mine", "train.py"]) == 0
    assert [each["kind"] for each in yaml.safe_load_all(capsys.readouterr().out)] == ["Service", "Job"]
    assert job["spec"]["backoffLimitPerIndex"] == 3
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["python", "train.py", "--epochs", "3"]
    assert container["volumeMounts"] == [{"name": "volume-0", "mountPath": "/data"}]
    assert container["ports"][0]["containerPort"] == 8470


def test_kubernetes_objects_for_a_tpu_slice_are_printed(capsys):
    options = ("--tpu", "v5litepod-16", "--image", "digits:1", "--restarts", "3", "--spot")
    assert command.run(["manifest", "kubernetes", *options, "-m", "examples.train", "--epochs", "3"]) == 0
    *_, job = yaml.safe_load_all(capsys.readouterr().out)
    assert (job["spec"]["parallelism"], job["spec"]["backoffLimitPerIndex"]) == (4, 3)
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["cloud.google.com/gke-spot"] == "true"
    assert pod["containers"][0]["command"] == ["python", "-m", "examples.train", "--epochs", "3"]
    options = ("--tpu", "v6e-8", "--chips-per-host", "4", "--image", "digits:1")
    assert command.run(["manifest", "kubernetes", *options, "train.py"]) == 0
    *_, job = yaml.safe_load_all(capsys.readouterr().out)
    assert job["spec"]["parallelism"] == 2


def test_a_script_for_slurm_is_printed(capsys):
    options = ("--workers", "4", "--workers-per-node", "2", "--name", "digits", "--time", "30")
    assert command.run(["manifest", "slurm", *options, "-m", "examples.train", "--workers", "7"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#!/bin/bash\n#SBATCH --job-name=digits\n#SBATCH --nodes=2\n")
    assert "task python -m examples.train --workers 7\n" in script
    assert "$((8888 + local))" in script


def test_a_script_for_tpu_vms_is_printed(capsys):
    options = (
        "--topology",
        "v5litepod-16",
        "--zone",
        "us-west4-a",
        "--copy",
        "a b",
        "--fetch",
        "weights",
        "--spot",
    )
    more = ("--restarts", "2", "--wait-hours", "3", "--name", "digits", "--keep", "--install", "more.txt")
    assert command.run(["manifest", "tpu-vm", *options, *more, "jobs/train.py", "--epochs", "3 4"]) == 0
    script = capsys.readouterr().out
    for line in (
        "name=digits",
        "where=(--zone=us-west4-a)",
        "accelerator=v5litepod-16",
        "runtime=v2-alpha-tpuv5-lite",
        "tier=(--spot)",
        "wait_hours=3",
        "hosts=4",
        "restarts=2",
        "keep=1",
        "files=(jobs/train.py 'a b' more.txt)",
        "results=(weights)",
        """command='train.py --epochs '"'"'3 4'"'"''""",
    ):
        assert f"\n{line}\n" in script
    assert command.run(["manifest", "tpu-vm", *options[:4], "--setup", "true", "-m", "jobs.train"]) == 0
    script = capsys.readouterr().out
    assert "\nfiles=()\n" in script
    assert "\ncommand='-m jobs.train'\n" in script


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["kubernetes", "--workers", "2", "train.py"], "Missing option '--image'"),
        (["kubernetes", "--image", "a", "train.py"], "Missing option '--workers', or '--tpu'"),
        (["kubernetes", "--image", "a", "--workers", "2"], "Missing argument 'PROGRAM'"),
        (["kubernetes", "--image", "a", "--workers", "2", "--name", "A", "train.py"], "name='A'"),
        (["kubernetes", "--image", "a", "--workers", "2", "--volume", "a", "train.py"], "volume='a:'"),
        (["kubernetes", "--image", "a", "--tpu", "v2-8", "train.py"], "no nodes with TPUs of v2"),
        (["kubernetes", "--image", "a", "--tpu", "v5e-5", "train.py"], "There is no TPU topology 'v5e-5'"),
        (
            ["kubernetes", "--image", "a", "--tpu", "v5e-16", "--workers", "2", "train.py"],
            "Leave the workers out",
        ),
        (
            ["kubernetes", "--image", "a", "--workers", "2", "--chips-per-host", "4", "train.py"],
            "--chips-per-host is said of a TPU's hosts",
        ),
        (["tpu-vm", "--zone", "a", "train.py"], "Missing option '--topology'"),
        (
            ["tpu-vm", "--zone", "a", "--topology", "v2-8", "train.py"],
            "The hosts have no Stratax. Give either",
        ),
        (["tpu-vm", "--zone", "a b", "--topology", "v2-8", "train.py"], "zone='a b'"),
        (["slurm", "--workers", "0", "train.py"], "is not in the range x>=1"),
        (["slurm", "--workers", "3", "--workers-per-node", "2", "train.py"], "workers=3"),
        (["slurm", "--workers", "2", "--wrokers-per-node", "2", "train.py"], "No such option"),
    ],
)
def test_a_wrong_call_is_explained(call, message, capsys):
    assert command.run(["manifest", *call]) == 2
    printed = capsys.readouterr()
    assert message in " ".join(printed.err.split())
    assert printed.out == ""

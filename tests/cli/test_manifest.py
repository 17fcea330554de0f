"""`stratax manifest` as a user calls it."""

import pytest
import yaml

from stratax.cli import _main


def test_kubernetes_objects_are_printed(capsys):
    options = ("--workers", "2", "--image", "digits:1", "--restarts", "3", "--volume", "claim:/data")
    assert _main.run(["manifest", "kubernetes", *options, "--", "train.py", "--epochs", "3"]) == 0
    secret, service, job = yaml.safe_load_all(capsys.readouterr().out)
    assert {each["metadata"]["name"] for each in (secret, service, job)} == {"train"}
    assert _main.run(["manifest", "kubernetes", *options, "--secret", "mine", "train.py"]) == 0
    assert [each["kind"] for each in yaml.safe_load_all(capsys.readouterr().out)] == ["Service", "Job"]
    assert job["spec"]["backoffLimitPerIndex"] == 3
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["python", "train.py", "--epochs", "3"]
    assert container["volumeMounts"] == [{"name": "volume-0", "mountPath": "/data"}]
    assert container["ports"][0]["containerPort"] == 8470


def test_a_script_for_slurm_is_printed(capsys):
    options = ("--workers", "4", "--workers-per-node", "2", "--name", "digits", "--time", "30")
    assert _main.run(["manifest", "slurm", *options, "-m", "examples.train", "--workers", "7"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#!/bin/bash\n#SBATCH --job-name=digits\n#SBATCH --nodes=2\n")
    assert "task python -m examples.train --workers 7\n" in script
    assert "$((8888 + local))" in script


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["kubernetes", "--workers", "2", "train.py"], "Missing option '--image'"),
        (["kubernetes", "--image", "a", "train.py"], "Missing option '--workers'"),
        (["kubernetes", "--image", "a", "--workers", "2"], "Missing argument 'PROGRAM'"),
        (["kubernetes", "--image", "a", "--workers", "2", "--name", "A", "train.py"], "name='A'"),
        (["kubernetes", "--image", "a", "--workers", "2", "--volume", "a", "train.py"], "volume='a:'"),
        (["slurm", "--workers", "0", "train.py"], "is not in the range x>=1"),
        (["slurm", "--workers", "3", "--workers-per-node", "2", "train.py"], "workers=3"),
        (["slurm", "--workers", "2", "--wrokers-per-node", "2", "train.py"], "No such option"),
    ],
)
def test_a_wrong_call_is_explained(call, message, capsys):
    assert _main.run(["manifest", *call]) == 2
    printed = capsys.readouterr()
    assert message in " ".join(printed.err.split())
    assert printed.out == ""

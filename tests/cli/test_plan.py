import pytest

from stratax.cli._plan import TrainingPlan
from stratax.errors import BadArgumentError


def make_plan(**changes):
    numbers = {
        "strategy": "TPUStrategy",
        "devices": tuple(f"/job:worker/replica:0/task:0/device:TPU:{i}" for i in range(8)),
        "num_replicas": 8,
        "num_examples": 1500,
        "batch_size": 64,
        "steps_per_execution": 1,
        "epochs": 20,
    }
    return TrainingPlan(**(numbers | changes))


def test_the_plan_tells_global_and_per_replica_batch_steps_and_remainder():
    assert make_plan().lines() == [
        ("strategy", "TPUStrategy, 8 replicas"),
        ("devices", "/job:worker/replica:0/task:0/device:TPU:0 ... TPU:7"),
        ("batch", "64 global, 8 per replica"),
        ("epoch", "1500 examples, 24 steps, the last with 28"),
        ("dispatch", "1 step at a time"),
        ("run", "20 epochs, 480 updates"),
    ]


def test_the_plan_of_one_device_has_no_plurals_and_no_remainder():
    plan = make_plan(
        strategy="OneDeviceStrategy",
        devices=("/cpu:0",),
        num_replicas=1,
        num_examples=64,
        steps_per_execution=5,
    )
    assert dict(make_plan(epochs=1).lines())["run"] == "1 epoch, 24 updates"
    assert plan.lines()[:5] == [
        ("strategy", "OneDeviceStrategy, 1 replica"),
        ("devices", "/cpu:0"),
        ("batch", "64 global, 64 per replica"),
        ("epoch", "64 examples, 1 step"),
        ("dispatch", "5 steps at a time"),
    ]


def test_a_batch_that_does_not_divide_by_the_replicas_is_reported_as_whole_on_each():
    batch = dict(make_plan(batch_size=100).lines())["batch"]
    assert batch == "100 global, whole on every replica, as it does not divide by 8"


def test_two_devices_are_both_named():
    assert dict(make_plan(devices=("/cpu:0", "/cpu:1")).lines())["devices"] == "/cpu:0, /cpu:1"


@pytest.mark.parametrize(
    "name", ["num_replicas", "num_examples", "batch_size", "steps_per_execution", "epochs"]
)
def test_every_number_of_the_plan_must_be_positive(name):
    option = name.replace("_", "-")
    with pytest.raises(BadArgumentError, match=rf"{option} must be at least 1\. Received: {name}=0"):
        make_plan(**{name: 0})

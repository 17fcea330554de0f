"""What `make_hooks.py` runs TensorFlow's hooks with, and the tests run ours with.

Step number k has the loss (k - 1) / 4, and a dispatch takes half a second by a clock of its own.
"""

SECONDS = 0.5
DISPATCHES = 30

# By name: the hook's class, its arguments, how many steps one dispatch runs, and the global step to begin with.
CASES = {
    "logging, a dict by steps": (
        "LoggingTensorHook",
        {"tensors": {"b": "loss", "a": "loss"}, "every_n_iter": 10},
        1,
        0,
    ),
    "logging, a list by seconds": ("LoggingTensorHook", {"tensors": ["loss"], "every_n_secs": 3}, 1, 0),
    "logging, a formatter": (
        "LoggingTensorHook",
        {"tensors": ["loss"], "every_n_iter": 7, "formatter": "format"},
        1,
        5,
    ),
    # TensorFlow counts dispatches here.
    "logging, seven steps": ("LoggingTensorHook", {"tensors": ["loss"], "every_n_iter": 4}, 7, 0),
    "stop, by number": ("StopAtStepHook", {"num_steps": 9}, 1, 3),
    "stop, at a step": ("StopAtStepHook", {"last_step": 9}, 1, 3),
    "stop, at a step that is past": ("StopAtStepHook", {"last_step": 2}, 1, 3),
    "stop, seven steps": ("StopAtStepHook", {"num_steps": 15}, 7, 0),
    "checkpoints by steps": ("CheckpointSaverHook", {"save_steps": 10}, 1, 0),
    "checkpoints by steps, from a step": ("CheckpointSaverHook", {"save_steps": 10}, 1, 4),
    "checkpoints by seconds": ("CheckpointSaverHook", {"save_secs": 4}, 1, 0),
    "checkpoints, seven steps": ("CheckpointSaverHook", {"save_steps": 10}, 7, 0),
    "checkpoints, a listener": ("CheckpointSaverHook", {"save_steps": 6, "listeners": "recorded"}, 1, 0),
    "checkpoints, a listener that stops": (
        "CheckpointSaverHook",
        {"save_steps": 6, "listeners": "stopping"},
        1,
        0,
    ),
    "speed by steps": ("StepCounterHook", {"every_n_steps": 10, "summary_writer": "recorded"}, 1, 0),
    "speed by seconds": (
        "StepCounterHook",
        {"every_n_steps": None, "every_n_secs": 3, "summary_writer": "recorded"},
        1,
        0,
    ),
    "speed, seven steps": ("StepCounterHook", {"every_n_steps": 10, "summary_writer": "recorded"}, 7, 0),
    "summaries by steps": ("SummarySaverHook", {"save_steps": 10, "summary_writer": "recorded"}, 1, 0),
    "summaries by seconds": ("SummarySaverHook", {"save_secs": 3, "summary_writer": "recorded"}, 1, 0),
    "profile by steps": ("ProfilerHook", {"save_steps": 10}, 1, 0),
    "profile by steps, from a step": ("ProfilerHook", {"save_steps": 10}, 1, 3),
    "questions by steps": (
        "make_early_stopping_hook",
        {"run_every_secs": None, "run_every_steps": 10, "should_stop_fn": "at third"},
        1,
        0,
    ),
    "questions by seconds": (
        "make_early_stopping_hook",
        {"run_every_secs": 4, "should_stop_fn": "at third"},
        1,
        0,
    ),
}

# What evaluations have found, by global step.
SERIES = {
    "rising": {10: 0.5, 20: 0.625, 30: 0.75, 40: 0.875},
    "peak": {10: 0.5, 20: 0.75, 30: 0.625, 40: 0.5, 50: 0.25},
    "flat": {10: 0.5, 20: 0.5, 30: 0.5},
    "nothing": {},
}

# By name: the function, its arguments behind the metric's name, and the series.
STOPPING = {
    f"{function}({number}, min_steps={min_steps}), {series}": (function, number, min_steps, series)
    for function, numbers in {
        "stop_if_higher_hook": (0.6, 0.75),
        "stop_if_lower_hook": (0.4, 0.1),
        "stop_if_no_increase_hook": (10, 20, 30),
        "stop_if_no_decrease_hook": (10, 20, 30),
    }.items()
    for number in numbers
    for min_steps in (0, 30)
    for series in SERIES
}

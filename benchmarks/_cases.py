"""What is measured, on how many devices, and what it should come to. Imports nothing that is slow to import."""

import dataclasses
import fnmatch
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks._measure import Figure, Plan


_ROOFLINE_DEVICES = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What a figure should come to.

    Attributes:
        bound: The bound.
        at_least: Whether the figure should be at least that, instead of at most.
        unit: The unit, empty for a ratio.
    """

    bound: float
    at_least: bool = False
    unit: str = ""

    def is_met(self, value: float) -> bool:
        """Whether a figure is within the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}{self.unit and ' ' + self.unit}"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One figure.

    Attributes:
        name: Its name, which `--only` looks at.
        what: What is compared, in a few words.
        program: What measures it, as `module:function` in this package.
        options: The function's keyword arguments beside the plan.
        devices: How many devices it needs.
        target: What it should come to; None where it is only reported.
        unit: The unit of the figure, empty for a ratio.
    """

    name: str
    what: str
    program: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    devices: int = 1
    target: Target | None = None
    unit: str = ""

    def measure(self, plan: "Plan") -> "Figure":
        """Measures it, in this process."""
        module, function = self.program.split(":")
        run: Callable[..., Figure] = getattr(importlib.import_module(f"benchmarks.{module}"), function)
        return run(plan=plan, **self.options)


def all_cases(counts: Sequence[int]) -> list[Case]:
    """Every case, on so many devices each where that makes a difference."""
    many = max(counts)
    return [
        *_steps(counts),
        *_fits(counts),
        *_estimators(counts),
        *_programs(),
        *(_against_keras(many) if many > 1 else []),
        *(_sharded(many) if many > 1 else []),
        *_fused(counts),
        *_first_calls(counts),
        *_first_fits(counts),
        Case(
            name="dataset",
            what="from_tensor_slices.shuffle.map.batch, an element of 28x28 floats",
            program="_input:shuffled_batches",
            target=Target(1.0, unit="us"),
            unit="us",
        ),
        Case(
            name="saving-position",
            what="saving the position of records in a shuffle buffer of 10,000 of 1 KB, as JSON",
            program="_input:saving_the_position",
            target=Target(10.0, unit="ms"),
            unit="ms",
        ),
        Case(
            name="convert-images",
            what="stratax convert images, share of 2 cores that 2 processes keep busy",
            program="_convert:busy",
            target=Target(0.8, at_least=True),
        ),
        *(
            Case(
                name=name,
                what=f"JPEG decode, resize and augment, 2 {kind}{how}, times as many images/s as tf.data on 2 threads",
                program="_images:flowers",
                options={"workers": 2, "kind": kind, "is_compiled": not how},
                target=Target(1.0, at_least=True),
            )
            for name, kind, how in (
                ("images-flowers", "threads", ""),
                ("images-flowers-numpy", "threads", " without Numba"),
                ("images-flowers-processes", "processes", ""),
            )
        ),
        *_parsing(),
        *_records(),
        Case(
            name="checkpoint-pause",
            what="the loop's pause at an asynchronous checkpoint of 100 MB, as a part of a synchronous one's time",
            program="_checkpoint:pause",
            target=Target(0.1),
        ),
        Case(
            name="import",
            what="import stratax, beyond jax and keras",
            program="_once:importing",
            target=Target(0.3, unit="s"),
            unit="s",
        ),
        *(_all_reduces(many) if many > 1 else []),
        *_compiled(),
        *_eager(),
        Case(
            name="session-step",
            what="session.run of a step of an MLP / the same in a compiled function",
            program="_sessions:against_function",
            target=Target(1.3),
        ),
        *_clusters(),
        *_servers(),
        *_exports(),
        *_lowerings(),
        *_layers(counts),
        *_convolutional(),
        *(_plans() if many >= _ROOFLINE_DEVICES else []),
    ]


def _plans() -> list[Case]:
    """The model of `stratax plan`, beside what was measured here and what was published."""
    steps = {
        "batch": "a batch of 4,096 / of 512",
        "width": "layers of 1,024 features / of 512",
        "links": "a batch of 256, gradients combined / not combined",
        "devices": "a batch of 1,024 on 8 devices / on 4",
        "memory": "layers that scale features, a batch of 4,096 / that multiply matrices, of 512",
    }
    published = {
        "resnet-v2-8": "ResNet-50, batch 1,024, v2-8",
        "resnet-v3-8": "ResNet-50, batch 1,024, v3-8",
        "resnet-v3-32": "ResNet-50, batch 4,096, v3-32",
        "resnet-v4-128": "ResNet-50, batch 8,192, v4-128",
        "bert-v3-32": "BERT-large, batch 448, v3-32",
    }
    return [
        *(
            Case(
                name=f"plan-measured-{name}",
                what=f"gradient of 4 layers, {what}, measured / as the model of stratax plan has it",
                program="_roofline:ratio",
                options={"name": name},
                devices=_ROOFLINE_DEVICES,
            )
            for name, what in steps.items()
        ),
        *(
            Case(
                name=f"plan-published-{name}",
                what=f"examples/s at most, as stratax plan has it / published, {what}",
                program="_published:estimated",
                options={"name": name},
            )
            for name, what in published.items()
        ),
    ]


def _eager() -> list[Case]:
    """Operations outside of functions."""
    return [
        Case(
            name=f"eager-{name.replace('_', '-')}-{peer}",
            what=f"tf.{'' if name in ('add', 'matmul', 'reduce_sum') else 'nn.'}{name} of 4x4 floats / {whose}",
            program=f"_eager:against_{peer}",
            options={"name": name},
            target=Target(bound),
        )
        for name in ("add", "relu", "softmax", "matmul", "reduce_sum")
        for peer, whose, bound in (("jax", "JAX's own", 2.0), ("tensorflow", "TensorFlow's own", 1.0))
    ]


def _exports() -> list[Case]:
    """Models that run without their programs."""
    return [
        *(
            Case(
                name=f"export-call-{model}-{batch}",
                what=f"call of a loaded signature / the jitted function, {model.upper()}, batch {batch}",
                program="_export:call",
                options={"model": model, "batch": batch},
                target=Target(1.1),
            )
            for model in ("cnn", "mlp")
            for batch in (1, 64)
        ),
        Case(
            name="export-save",
            what="export of a model of 105 MB for three platforms",
            program="_export:saved",
            options={"width": 2560},
            target=Target(10.0, unit="s"),
        ),
        *_serving(),
    ]


def _serving() -> list[Case]:
    """Exports behind HTTP."""
    return [
        *(
            Case(
                name=f"serve-{model}{name}",
                what=f"requests/s of 16 clients, {model.upper()}, batch 1 / TensorFlow behind the same server{how}",
                program="_serving:against_tensorflow",
                options={"model": model, "what": "rate", "max_batch": max_batch},
                target=Target(1.5, at_least=True),
            )
            for model in ("mlp", "cnn")
            for name, how, max_batch in (("", ", with its batches", 32), ("-alone", ", one at a time", 1))
        ),
        *(
            Case(
                name=f"serve-read-{model}",
                what=f"requests/s of 16 clients, {model.upper()}, a SavedModel of TensorFlow's / TensorFlow",
                program="_serving:against_tensorflow",
                options={"model": model, "what": "rate", "max_batch": 32, "is_read": True},
                target=Target(1.0, at_least=True),
            )
            for model in ("mlp", "cnn")
        ),
        *(
            Case(
                name=f"serve-{model}-p99",
                what=f"time of 99 of 100 requests of 16 clients, {model.upper()} / TensorFlow behind the same server",
                program="_serving:against_tensorflow",
                options={"model": model, "what": "p99", "max_batch": 32},
                target=Target(1.0),
            )
            for model in ("mlp", "cnn")
        ),
        Case(
            name="serve-first-answer",
            what="from the start of a process to the first answer of an export, CNN",
            program="_serving:first_answer",
            target=Target(2.0, unit="s"),
            unit="s",
        ),
        Case(
            name="serve-changes",
            what="requests that fail of 10,000, while the version changes every second",
            program="_serving:failed_during_changes",
            options={"requests": 10_000},
            target=Target(0.0),
        ),
    ]


def _servers() -> list[Case]:
    """Parameter servers."""
    return [
        Case(
            name=f"servers-step-{workers}",
            what=f"steps of an MLP by {workers} workers and a parameter server, times as many/s as TensorFlow's",
            program="_servers:against_tensorflow",
            options={"kind": "steps", "at_once": 20, "workers": workers},
            # The other numbers of workers are the curve on this machine.
            target=Target(2.0, at_least=True) if workers == 2 else None,
        )
        for workers in (1, 2, 4)
    ] + [
        *(
            Case(
                name=f"servers-embedding-{name}",
                what=f"{what} of a step, table of 10 million rows over 10 thousand, 1,024 x 20 ids",
                program=f"_servers_embedding:{function}",
                target=Target(1.5),
            )
            for name, what, function in (("step", "seconds", "seconds"), ("bytes", "bytes", "sent_bytes"))
        ),
        Case(
            name="servers-schedule",
            what="closures that do nothing, 2 workers, times as many/s as TensorFlow's coordinator",
            program="_servers:against_tensorflow",
            options={"kind": "empty", "at_once": 200, "workers": 2},
            target=Target(1.0, at_least=True),
        ),
        *(
            Case(
                name=f"servers-message-{name}",
                what=f"assigning and pulling {name} at a parameter server / put and get by Flight alone, both with TLS",
                program="_servers:against_flight",
                options={"size": size},
                target=Target(1.25),
            )
            for name, size in (("4kb", 4 << 10), ("1mb", 1 << 20), ("100mb", 100 << 20))
        ),
        Case(
            name="servers-memory",
            what="what a parameter server grows by under steps of Adam on 120 MB / the variables and their slots",
            program="_servers:memory",
            options={"size": 120 << 20},
            target=Target(1.3),
        ),
    ]


def _first_fits(counts: Sequence[int]) -> list[Case]:
    images = ("ResNet50", "EfficientNetB0", "MobileNetV2", "DenseNet121", "InceptionV3", "VGG16")
    return [
        Case(
            name=f"first-fit-{model.lower()}-{devices}",
            what=f"processor seconds of the first fit of 8 examples, {model} / Keras' own",
            program="_first_fit:against_keras",
            options={"model": model, "devices": devices},
            devices=devices,
            target=Target(1.1),
        )
        for model in (*images, "transformer")
        for devices in counts
    ]


def _lowerings() -> list[Case]:
    """Guards: a figure over its target says that a new jaxlib made something needless, or worse."""
    names = (
        "depthwise",
        "depthwise-gradient",
        "few-features",
        "groups",
        "groups-gradient",
        "one-pixel-gradient",
        "loop",
        "volume",
        "transposed-gradient",
        "max",
        "max-gradient",
        "sum",
        "statistics",
    )
    flag = Case(
        name="lowering-flag",
        what="filter gradient of a 3x3 convolution on the processor, without YNNPACK / with it",
        program="_lowerings:flag",
        target=Target(1.0),
    )
    return [flag] + [
        Case(
            name=f"lowering-{name}",
            what=f"{name.replace('-', ', ')} on the processor, lowered by Stratax / by JAX",
            program="_lowerings:rewritten",
            options={"name": name},
            target=Target(1.0),
        )
        for name in names
    ]


def _layers(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"layer-{group}-{devices}",
            what=f"the slowest of Keras' layers, {group}, forward or backward / TensorFlow's",
            program="_layers:group",
            options={"group": group},
            devices=devices,
            target=Target(1.5),
        )
        for group in ("conv", "depthwise", "conv3d", "pool", "norm", "dense", "recurrent")
        for devices in counts
    ]


def _convolutional() -> list[Case]:
    model = "two 3x3 convolutions of 32 filters"
    return [
        Case(
            name="convolutions-tensorflow",
            what=f"step of run in function / TensorFlow's, {model}",
            program="_step:against_tensorflow",
            target=Target(1.1),
        ),
        Case(
            name="convolutions-jax",
            what=f"step of run in function / by hand in a process without Stratax, {model}",
            program="_step:against_jax_alone",
            target=Target(0.5),
        ),
    ]


def _records() -> list[Case]:
    reading = [
        Case(
            name=f"tfrecord-{name}-{'each' if not batch_size else f'batch{batch_size}'}",
            what=f"reading TFRecord, records of {name}, {_at_once(batch_size)}, times tf.data's MB/s",
            program="_tfrecord:reading",
            options={"record_bytes": record_bytes, "batch_size": batch_size},
            target=Target(1.0, at_least=True),
        )
        for name, record_bytes in (("1kb", 1024), ("100kb", 100 * 1024))
        for batch_size in (0, 256)
    ]
    memory = Case(
        name="memory-shuffle-5gb",
        what="memory of a process that streams 5 GB of 1 KB records through shuffle(10_000)",
        program="_tfrecord:memory",
        target=Target(300.0, unit="MB"),
        unit="MB",
    )
    return [*reading, memory]


def _at_once(batch_size: int) -> str:
    return f"batches of {batch_size}" if batch_size else "one at a time"


def _parsing() -> list[Case]:
    return [
        Case(
            name=f"parse-examples-{batch_size}",
            what=f"reading and parsing small Examples, batches of {batch_size}, times as many as tf.data",
            program="_parse:examples",
            options={"batch_size": batch_size},
            target=Target(1.0, at_least=True),
        )
        for batch_size in (256, 1024)
    ]


def selected(cases: Sequence[Case], pattern: str | None) -> list[Case]:
    """The cases whose names match: a pattern with `*`, or a part of the name."""
    if pattern is None:
        return list(cases)
    pattern = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
    return [case for case in cases if fnmatch.fnmatch(case.name, pattern)]


def _steps(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"run-{kind}-{devices}-{steps}",
            what=f"step of run in function / by hand, {kind.upper()}, {_dispatch(steps)}",
            program="_step:against_hand_written",
            options={"kind": kind, "steps": steps},
            devices=devices,
            target=Target(1.05),
        )
        for kind in ("mlp", "cnn")
        for devices in counts
        for steps in (1, 50)
    ]


def _fits(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"fit-{kind}-{devices}-{steps}",
            what=f"step of fit / by hand, {kind.upper()}, {_dispatch(steps)}",
            program="_fit:against_hand_written",
            options={"kind": kind, "steps": steps},
            devices=devices,
            target=Target(1.10),
        )
        for kind in ("mlp", "cnn")
        for devices in counts
        for steps in (1, 50)
    ]


def _estimators(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"estimator-{kind}-{devices}-{steps}",
            what=f"step of TPUEstimator.train / by hand, {kind.upper()}, {_dispatch(steps)}",
            program="_estimator:against_hand_written",
            options={"kind": kind, "steps": steps},
            devices=devices,
            target=Target(1.10 if steps == 1 else 1.05),
        )
        for kind in ("mlp", "cnn")
        for devices in counts
        for steps in (1, 100)
    ] + [
        *(
            Case(
                name=f"estimator-tensorflow-{kind}-{steps}",
                what=f"TPUEstimator.train, times as fast as TensorFlow 2.15's, {what}, {_dispatch(steps)}",
                program="_estimator:against_tensorflow",
                options={"kind": kind, "steps": steps},
                target=Target(3.0, at_least=True),
            )
            for kind, what in (("mlp", "MLP"), ("mnist", "CNN of 5x5"))
            for steps in (1, 100)
        ),
        Case(
            name="estimator-columns",
            what="DNNClassifier.train of 20 mixed columns, times as fast as TensorFlow 2.15's",
            program="_estimator:classifying",
            target=Target(2.0, at_least=True),
        ),
        Case(
            name="estimator-start",
            what="Estimator.train of 1 step, from checkpoint to checkpoint / TensorFlow 2.15's",
            program="_estimator:starting",
            target=Target(1.0),
        ),
        *(
            Case(
                name=f"estimator-{method}",
                what=f"batch of Estimator.{method} / of Keras' {method}, MLP",
                program="_estimator:against_keras",
                options={"method": method},
                target=Target(1.10),
            )
            for method in ("evaluate", "predict")
        ),
        Case(
            name="estimator-hooks",
            what="step of Estimator.train with 3 idle hooks / without, MLP",
            program="_estimator:with_hooks",
            target=Target(1.02),
        ),
    ]


def _programs() -> list[Case]:
    """Programs that say `import tensorflow`, as they are."""
    whats = {
        "bert": "TPUEstimator of BERT, tiny, 32 x 128 words",
        "deepfm": "DeepFM of 39 columns, batch 256",
        "resnet 20": "residual network of 20 layers, 64 images of 32x32",
        "resnet 50": "residual network of 50 layers, 16 images of 64x64",
        "census": "DNNLinearCombinedClassifier of a census, batch 128",
    }
    return [
        Case(
            name=f"program-{kind}-{program.replace(' ', '')}",
            what=f"{what}, {how}",
            program=f"_programs:{function}",
            options={"program": program},
            target=target,
        )
        for program, what in whats.items()
        for kind, how, function, target in (
            ("step", "a step, times as fast as TensorFlow 2.15's", "stepping", Target(1.0, at_least=True)),
            ("start", "processor seconds to the first step / TensorFlow 2.15's", "starting", Target(1.5)),
        )
    ]


def _against_keras(devices: int) -> list[Case]:
    return [
        Case(
            name=f"keras-{kind}-{devices}-{steps}",
            what=f"fit, times as fast as Keras' DataParallel, {kind.upper()}, {_dispatch(steps)}",
            program="_fit:against_data_parallel",
            options={"kind": kind, "steps": steps},
            devices=devices,
            target=Target(1.5, at_least=True),
        )
        for kind in ("mlp", "cnn")
        for steps in (1, 50)
    ]


def _sharded(devices: int) -> list[Case]:
    what = "of a perceptron 256-1024x7-10 that devices have in parts, batch 64"
    return [
        Case(
            name=f"sharded-{devices}",
            what=f"step {what} / by hand",
            program="_sharded:against_hand_written",
            devices=devices,
            target=Target(1.1),
        ),
        Case(
            name=f"sharded-keras-{devices}",
            what=f"fit {what}, times as fast as Keras' ModelParallel",
            program="_sharded:against_keras",
            devices=devices,
            target=Target(2.0, at_least=True),
        ),
        Case(
            name=f"sharded-save-{devices}",
            what="MiB that saving 800 MB in parts takes of the host beyond a copy of them, asynchronously",
            program="_sharded_saves:saving",
            devices=devices,
            target=Target(160.0, unit="MiB"),
            unit="MiB",
        ),
        Case(
            name=f"sharded-restore-{devices}",
            what="MiB that restoring 800 MB in parts takes of the host beyond a copy of them",
            program="_sharded_saves:restoring",
            devices=devices,
            target=Target(160.0, unit="MiB"),
            unit="MiB",
        ),
        Case(
            name=f"sharded-save-pause-{devices}",
            what="the loop's pause at an asynchronous save of 800 MB in parts / a copy of them by hand",
            program="_sharded_saves:pause",
            devices=devices,
            target=Target(1.2),
        ),
    ]


def _fused(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"fused-{kind}-{devices}",
            what=f"step, 50 per dispatch / 1 per dispatch, {kind.upper()}",
            program="_step:fused_against_single",
            options={"kind": kind, "steps": 50},
            devices=devices,
            target=Target(1.0) if kind == "mlp" else None,
        )
        for kind in ("mlp", "cnn")
        for devices in counts
    ]


def _first_calls(counts: Sequence[int]) -> list[Case]:
    return [
        Case(
            name=f"first-{kind}-{devices}-{steps}",
            what=f"first call / by hand, {kind.upper()}, {_dispatch(steps)}",
            program="_once:first_call",
            options={"kind": kind, "steps": steps},
            devices=devices,
            target=Target(1.5),
        )
        for kind, steps in (("mlp", 1), ("mlp", 50), ("cnn", 1))
        for devices in counts
    ]


def _all_reduces(devices: int) -> list[Case]:
    gradients = ("many small", "few large")
    packed = [
        Case(
            name=f"packed-{which.replace(' ', '-')}",
            what=f"all-reduce of {which} gradients, packed / unpacked",
            program="_all_reduce:packed_against_unpacked",
            options={"gradients": which},
            devices=devices,
        )
        for which in gradients
    ]
    ways = ("NcclAllReduce", "HierarchicalCopyAllReduce", "ReductionToOneDevice", "RingAllReduce")
    return packed + [
        Case(
            name=f"{ops}-{which.replace(' ', '-')}",
            what=f"{ops} of {which} gradients / psum",
            program="_all_reduce:against_psum",
            options={"ops": ops, "gradients": which},
            devices=devices,
        )
        for ops in ways
        for which in gradients
    ]


def _compiled() -> list[Case]:
    """Programs for TPUs that aren't there; no time is measured."""
    return [
        Case(
            name=f"compiled-{method}-{kind}-{steps}-{slice_}",
            what=f"what {method} takes on a core of {slice_} / by hand, {kind.upper()}, {_dispatch(steps)}",
            program="_compiled:against_hand_written",
            options={"method": method, "kind": kind, "steps": steps, "topology": slice_},
            # A loop that takes batches by itself is compiled for as many devices as it was traced for.
            devices=8 if method == "loop" else 2,
            target=Target(1.02),
        )
        for method in ("fit", "loop", "estimator", "evaluate", "predict")
        for kind in ("mlp", "cnn")
        for steps in (1, 5)
        for slice_ in ("v3-8", "v5e-8")
    ] + [
        Case(
            name="compiled-decoder-v5e-16",
            what="arguments and temporaries of a decoder in parts on a core of v5e:4x4 / by hand, layers in a loop",
            program="_decoder:against_hand_written",
            options={"topology": "v5e:4x4"},
            target=Target(1.1),
        )
    ]


def _clusters() -> list[Case]:
    """Several processes on this machine. They bring their devices with them, so the case's own process has one."""
    steps = [
        Case(
            name=f"workers-step-{kind}-{count}",
            what=f"step of 2 processes x 1 device / by hand, {kind.upper()}, {_dispatch(count)}",
            program="_cluster:step",
            options={"kind": kind, "steps": count},
            target=Target(1.05),
        )
        for kind, count in (("mlp", 1), ("mlp", 50), ("cnn", 1))
    ]
    curve = [
        Case(
            name=f"workers-{count}",
            what=f"step of {count} processes on one batch, times as fast as 1 process, CNN",
            program="_cluster:workers",
            options={"count": count},
        )
        for count in (2, 4, 8)
    ]
    return [
        *steps,
        Case(
            name="workers-packing",
            what="all-reduce of 100 gradients of 4 KB, 2 processes, packed, times as fast as unpacked",
            program="_cluster:packing",
            target=Target(2.0, at_least=True),
        ),
        Case(
            name="workers-psum",
            what="all-reduce of 25 MB, 2 processes / psum",
            program="_cluster:against_psum",
            target=Target(1.02),
        ),
        Case(
            name="workers-noticing",
            what="from SIGKILL of a worker to the end of the other",
            program="_cluster:noticing",
            target=Target(2.0, unit="s"),
            unit="s",
        ),
        Case(
            name="workers-restarting",
            what="from SIGKILL of a worker to training again, 2 workers",
            program="_cluster:restarting",
            target=Target(20.0, unit="s"),
            unit="s",
        ),
        *curve,
    ]


def _dispatch(steps: int) -> str:
    return f"{steps} step{'s' if steps > 1 else ''} per dispatch"

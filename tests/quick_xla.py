"""XLA's settings for tests whose numbers nobody compares: it compiles three to five times faster, what runs slower."""

import importlib.metadata

# A jaxlib that has lost one of these flags says so and ends: the first is gone in 0.11.
_IS_OLD = importlib.metadata.version("jaxlib").startswith("0.10.")
_FLAGS = (
    *(["--xla_cpu_use_fusion_emitters=false"] if _IS_OLD else []),
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_backend_optimization_level=0",
)
FLAGS = " ".join(_FLAGS)

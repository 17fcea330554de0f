"""XLA's settings for tests whose numbers nobody compares: it compiles three to five times faster, what runs slower."""

# A jaxlib that has lost one of these flags says so and ends.
_FLAGS = (
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_backend_optimization_level=0",
)
FLAGS = " ".join(_FLAGS)

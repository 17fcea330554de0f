"""What `import tensorflow_probability` finds where a process takes Stratax for TensorFlow (tf layer)."""

import tensorflow  # noqa: F401 -- which makes the process take Stratax for it

from stratax.tf import _companions

_companions.import_probability()

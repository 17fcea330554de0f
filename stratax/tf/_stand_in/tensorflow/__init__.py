"""What `import tensorflow` finds where a process takes Stratax for TensorFlow: it becomes `stratax.tf` (tf layer)."""

import os
import sys

try:
    import stratax.tf as _tf
except ModuleNotFoundError as error:
    if error.name not in ("stratax", "stratax.tf"):
        raise
    # Stratax is used where it is not installed, and the program's folder is another one.
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)))
    import stratax.tf as _tf

_tf.install_as_tensorflow()

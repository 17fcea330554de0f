"""`tf.test` (tf layer)."""

from stratax.cluster.settings import gpu_device_name as gpu_device_name
from stratax.cluster.settings import is_built_with_cuda as is_built_with_cuda
from stratax.cluster.settings import is_built_with_gpu_support as is_built_with_gpu_support
from stratax.cluster.settings import is_built_with_rocm as is_built_with_rocm
from stratax.cluster.settings import is_built_with_xla as is_built_with_xla
from stratax.cluster.settings import is_cpu_target_available as is_cpu_target_available
from stratax.cluster.settings import is_gpu_available as is_gpu_available
from stratax.tensorflow.ops.control.testing import TestCase as TestCase
from stratax.tensorflow.ops.control.testing import compute_gradient as compute_gradient
from stratax.tensorflow.ops.control.testing import get_temp_dir as get_temp_dir
from stratax.tensorflow.ops.control.testing import main as main

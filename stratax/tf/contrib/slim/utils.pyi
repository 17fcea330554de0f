"""`tf.contrib.slim.utils`: results of layers by name (tf layer)."""

from stratax.tensorflow.contrib._collected import append_tensor_alias as append_tensor_alias
from stratax.tensorflow.contrib._collected import collect_named_outputs as collect_named_outputs
from stratax.tensorflow.contrib._collected import convert_collection_to_dict as convert_collection_to_dict
from stratax.tensorflow.contrib._collected import gather_tensors_aliases as gather_tensors_aliases
from stratax.tensorflow.contrib._collected import get_tensor_aliases as get_tensor_aliases

import stratax.tensorflow.v1._collections
import stratax.tensorflow.v1._initializers

constant = stratax.tensorflow.v1._initializers.Constant
glorot_normal = stratax.tensorflow.v1._initializers.GlorotNormal
glorot_uniform = stratax.tensorflow.v1._initializers.GlorotUniform
he_normal = stratax.tensorflow.v1._initializers.HeNormal
he_uniform = stratax.tensorflow.v1._initializers.HeUniform
identity = stratax.tensorflow.v1._initializers.Identity
lecun_normal = stratax.tensorflow.v1._initializers.LecunNormal
lecun_uniform = stratax.tensorflow.v1._initializers.LecunUniform
ones = stratax.tensorflow.v1._initializers.Ones
orthogonal = stratax.tensorflow.v1._initializers.Orthogonal
random_normal = stratax.tensorflow.v1._initializers.RandomNormal
random_uniform = stratax.tensorflow.v1._initializers.RandomUniform
truncated_normal = stratax.tensorflow.v1._initializers.TruncatedNormal
uniform_unit_scaling = stratax.tensorflow.v1._initializers.UniformUnitScaling
variance_scaling = stratax.tensorflow.v1._initializers.VarianceScaling
zeros = stratax.tensorflow.v1._initializers.Zeros
global_variables = stratax.tensorflow.v1._collections.global_variables_initializer
local_variables = stratax.tensorflow.v1._collections.local_variables_initializer
tables_initializer = stratax.tensorflow.v1._collections.tables_initializer
variables = stratax.tensorflow.v1._collections.variables_initializer

import stratax.v1._collections
import stratax.v1._initializers

constant = stratax.v1._initializers.Constant
glorot_normal = stratax.v1._initializers.GlorotNormal
glorot_uniform = stratax.v1._initializers.GlorotUniform
he_normal = stratax.v1._initializers.HeNormal
he_uniform = stratax.v1._initializers.HeUniform
identity = stratax.v1._initializers.Identity
lecun_normal = stratax.v1._initializers.LecunNormal
lecun_uniform = stratax.v1._initializers.LecunUniform
ones = stratax.v1._initializers.Ones
orthogonal = stratax.v1._initializers.Orthogonal
random_normal = stratax.v1._initializers.RandomNormal
random_uniform = stratax.v1._initializers.RandomUniform
truncated_normal = stratax.v1._initializers.TruncatedNormal
uniform_unit_scaling = stratax.v1._initializers.UniformUnitScaling
variance_scaling = stratax.v1._initializers.VarianceScaling
zeros = stratax.v1._initializers.Zeros
global_variables = stratax.v1._collections.global_variables_initializer
local_variables = stratax.v1._collections.local_variables_initializer
tables_initializer = stratax.v1._collections.tables_initializer
variables = stratax.v1._collections.variables_initializer

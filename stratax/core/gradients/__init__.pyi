from ._alike import run_alike as run_alike
from ._alike import trace_only as trace_only
from ._custom_gradients import custom_gradient as custom_gradient
from ._custom_gradients import grad_pass_through as grad_pass_through
from ._custom_gradients import recompute as recompute
from ._custom_gradients import recompute_grad as recompute_grad
from ._tape import rows_of_gradient as rows_of_gradient
from ._traced_gradients import trace_gradients as trace_gradients

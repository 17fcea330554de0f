from stratax.core.functions import Optional as Optional

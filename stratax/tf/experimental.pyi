from stratax.core.regions import Optional as Optional

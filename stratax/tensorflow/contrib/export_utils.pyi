from ._learn import make_export_strategy as make_export_strategy

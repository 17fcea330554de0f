from stratax.core import do_not_convert as do_not_convert

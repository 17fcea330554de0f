from ._texts import take_text as take_text

from ._checks import check as check

from ._placement import check_fits as check_fits
from ._placement import place as place
from ._placement import place_local as place_local

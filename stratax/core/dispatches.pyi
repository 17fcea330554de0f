from ._dispatches import Observer as Observer
from ._dispatches import observe as observe
from ._interrupts import InterruptDeferred as InterruptDeferred

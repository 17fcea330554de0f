from ._trainer import Trainer as Trainer
from ._trainer import trainer_of as trainer_of

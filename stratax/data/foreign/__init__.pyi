from ._adopted import adopt as adopt

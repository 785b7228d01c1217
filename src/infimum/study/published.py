"""The figures of the paper's Table I, and nothing else: what the study's own are put beside."""

from __future__ import annotations

from typing import NamedTuple


class PublishedRow(NamedTuple):
    """A row of Table I; `lambda_` is λ on samples, `success` is λ*, `success_level` the paper's "Success"."""

    lambda_: float
    success: float
    mse: float
    success_level: float
    success_level_correct: float
    success_level_incorrect: float
    position_incorrect: float
    pearson: float


TABLE_I = {
    ("mnist", "best"): PublishedRow(0.9666, 0.9908, 0.0014, 0.9885, 0.9892, 0.9088, 1.4, -0.4033),
    ("mnist", "avg"): PublishedRow(0.9722, 0.9875, 0.0019, 0.9881, 0.9889, 0.9269, 1.4, -0.4451),
    ("mnist", "worst"): PublishedRow(0.9023, 0.9089, 0.0136, 0.9458, 0.9558, 0.8461, 1.8, -0.3912),
    ("fashion_mnist", "best"): PublishedRow(0.9374, 0.9150, 0.0125, 0.9617, 0.9700, 0.8720, 1.4, -0.4396),
    ("fashion_mnist", "avg"): PublishedRow(0.9191, 0.8982, 0.0145, 0.9553, 0.9651, 0.8690, 1.4, -0.4706),
    ("fashion_mnist", "worst"): PublishedRow(0.8451, 0.7738, 0.0316, 0.8824, 0.9104, 0.7864, 1.7, -0.3997),
    ("cifar10", "best"): PublishedRow(0.8391, 0.7804, 0.0316, 0.8760, 0.9095, 0.7568, 1.9, -0.4530),
    ("cifar10", "avg"): PublishedRow(0.7554, 0.6774, 0.0443, 0.8068, 0.8576, 0.7001, 2.1, -0.4139),
    ("cifar10", "worst"): PublishedRow(0.3582, 0.2557, 0.0890, 0.3637, 0.4145, 0.3462, 3.7, -0.3790),
    ("ham10000", "best"): PublishedRow(0.9316, 0.7717, 0.0532, 0.9189, 0.9393, 0.8497, 1.7, -0.3611),
    ("ham10000", "avg"): PublishedRow(0.9013, 0.7306, 0.0615, 0.9012, 0.9223, 0.8438, 1.8, -0.3035),
    ("ham10000", "worst"): PublishedRow(0.8430, 0.6651, 0.0758, 0.8380, 0.8701, 0.7742, 2.0, -0.2914),
}

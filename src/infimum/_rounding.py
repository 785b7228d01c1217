"""Numbers as text: a lower bound must not grow by being printed, nor a target shrink to a rounder one."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def floored(value: float, digits: int) -> str:
    """So many digits after the point, rounded down; of the shortest decimal that is read as the value.

    >>> floored(0.9999996, 6), floored(0.57, 2)
    ('0.999999', '0.57')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def floor4(value: float) -> str:
    """Four digits, rounded down: for bounds, and for λ, which is read as one.

    >>> floor4(0.95599999), floor4(0.57), floor4(0.99999)
    ('0.9559', '0.5700', '0.9999')
    """
    return floored(value, 4)


def interval(low: float, high: float, digits: int = 4) -> str:
    """An interval in brackets, its ends rounded outwards.

    >>> interval(0.91239, 0.98761), interval(0.9999, 1.0, 3)
    ('[0.9123, 0.9877]', '[0.999, 1.000]')
    """
    return f"[{floored(low, digits)}, {_rounded(high, digits, ROUND_CEILING)}]"


def estimated(value: float, standard_error: float | None) -> str:
    """λ, or an estimate beside it, with its standard error.

    >>> estimated(0.98769, 0.0012345), estimated(0.98769, None)
    ('0.9876 ± 0.0012', '0.9876')
    """
    return floor4(value) if standard_error is None else f"{floor4(value)} ± {standard_error:.4f}"


def signed(difference: float) -> str:
    """A difference with its sign, four digits.

    >>> signed(-0.00123), signed(0.5)
    ('−0.0012', '+0.5000')
    """
    return f"{difference:+.4f}".replace("-", "−")


def signed_interval(low: float, high: float) -> str:
    """An interval of a difference in brackets, four digits, its ends rounded outwards.

    >>> signed_interval(-0.00123, 0.00123)
    '[-0.0013, +0.0013]'
    """
    return f"[{_rounded(low, 4, ROUND_FLOOR, '+')}, {_rounded(high, 4, ROUND_CEILING, '+')}]"


def error_interval(low: float, high: float, digits: int) -> str:
    """The interval of an error rate in percent, of an accuracy in [low, high]; its ends are rounded outwards.

    >>> error_interval(0.91239, 0.98761, 2)
    '[1.23%, 8.77%]'
    """
    ends = (100 * (1 - Decimal(repr(float(accuracy)))) for accuracy in (high, low))
    return "[{}%, {}%]".format(
        *(_quantized(end, digits, way) for end, way in zip(ends, (ROUND_FLOOR, ROUND_CEILING), strict=True))
    )


def percent(confidence: float) -> str:
    """A confidence as a percentage; digits beyond the twelfth after the point are cut off.

    >>> percent(0.999), percent(0.9), percent(0.9999999999999)
    ('99.9 %', '90 %', '99.99999999999 %')
    """
    text = f"{_quantized(100 * Decimal(repr(float(confidence))), 12, ROUND_FLOOR):f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def unrounded(value: float) -> str:
    """A target with all its digits: 0.9999999 must not be printed as 1.

    >>> unrounded(0.9999999), unrounded(0.9), unrounded(1e-05)
    ('0.9999999', '0.9', '0.00001')
    """
    return f"{Decimal(repr(float(value))):f}"


def _rounded(value: float, digits: int, rounding: str, sign: str = "") -> str:
    return f"{_quantized(Decimal(repr(float(value))), digits, rounding):{sign}f}"


def _quantized(value: Decimal, digits: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), rounding)

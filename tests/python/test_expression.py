"""Expressions of sweeps and searches."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssdlab
from ssdlab.explore.expression import Expression

NAMES = {"a.b[0].c": 3, "in.x": -7, "lambda": 2.5}
SIGNS = ["+", "-", "*", "/", "//", "%"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
ATOMS = ["0", "1", "7", "2.5", ".5", "0.1", "2 ** 3 ** 2", "7 ** -1", "max(2, 7)", "round(2.567, 2)", *NAMES]
WORDS = [*ATOMS, *SIGNS, *COMPARISONS, *"()[],.$'", "**", "not", "and", "or", "in", "in [", "if(", "min(", "4KiB", "5%", "true"]


def joined(part, signs):
    """Texts of parts with signs between them."""
    return st.builds("{} {} {}".format, part, st.sampled_from(signs), part)


NUMBERS = st.recursive(
    st.sampled_from(ATOMS),
    lambda part: joined(part, SIGNS) | st.builds("({})".format, part) | st.builds("-{}".format, part),
    max_leaves=12,
)
#: The last side of a chain is an atom: Python does not evaluate it where the first comparison fails.
CONDITIONS = st.recursive(
    joined(NUMBERS, COMPARISONS) | st.builds("{} < {} <= {}".format, NUMBERS, NUMBERS, st.sampled_from(ATOMS)),
    lambda part: joined(part, ["and", "or"]) | st.builds("not {}".format, part) | st.builds("({})".format, part),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4 - 1", 13),
        ("(2 + 3) * 4", 20),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("7 // 2 + 7 % 4", 6),
        ("1 < 2 <= 2 < 3", True),
        ("1 < 3 < 2", False),
        ("not 1 > 2 and 2 > 1 or 1 > 2", True),
        ("4KiB * 2 == 8KiB", True),
        ("50us < 1ms", True),
        ("200MT/s / 2", 1e8),
        ("a.b[0].c + 1", 4),
        ("t in ['x', 'y'] and t != 'z'", True),
        ("if(a.b[0].c > 2, 'big', 'small')", "big"),
        ("max(1, 2, 3) + round(2.6) + floor(2.6) + ceil(2.1) + sqrt(16) + log2(8) + abs(-1)", 19),
        ("size <= 64KiB", True),
    ],
)
def test_expressions(text, value):
    assert Expression.parse(text).value({"a.b[0].c": 3, "t": "x", "size": "16KiB"}) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 +", "column 4: expected a value, not the end"),
        ("(1", "column 3: expected `)`"),
        ("1 2", "column 3: unexpected `2`"),
        ("a $ b", "column 3: unexpected `$`"),
        ("foo(1)", "unknown function `foo`"),
        ("t + 1", "expected a number, not 'x'"),
        ("t < 1", "a text and a number cannot be compared"),
        ("2 ** 1000", "exponent 1000"),
        ("1 / 0", "a division by zero"),
        ("zz", "zz: no such field"),
        ("1 and 2", "expected a condition, not the value 1"),
        ("__import__('os')", "unknown function `__import__`"),
        ("", "column 1: expected a value, not the end"),
        ("+1", "column 1: expected a value, not `+`"),
        ("1 + not true", "column 5: expected a value, not `not`"),
        ("(min)(1, 2)", "column 6: unexpected `(`"),
        ("(1, 2)", "column 1: expected one value in parentheses"),
        ("min(1, 2", "column 9: expected `)`, not the end"),
        ("min(1)", "column 1: min of 1 values: expected 2 or more"),
        ("t in 'xyz'", "column 6: expected `[`, not `'xyz'`"),
        ("t in []", "column 7: expected a value, not `]`"),
        ("[1] == 1", "column 1: expected a list only after `in`"),
        ("1 in [1] + 2", "column 10: unexpected `+`"),
        ("t[0] + t [0]", "column 10: expected a list only after `in`"),
        ("round(5, -10000000000)", "expected at least -308"),
        ("(10 ** 64) ** 64", "a number above 1.8e308"),
        ("(-8) ** 0.5", "a negative number has powers of whole exponents only"),
        ("(" * 151 + "1" + ")" * 151, "brackets are nested more than 150 deep"),
        ("not " * 151 + "true", "nested more than 150 deep"),
        ("1" + " + 1" * 1001, "expected at most 1000 arithmetic signs"),
        ("1 in [" + "1, " * 10_000 + "1]", "expected at most 20000"),
    ],
)
def test_bad_expressions(text, complaint):
    with pytest.raises(ssdlab.InputError) as refused:
        Expression.parse(text).value({"t": "x"})
    assert complaint in str(refused.value)
    with pytest.raises(ssdlab.InputError, match="expected a condition"):
        Expression.parse("1 + 1").holds({})


@given(NUMBERS | CONDITIONS)
def test_an_expression_has_the_value_that_it_has_in_python(text):
    python = text
    for name, value in NAMES.items():
        python = python.replace(name, f"({value})")
    try:
        expected = eval(python)
    except ZeroDivisionError:
        with pytest.raises(ssdlab.InputError, match="a division by zero"):
            Expression.parse(text).value(NAMES)
    else:
        value = Expression.parse(text).value(NAMES)
        assert (value, type(value)) == (expected, type(expected))


@given(st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text())
def test_any_text_is_an_expression_or_is_refused(text):
    with contextlib.suppress(ssdlab.InputError):
        Expression.parse(text).value(NAMES)

"""Cell laboratory: threshold voltages, error rates, write modes and their limits, endurance, codes.

    >>> from ssdlab import cell
    >>> answer = cell.rber("ofwar-mlc", pe=10_000, age="4d", step=0.4)
    >>> print(f"{answer.worst:.2e}")
    1.37e-03

A cell is a part's name (:func:`parts` lists them) or the path of a table of your measurements (``.csv``: ``pe_cycles``,
``days``, and one error rate for each page type). Times are strings with a unit: ``"4d"``, ``"90min"``, ``"1y"``.

**Arrays.** Wear (`pe`), `age`, `step` and `retention` are one value or a sequence. As in NumPy's indexing, an answer
has an axis for each quantity that was given as a sequence, and none for one given as a single value; if all were
single values, it is a plain number. A quantity that is left out has the default that the function names; if the default
is a table of usual values, it is an axis too.

**Values that do not exist** are not a number (NaN): the step for a retention that no step keeps, or the retention limit
where not even fresh data is correctable.

Every function takes the circumstances that apply to it by keyword (`more` in the signatures):

========================  ==============================================================================================
``code``                  ``bch-110/4KiB`` (errors corrected / data), ``ldpc-448B/4KiB`` (parity / data), or the path of
                          a measurement (``.json``, see :func:`code`); default: the part's own code
``soft_levels``           number of soft levels available to the decoder
``limit``                 correctable error rate, in place of the one that follows from the code
``temperature``           temperature at which data ages [degrees Celsius]
``reads``                 reads of the block
``erase_shift``           voltage by which the block was erased shallower than nominal [V]
``references``            ``fixed``, ``tracked`` or ``optimal``
``neighbourhood``         ``all_bit_line`` or ``even_odd``
``compensation``          true if the mean interference is compensated
========================  ==============================================================================================
"""

from ssdlab.cell.answers import (
    Budget,
    Endurance,
    EraseMode,
    Limits,
    Modes,
    PageProgram,
    Parameter,
    Part,
    PartRow,
    Program,
    Rber,
    Vth,
)
from ssdlab.cell.codes import code
from ssdlab.cell.laboratory import budget, endurance, limits, modes, part, parts, program, rber, vth
from ssdlab.cell.measurement import CodeLevel, CodeMeasurement, CodePoint, load_code
from ssdlab.cell.montecarlo import MonteCarlo, monte_carlo
from ssdlab.cell.question import ask

__all__ = [
    "Budget",
    "CodeLevel",
    "CodeMeasurement",
    "CodePoint",
    "Endurance",
    "EraseMode",
    "Limits",
    "Modes",
    "MonteCarlo",
    "PageProgram",
    "Parameter",
    "Part",
    "PartRow",
    "Program",
    "Rber",
    "Vth",
    "ask",
    "budget",
    "code",
    "endurance",
    "limits",
    "load_code",
    "modes",
    "monte_carlo",
    "part",
    "parts",
    "program",
    "rber",
    "vth",
]

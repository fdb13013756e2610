"""XML files of other simulators: elements with their lines. Document types, and with them entities, are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from ssdlab.errors import InputError

__all__ = ["Element", "root_of"]

#: Deepest nesting, and largest number of elements.
_DEPTH = 16
_ELEMENTS = 20_000


@dataclass(slots=True)
class Element:
    """An element."""

    #: Name.
    name: str
    #: Line of the file.
    line: int
    #: Text directly in it.
    text: str = ""
    #: Elements in it.
    children: list[Element] = field(default_factory=list)


def root_of(text: str, file: str) -> Element:
    """Returns the root of a document.

    Raises:
        InputError: it is not well formed, has a document type, or is nested too deeply.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    open_elements: list[Element] = [Element("", 0)]
    counted = 0

    def refuse(what: str) -> InputError:
        return InputError(f"{file}:{parser.CurrentLineNumber}: {what}")

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal counted
        counted += 1
        if len(open_elements) > _DEPTH or counted > _ELEMENTS:
            raise refuse(f"expected at most {_DEPTH} levels and {_ELEMENTS} elements")
        element = Element(name, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def data(piece: str) -> None:
        open_elements[-1].text += piece

    def doctype(*_: object) -> None:
        raise refuse("a document type: expected a file without <!DOCTYPE>, whose entities are not read")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    parser.StartDoctypeDeclHandler = doctype
    # Text in memory needs no encoding; the declared one would be applied to it.
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise InputError(f"{file}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}") from None
    return open_elements[0].children[0]

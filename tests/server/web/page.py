"""Eyes for HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

VOID = {"br", "hr", "img", "input", "link", "meta"}


@dataclass
class Element:
    """A start tag: its name, attributes, and all the text inside."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def __getitem__(self, attribute: str) -> str:
        return self.attributes[attribute]


class Page(HTMLParser):
    """A parsed page; fails on tags that do not match."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.answer = answer
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(answer.text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if self._open:
            self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **wanted: str) -> list[Element]:
        """List the elements of a tag whose attributes have these values."""
        return [
            element
            for element in self.elements
            if tag in {element.tag, "*"}
            and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def one(self, tag: str, **wanted: str) -> Element:
        """Return the only such element."""
        (found,) = self.all(tag, **wanted)
        return found

    def squares(self, drawing: str) -> list[Element]:
        """List the squares of a drawing, in order."""
        return [
            rect for rect in self.one("svg", **{"class": drawing}).children if rect.tag == "rect"
        ]

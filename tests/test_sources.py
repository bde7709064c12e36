"""Rules that every source file follows, read from its syntax tree."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
# Participles, adverbs and pronouns: a reader has to look up what such a name stands for.
NO_NOUNS = re.compile(
    "again|ahead|also|announced|asked|begun|behind|beside|beyond|came|chosen|come|drawn|each"
    "|elsewhere|expected|found|given|gone|held|here|how|inside|instead|kept|known|laid|left|lent"
    "|listed|made|more|named|nearest|of|off|others?|ours|own|seen|shown|started|stated|stored|taken"
    "|that|theirs|them|there|these|this|those|told|twice|wanted|what|where|which|who|whose|why"
    "|within|written|wrong|yet"
)
MAKERS = {"__init__", "__new__", "__post_init__"}


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """Every node of every file."""
    files = SOURCES.rglob("*.py")
    return [(path, node) for path in files for node in ast.walk(ast.parse(path.read_text()))]


def set_on_self(function: ast.AST) -> set[str]:
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def declared(made: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The attributes that a class, or a base class in our sources, has from the start."""
    names: set[str] = set()
    methods = {each.name: each for each in made.body if isinstance(each, ast.FunctionDef)}
    for each in made.body:
        if isinstance(each, ast.AnnAssign):
            names.add(ast.unparse(each.target))
        elif isinstance(each, ast.Assign):
            names |= {ast.unparse(target) for target in each.targets}
            if ast.unparse(each.targets[0]) == "__slots__":
                names |= set(ast.literal_eval(each.value))
    for maker in MAKERS & methods.keys():
        names |= set_on_self(methods[maker])
        # Methods that the maker calls on self make attributes, too.
        for node in ast.walk(methods[maker]):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("self."):
                called = methods.get(ast.unparse(node.func).removeprefix("self."))
                names |= set_on_self(called) if called else set()
    for base in made.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if name in classes and classes[name] is not made:
            names |= declared(classes[name], classes)
    return names | {name for name, each in methods.items() if each.decorator_list}


def undeclared() -> Iterator[str]:
    """Attributes made outside of __init__: where some path sets one, others lack it."""
    found = [(path, node) for path, node in nodes() if isinstance(node, ast.ClassDef)]
    classes = {node.name: node for _, node in found}
    for path, made in found:
        for name in sorted(set_on_self(made) - declared(made, classes)):
            yield f"{path.relative_to(SOURCES)}: {made.name}.{name}"


def numbered() -> Iterator[str]:
    """SQL with numbered values: Python 3.12.0 to 3.12.3 warn when one gets it from a tuple."""
    texts = [
        node.value
        for _, node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    sql = [each for each in texts if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b", each)]
    assert len(sql) > 20
    yield from (each for each in sql if re.search(r"\?\d", each))


def renaming() -> Iterator[str]:
    """Files that rename others: all but one function would forget to sync the folder."""
    pattern = re.compile(r"\bos\.(replace|rename)\(|\.replace\((?![^()]*[,=*])|\.rename\(")
    for package in ("adanalytics_client", "adanalytics_cli"):
        for path in (SOURCES / package).rglob("*.py"):
            if pattern.search(path.read_text()):
                yield path.relative_to(SOURCES).as_posix()


def joined() -> Iterator[str]:
    """Sections of docstrings without a blank line: the reference shows them as text."""
    section = re.compile(r"\S.*\n *(Args|Attributes|Examples|Raises|Returns|Yields):\n")
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path, node in nodes():
        if isinstance(node, kinds) and (hit := section.search(ast.get_docstring(node) or "")):
            yield f"{path.name}: {hit[0]}"


def bound(node: ast.AST) -> str | None:
    """Return the name that a node gives to a variable, an argument or an attribute."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    return None


def test_sources_follow_the_rules() -> None:
    """In one test, because reading all syntax trees takes longer than the rules."""
    assert [*undeclared()] == []
    assert [*numbered()] == []
    assert [*renaming()] == ["adanalytics_client/_base/files.py"]
    assert [*joined()] == []
    names = [name for _, node in nodes() if (name := bound(node))]
    words = Counter(word for name in names if NO_NOUNS.fullmatch(word := name.strip("_").lower()))
    share = words.total() / len(names)
    # The share may only fall; a failure names the most frequent of the words.
    assert share < 0.005, f"{share:.2%} of the names are no nouns: {words.most_common(12)}"

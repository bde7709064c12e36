"""The colours of both schemes keep the contrast that WCAG 2.2 asks for at level AA.

Text needs 4.5 to 1 (1.4.3), the edges of controls, the focus ring and the parts of a drawing
that carry meaning need 3 to 1 (1.4.11).
"""

import re
from pathlib import Path

import pytest

import adanalytics_server.web

CSS = (Path(adanalytics_server.web.__path__[0]) / "static" / "web.css").read_text()
TEXT = [
    (text, surface)
    for surface in ("canvas", "surface", "sunken")
    for text in ("text", "muted", "accent", "accent-strong")
] + [
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-danger", "danger"),
    ("on-danger", "danger-strong"),
    ("danger", "surface"),
    ("danger", "sunken"),
    ("danger", "problem-surface"),
    ("done", "done-surface"),
    ("busy", "busy-surface"),
    ("busy", "surface"),
]
PARTS = [
    ("control", "surface"),
    ("control", "canvas"),
    # The focus ring.
    ("accent", "surface"),
    ("accent", "canvas"),
    ("accent", "sunken"),
    ("impressions", "surface"),
    ("impressions", "sunken"),
    ("revenue", "surface"),
    ("gap", "surface"),
    ("gap", "sunken"),
    ("level-5", "surface"),
    ("level-5", "empty"),
]


def schemes() -> dict[str, dict[str, str]]:
    """Read the custom properties: each has a light and a dark colour."""
    colour = r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);"
    names, light, dark = zip(*re.findall(colour, CSS), strict=True)
    return {
        "light": dict(zip(names, light, strict=True)),
        "dark": dict(zip(names, dark, strict=True)),
    }


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_arithmetic_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


def test_every_colour_has_a_name_and_is_used() -> None:
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) == set(schemes()["light"])
    outside = re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", outside) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("colour", "behind", "least"),
    [(*pair, 4.5) for pair in TEXT] + [(*pair, 3.0) for pair in PARTS],
)
def test_the_contrast_is_enough(scheme: str, colour: str, behind: str, least: float) -> None:
    colours = schemes()[scheme]
    assert contrast(colours[colour], colours[behind]) >= least


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scale_of_the_heatmap_goes_one_way(scheme: str) -> None:
    colours = schemes()[scheme]
    steps = [luminance(colours[name]) for name in ("empty", *(f"level-{n}" for n in range(1, 6)))]
    assert steps == sorted(steps, reverse=scheme == "light")
    assert len(set(steps)) == len(steps)

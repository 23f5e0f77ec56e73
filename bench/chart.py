"""Bar charts as SVG for the docs: no library, the same bytes for the same figures, legible on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

_WIDTH, _LABELS, _BAR, _GAP, _TOP, _EDGE = 860, 350, 22, 12, 72, 20
_OURS, _THEIRS, _TEXT, _QUIET = "#1f6feb", "#b6bec9", "#1f2328", "#59636e"
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    label: str
    value: float
    text: str
    """Written behind the bar."""
    ours: bool


def write_bars(path: Path, *, title: str, subtitle: str, bars: Sequence[Bar]) -> None:
    """Write a chart of horizontal bars, all from zero."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(bars_svg(title=title, subtitle=subtitle, bars=bars), encoding="utf-8")


def bars_svg(*, title: str, subtitle: str, bars: Sequence[Bar]) -> str:
    """The chart."""
    height = _TOP + len(bars) * (_BAR + _GAP) + _EDGE
    greatest = max(bar.value for bar in bars)
    shapes = [
        f"<rect width='{_WIDTH}' height='{height}' rx='8' fill='#ffffff'/>",
        _text(_EDGE, 30, title, size=17, weight=600),
        _text(_EDGE, 52, subtitle, size=12, color=_QUIET),
        *(shape for index, bar in enumerate(bars) for shape in _bar(bar, index=index, greatest=greatest)),
    ]
    label = escape(f"{title}. {subtitle}", {"'": "&apos;"})
    opening = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' role='img' aria-label='{label}'>"
    )
    return "\n".join([opening, *shapes, "</svg>", ""])


def _bar(bar: Bar, *, index: int, greatest: float) -> list[str]:
    top = _TOP + index * (_BAR + _GAP)
    length = max(1, round((_WIDTH - _LABELS - 130) * bar.value / greatest))
    middle = top + _BAR - 6
    color = _OURS if bar.ours else _THEIRS
    return [
        _text(_LABELS - 12, middle, bar.label, size=13, anchor="end", weight=600 if bar.ours else 400),
        f"<rect x='{_LABELS}' y='{top}' width='{length}' height='{_BAR}' rx='3' fill='{color}'/>",
        _text(_LABELS + length + 8, middle, bar.text, size=13, weight=600 if bar.ours else 400),
    ]


def _text(x: int, y: int, text: str, *, size: int, weight: int = 400, color: str = _TEXT, anchor: str = "start") -> str:
    style = f"font-size='{size}' font-weight='{weight}' fill='{color}' text-anchor='{anchor}'"
    return f"<text x='{x}' y='{y}' {_FONT} {style}>{escape(text)}</text>"

"""The poller's page says what the table of rules says."""

from __future__ import annotations

from pathlib import Path

from reconciler.poller.rules import RULES, Rule

PAGE = Path(__file__).parents[2] / "docs/poller.md"


def row(rule: Rule) -> str:
    """The rule's line of the page."""
    threshold = f"`{rule.setting}`" if rule.setting else "none"
    asks = ", ".join(sorted((each.value for each in rule.asks), key=["room", "past", "runs"].index))
    return f"| `{rule.name}` | {rule.says} | {threshold} | {asks} |"


def test_every_rule_stands_in_the_page() -> None:
    """Name, condition, threshold and what is asked, in the table's order."""
    found = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert found == [row(rule) for rule in RULES]

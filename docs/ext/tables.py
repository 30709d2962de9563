"""The directive `registry-table`: a table made from the code when the page is built."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from registry import TABLES


def as_list_table(rows: list[list[str]]) -> list[str]:
    """The rows as reStructuredText.

    >>> as_list_table([["a", "b"], ["1", "2"]])[:5]
    ['.. list-table::', '   :header-rows: 1', '', '   * - a', '     - b']
    """
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'*' if k == 0 else ' '} - {cell}" for k, cell in enumerate(row)]
    return lines


class RegistryTable(Directive):
    """`.. registry-table:: NAME`, a key of `registry.TABLES`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the table in the place of the directive."""
        holder = nodes.container(classes=["wide-table"])
        lines = as_list_table(TABLES[self.arguments[0]]())
        self.state.nested_parse(StringList(lines, source="registry"), self.content_offset, holder)
        return [holder]


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("registry-table", RegistryTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

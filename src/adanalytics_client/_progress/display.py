"""One line drawn by rich: in a terminal, or in a notebook below the cell."""

import sys

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.control import Control
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.segment import ControlType

from adanalytics_client._base.escaping import visible

from .drawing import Line

_LONGEST_BAR = 20
_SHORTEST_BAR = 4
# The percentage, and a space on both sides.
_PERCENT = len(" 100% ")


class Display:
    """A line with a bar where the share is known, of as many parts as the window has room for."""

    def __init__(self, console: Console, *, stays: bool = False) -> None:
        self._bar = BarColumn()
        self._percent = TaskProgressColumn()
        self._text = TextColumn("{task.description}", markup=False)
        self._live = Progress(
            console=console,
            auto_refresh=False,
            transient=not stays,
            # What is printed meanwhile goes above the line.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._live.columns = (self._text,)
        self._task = self._live.add_task("")
        self._cells = 0
        self._output = None
        if console.is_jupyter:
            # rich would draw a widget, which needs ipywidgets and is lost when the notebook is
            # saved.
            from IPython.display import display

            self._output = display(self._live, display_id=True)

    def show(self, line: Line) -> None:
        console = self._live.console
        # Some terminals begin a new row after the last cell; `^C` of an interruption takes two.
        room = console.width - 3
        text, share = visible(line.text), line.share
        percent = "" if share is None else f"{share:.0%}  "
        while not line.end_first and "  " in text and cell_len(percent + text) > room:
            text = text.rpartition("  ")[0]
        columns: tuple[BarColumn | TextColumn, ...] = (self._text,)
        bar = min(_LONGEST_BAR, room - cell_len(text) - _PERCENT)
        if share is not None and bar >= _SHORTEST_BAR:
            self._bar.bar_width, columns = bar, (self._bar, self._percent, self._text)
            room -= bar + _PERCENT
        else:
            text = f"{percent}{text}"
        if cell_len(text) > room:
            text = f"..{text[2 - room :]}" if line.end_first else set_cell_size(text, room)
        if self._output is None:
            self._join_rows()
        self._live.columns = columns
        self._live.update(self._task, description=text, completed=share or 0, total=1)
        self._cells = cell_len(text) + console.width - 3 - room
        if self._output is not None:
            self._output.update(self._live)
        elif self._live.live.is_started:
            self._live.refresh()
        else:
            self._live.start()
            # A process that is killed could not show the cursor again.
            console.show_cursor(True)

    def close(self) -> None:
        """End the line; it is erased unless it stays."""
        if self._output is None:
            self._join_rows()
            self._live.stop()

    def _join_rows(self) -> None:
        """Erase the rows that a line takes in a window that was made narrower, but the first."""
        lines = max(self._cells - 1, 0) // self._live.console.width
        self._live.console.control(
            *[Control((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))] * lines
        )

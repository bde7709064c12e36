"""The dimensions of a summary, which its rows can be grouped by: the server's one list of them."""

from typing import Literal, NamedTuple, get_args

Grouping = Literal["day", "campaign", "demand_tag"]
"""The values of ``group_by``; all but the day are dimensions with ids."""
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

TOTAL = 0
"""The number of the rollups of whole days."""


class Dimension(NamedTuple):
    """A dimension with ids.

    Attributes:
        number: its number in the tables of rollups and names.
        name: the value of `group_by`, such as ``demand_tag``.
    """

    number: int
    name: Grouping

    @property
    def noun(self) -> str:
        return self.name.replace("_", " ")

    @property
    def id_field(self) -> str:
        """The field of an event with the id, which is null where an event has none."""
        return f"{self.name}_id"

    @property
    def name_field(self) -> str:
        """The column of a loaded row and of a summary with the name."""
        return f"{self.name}_name"


# A new one comes last, so that the numbers of the others stay.
DIMENSIONS = tuple(Dimension(number, name) for number, name in enumerate(GROUPINGS) if number)
GROUP_COLUMNS = (
    "date",
    *(column for item in DIMENSIONS for column in (item.id_field, item.name_field)),
)
"""The columns of a summary that name a group; a row has those of its grouping."""

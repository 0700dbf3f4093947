"""The change sets of the paper: C1 to C4, updates of rows picked at random."""

from dataclasses import dataclass

from lineitem import chosen

SIZES = {"C1": 1_000, "C2": 10_000, "C3": 100_000, "C4": 1_000_000}
COLUMN = "l_discount"


@dataclass(frozen=True, slots=True)
class Update:
    """One engineer's update: `l_discount` of some rows, by a step of the engineer's own.

    Attributes:
        rows: About how many.
        total: The rows of the table.
        first: Where their numbers start; ranges that overlap share rows.
        step: How many hundredths are added.
    """

    rows: int
    total: int
    first: int = 0
    step: int = 1

    @property
    def where(self) -> str:
        """The condition of its rows."""
        return chosen(self.rows, self.total, first=self.first)

    @property
    def value(self) -> str:
        """What they get."""
        return f"cast({COLUMN} + {self.step} * 0.01 as decimal(15,2))"

    def statement(self, table: str) -> str:
        """Return the update of a versioned table."""
        return f"update {table} set {COLUMN} = {self.value} where {self.where}"

    def query(self, table: str, columns: list[str]) -> str:
        """Return the query that gives all rows of a table, its own ones updated."""
        cells = [
            f"if({self.where}, {self.value}, {COLUMN}) as {COLUMN}" if name == COLUMN else name
            for name in columns
        ]
        return f"select {', '.join(cells)} from {table}"

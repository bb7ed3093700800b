"""What is wrong with a file that was given as an export."""

from __future__ import annotations

from ..errors import Refusal


class ExportError(Refusal):
    """Say which file cannot be read as an export, and what is wrong with it, and where.

    `place` is empty, or names it: `line 3, column 14`, or the path of a key such as `$.messages[3].id`.
    """

    def __init__(self, path: object, problem: str, place: str = "") -> None:
        super().__init__(path, problem, place)
        self.path = path
        self.problem = problem
        self.place = place

    @property
    def sentence(self) -> str:
        """The file, the problem, the place."""
        where = f", at {self.place}" if self.place else ""
        return f"{self.path}: {self.problem}{where}"

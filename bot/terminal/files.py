"""Read what the reading commands are asked of: export files, or a mirror."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import Refusal
from ..exports import load_exports
from ..held import Holding, find_place, named_places
from ..links import read_snowflake
from ..mirror.file import MirrorFile
from ..mirror.readonly import looks_like_mirror
from .output import say
from .progress import reading


class SeveralChannels(Refusal):
    """Say that files hold several channels where a question is about one, or none."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names

    @property
    def sentence(self) -> str:
        """Which channels there are."""
        if not self.names:
            return "These files hold no channel."
        return f"These files hold several channels; say which by --in: {', '.join(self.names)}."


class MirrorNotAlone(Refusal):
    """Say that a mirror is asked by itself: what it holds and what files hold may be the same messages."""

    template = "{path} is a mirror: give it alone, without other files."

    def __init__(self, path: Path) -> None:
        self.path = path


def read_files(paths: list[Path], self_ids: list[str] | None) -> Holding:
    """Read export files, and say of each that could not be read whole how far it was; or open a mirror.

    Raises `ExportError`, `MirrorUnreadable`, `MirrorRefused` and `MirrorNotAlone`.
    """
    own_ids = frozenset(map(_own_id, self_ids or ()))
    for path in paths:
        if _is_mirror(path):
            if len(paths) > 1:
                raise MirrorNotAlone(path)
            if own_ids:
                raise typer.BadParameter("a mirror knows who Recall was.", param_hint="'--self'")
            return MirrorFile(path)
    with reading() as advance:
        exports = load_exports(paths, self_ids=own_ids, on_progress=advance)
    for problem in exports.problems:
        say(problem)
    return exports


def one_place(files: Holding, place: str | None) -> str:
    """Return the id of the one channel or thread that a question is about. Raises a `Refusal` where it is not one."""
    if place is not None:
        return find_place(place, files.desks)
    if len(files.desks) != 1:
        raise SeveralChannels(tuple(f"#{desk.name} ({desk.id})" for desk in files.desks))
    return files.desks[0].id


def any_place(files: Holding, place: str | None) -> str | None:
    """Return the id of the place that was asked for; None for everything. Raises `PlaceUnknown`."""
    return None if place is None else find_place(place, files.desks)


def names_of(files: Holding) -> dict[str, str]:
    """Return the names of all channels and threads, by id."""
    return dict(named_places(files.desks))


def every_row(files: Holding, scan: int | None) -> int:
    """Return the bound of a walk: the one asked for, else more than there is, so that it comes to the end."""
    return scan or files.most_rows


def _is_mirror(path: Path) -> bool:
    try:
        return looks_like_mirror(path)
    except OSError:
        return False  # whoever reads it as an export says what is wrong with it


def _own_id(text: str) -> str:
    number = read_snowflake(text.strip().removeprefix("<@").removesuffix(">"))
    if number is None:
        raise typer.BadParameter(f"{text!r} is no id of a user.", param_hint="'--self'")
    return str(number)

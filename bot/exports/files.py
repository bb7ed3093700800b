"""Find the export files that a user means by the paths they give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .errors import ExportError

_SUFFIX = ".json"
_MEDIA_FOLDER_SUFFIX = "_Files"  # what `--media` downloads lies in `NAME.json_Files/`, and may be JSON too


def find_files(paths: Iterable[Path]) -> list[tuple[Path, int]]:
    """Return the files with their sizes in bytes: as given, a folder's in the order of their names.

    A file that is named twice comes once, at its last place. Raises `ExportError` for a path that is not there,
    and for a folder without any `.json` file.
    """
    files: dict[Path, tuple[Path, int]] = {}
    for path in paths:
        try:
            for file in _files_at(path):
                identity = file.resolve()
                files.pop(identity, None)
                files[identity] = (file, file.stat().st_size)
        except OSError as error:
            raise ExportError(path, f"cannot be read ({error.strerror or error})") from error
    return list(files.values())


def _files_at(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted(file for file in path.rglob("*") if _is_export(file, path))
    if not found:
        raise ExportError(path, f"holds no {_SUFFIX} file")
    yield from found


def _is_export(file: Path, folder: Path) -> bool:
    """Say whether a file below a folder is meant to be read: hidden ones and downloaded media are not."""
    inside = file.relative_to(folder)
    hidden = any(part.startswith(".") for part in inside.parts)
    media = any(part.endswith(_MEDIA_FOLDER_SUFFIX) for part in inside.parts[:-1])
    return file.suffix.lower() == _SUFFIX and not hidden and not media and file.is_file()

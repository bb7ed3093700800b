"""Read one export file, whole or broken off.

An export that was aborted is a file that stops in the middle of a message (one real file in twelve). Every
whole message before the break is read, and the reading says that it was broken off. A file that is broken in
another way is an `ExportError` that names the place: guessing at the rest could show a board that never was.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from .errors import ExportError
from .records import Document, decode

NESTING_LIMIT = 16  # levels inside a message; the exporter writes seven (a role of a user of a reaction)

_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")  # of UTF-8 and of UTF-16, both ways round

_MESSAGES = re.compile(rb'(?<!\\)"messages"\s*:\s*\[')  # inside a string the quotes would be escaped
_POSTAMBLE = re.compile(rb'\s*\]\s*,\s*"messageCount"\s*:\s*\d+\s*\}\s*\Z')
_POSTAMBLE_BYTES = 128
_LONE_SURROGATE = re.compile(
    rb"(?<!\\)(?:\\\\)*(?P<pair>(?:\\u[dD][89aAbB]..\\u[dD][c-fC-F]..)++)?(?P<half>\\u[dD][89a-fA-F]..)"
)

_TRUNCATED = "Input data was truncated"  # this and the next three: how msgspec writes its errors
_SURROGATE = "surrogate"
_UTF8 = "Invalid UTF-8"
_PLACE_BYTE = re.compile(r"^(?:JSON is malformed: )?(?P<problem>.*?) \(byte (?P<byte>\d+)\)$")
_PLACE_PATH = re.compile(r"^(?P<problem>.*?) - at `(?P<path>.+)`$")


def _message_pattern() -> re.Pattern[bytes]:
    """Return what matches one message and the comma before it, without looking at what is in it.

    Brackets are counted, not paired: whether they fit is found out when the messages are decoded.
    """
    value = plain = rb'[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+"'
    for _ in range(NESTING_LIMIT):
        value = plain + rb"|[{\[](?:" + value + rb")*+[}\]]"
    return re.compile(rb"\s*+,?+\s*+\{(?:" + value + rb")*+\}", re.DOTALL)


_MESSAGE = _message_pattern()


class Reading(NamedTuple):
    """Hold what was read of a file, and the JSON it was read from; `broken_off` when the file's end is missing."""

    path: Path
    document: Document
    data: bytes
    broken_off: bool


def read_file(path: Path) -> Reading:
    """Read one export file; raises `ExportError` when it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ExportError(path, f"cannot be read ({error.strerror or error})") from error
    if not data.strip():
        raise ExportError(path, "is empty")
    if data.startswith(_BYTE_ORDER_MARKS):
        raise ExportError(path, "starts with a byte order mark (save it as UTF-8 without one)", "line 1, column 1")
    try:
        return Reading(path, decode(data), data, broken_off=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        if not _breaks_off(data, error):
            raise _explained(path, data, error) from error
    data = _whole_messages(path, data)
    try:
        return Reading(path, decode(data), data, broken_off=True)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _explained(path, data, error) from error


def _breaks_off(data: bytes, error: Exception) -> bool:
    """Say whether a document just stops: at its end, or where its writer gave up and closed it all the same.

    An exporter that fails may still write what ends a file after half a message.
    """
    if str(error) == _TRUNCATED:
        return True
    place, end = _PLACE_BYTE.match(str(error)), _postamble(data)
    return place is not None and end is not None and int(place["byte"]) >= end


def _postamble(data: bytes) -> int | None:
    """Return where the end begins that the exporter writes after the last message, if it is there."""
    found = _POSTAMBLE.search(data, max(0, len(data) - _POSTAMBLE_BYTES))
    return None if found is None else found.start()


def _whole_messages(path: Path, data: bytes) -> bytes:
    """Return a document up to the last of its messages that is whole, closed after that."""
    start = _MESSAGES.search(data)
    if start is None:
        raise ExportError(path, "breaks off before its first message")
    end = _postamble(data) or len(data)
    at = start.end()
    while (message := _MESSAGE.match(data, at, end)) is not None:
        at = message.end()
    return data[:at] + b"]}"


def _explained(path: Path, data: bytes, error: Exception) -> ExportError:
    """Say in our words what a decoder found, and where."""
    text = str(error)
    if isinstance(error, RecursionError):
        return ExportError(path, "is nested too deeply")
    if (found := _PLACE_PATH.match(text)) is not None:
        return ExportError(path, f"is no channel export: {_lower(found['problem'])}", found["path"])
    if isinstance(error, msgspec.ValidationError):
        return ExportError(path, f"is no channel export: {_lower(text)}")
    if text.startswith(_UTF8):
        return ExportError(path, "is not UTF-8", _line_of(data, _first_undecodable(data)))
    if _SURROGATE in text or text == _TRUNCATED:  # half a pair near the end looks like the end to the decoder
        half = _LONE_SURROGATE.search(data)
        return ExportError(
            path, "holds half of an escaped character", _line_of(data, half.start("half") if half else len(data))
        )
    if (found := _PLACE_BYTE.match(text)) is not None:
        byte = int(found["byte"])
        problem = f"is broken JSON: {found['problem']}" if data[:byte].strip() else "is not JSON"
        return ExportError(path, problem, _line_of(data, byte))
    return ExportError(path, f"cannot be read as JSON: {_lower(text)}")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _first_undecodable(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _line_of(data: bytes, byte: int) -> str:
    """Name the place of a byte as an editor would."""
    line_start = data.rfind(b"\n", 0, byte) + 1
    line = data.count(b"\n", 0, line_start) + 1
    return f"line {line}, column {len(data[line_start:byte].decode(errors='replace')) + 1}"

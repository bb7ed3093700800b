"""The values every fold reads: authors, rows and conversations, and their JSON forms.

A row is one chat message as its author typed it. Values are frozen; two that hold the same are equal,
and each has one wire form with snake_case keys in the order of its fields, unions tagged by `"type"`.

    >>> author = from_wire(Author, {"type": "agent", "id": "scout", "label": "Scout"})
    >>> to_wire(LogMessage(7, chat_id="9", parent=None, author=author, content="hi"), string_ids=True)["sequence"]
    '7'

Sequences are integers in the library's own JSON. A client written in JavaScript, or a model, reads
integers above 2**53 wrongly, so every surface that such a client may read asks for `string_ids`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias, cast

import msgspec

__all__ = [
    "SEQUENCE_LIMIT",
    "AgentAuthor",
    "Author",
    "Conversation",
    "LogMessage",
    "OperatorAuthor",
    "PersonAuthor",
    "Sequence",
    "SystemAuthor",
    "Value",
    "author_id",
    "author_kind",
    "author_label",
    "from_wire",
    "to_wire",
]

SEQUENCE_LIMIT = 2**64  # exclusive; a Discord snowflake is an unsigned 64-bit integer

Sequence: TypeAlias = Annotated[int, msgspec.Meta(ge=0, extra={"sequence": True})]
"""The place of a row in its log: an unsigned 64-bit integer that grows with time."""


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Be the base of every value with a wire form; unknown keys are refused when it is read."""


class OperatorAuthor(Value, frozen=True, tag_field="type", tag="operator"):
    """Stand for whoever runs the host."""


class PersonAuthor(Value, frozen=True, tag_field="type", tag="person"):
    """Stand for a human member, known by `id`, shown as `label`."""

    id: str
    label: str


class AgentAuthor(Value, frozen=True, tag_field="type", tag="agent"):
    """Stand for a bot or webhook, known by `id`, shown as `label`."""

    id: str
    label: str


class SystemAuthor(Value, frozen=True, tag_field="type", tag="system"):
    """Stand for the chat system itself; `kind` names what happened."""

    kind: str
    label: str


Author: TypeAlias = OperatorAuthor | PersonAuthor | AgentAuthor | SystemAuthor

OPERATOR_ID = "operator"


def author_id(author: Author) -> str:
    """Return what an author is known by: an id, a system row's kind, or `operator`."""
    if isinstance(author, OperatorAuthor):
        return OPERATOR_ID
    return author.kind if isinstance(author, SystemAuthor) else author.id


def author_kind(author: Author) -> str:
    """Return the word for what an author is: `operator`, `person`, `agent` or `system`."""
    return str(type(author).__struct_config__.tag)


def author_label(author: Author) -> str:
    """Return the name to show for an author."""
    return OPERATOR_ID if isinstance(author, OperatorAuthor) else author.label


class LogMessage(Value, frozen=True):
    """Hold one row of a log.

    `chat_id` is the desk (null in a host that has one desk only); `parent` the sequence of the thread's
    root when the row sits inside a thread; `content` what the author typed. `reply_to` is the row this
    one answers inline. `attached` is text that rides along but was not typed: embeds, file names.
    """

    sequence: Sequence
    chat_id: str | None
    parent: Sequence | None
    author: Author
    content: str
    reply_to: Sequence | None = None
    attached: str = ""


class Conversation(Value, frozen=True):
    """Name a desk, or one thread of it. `desk_name` is for display and never matches anything."""

    desk_id: str
    desk_name: str
    thread_root: Sequence | None = None

    def holds(self, row: LogMessage) -> bool:
        """Say whether a row belongs here: any row of the desk, or the thread's root and direct replies."""
        if row.chat_id != self.desk_id:
            return False
        root = self.thread_root
        return root is None or row.parent == root or (row.sequence == root and row.parent is None)


def to_wire(value: Value, *, string_ids: bool = False) -> dict[str, Any]:
    """Return the JSON form of a value; `string_ids` writes sequences as strings.

    Ids that are text in the first place (`chat_id`, `author.id`) are strings either way.
    """
    wire: dict[str, Any] = _as_json(msgspec.to_builtins(value))
    if string_ids:
        _spell_sequences(value, wire)
    return wire


def from_wire(kind: Any, wire: object) -> Any:
    """Read a value of `kind` (a class or a union such as `Author`) from its JSON form.

    Sequences are taken as integers or as strings of digits. Raises `msgspec.ValidationError` naming the
    place of an unknown key, a missing key without default, a wrong type, or a sequence past 64 bits.
    """
    value = msgspec.convert(wire, kind, strict=False)
    for sequence in _sequences(value):
        if sequence >= SEQUENCE_LIMIT:
            raise msgspec.ValidationError(f"a sequence fits 64 bits, {sequence} does not")
    return value


def _as_json(built: Any) -> Any:
    """Make lists of the tuples in a form (which are lists in JSON), however deep."""
    if isinstance(built, dict):
        return {key: _as_json(part) for key, part in built.items()}
    return [_as_json(part) for part in built] if isinstance(built, tuple) else built


def _is_sequence(kind: msgspec.inspect.Type) -> bool:
    """Say whether a field's type is `Sequence`, optional or repeated."""
    if isinstance(kind, msgspec.inspect.Metadata):
        return bool(kind.extra and kind.extra.get("sequence"))
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(_is_sequence(part) for part in kind.types)
    return isinstance(kind, msgspec.inspect.VarTupleType) and _is_sequence(kind.item_type)


_SEQUENCE_FIELDS: dict[type[msgspec.Struct], frozenset[str]] = {}


def _sequence_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return which fields of a class hold sequences (learnt once for each class)."""
    known = _SEQUENCE_FIELDS.get(kind)
    if known is None:
        info = cast("msgspec.inspect.StructType", msgspec.inspect.type_info(kind))
        known = frozenset(field.name for field in info.fields if _is_sequence(field.type))
        _SEQUENCE_FIELDS[kind] = known
    return known


def _parts(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _sequences(value: object) -> Iterator[int]:
    """Yield every sequence inside a value, however deep."""
    for part in _parts(value):
        if not isinstance(part, msgspec.Struct):
            continue
        mine = _sequence_fields(type(part))
        for name in part.__struct_fields__:
            inner = getattr(part, name)
            if name not in mine:
                yield from _sequences(inner)
            else:
                yield from (number for number in _parts(inner) if isinstance(number, int))


def _spell_sequences(value: msgspec.Struct, wire: dict[str, Any]) -> None:
    """Write the sequences of a wire form as strings, in place."""
    mine = _sequence_fields(type(value))
    for name in value.__struct_fields__:
        inner, spelled = getattr(value, name), wire[name]
        if name in mine:
            if isinstance(inner, tuple):
                wire[name] = [str(number) for number in inner]
            elif inner is not None:
                wire[name] = str(inner)
        elif isinstance(inner, msgspec.Struct):
            _spell_sequences(inner, spelled)
        elif isinstance(inner, tuple):
            for part, form in zip(inner, spelled, strict=True):
                if isinstance(part, msgspec.Struct):
                    _spell_sequences(part, form)

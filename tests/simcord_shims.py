"""Mend simcord 3.2.1 where it differs from Discord, for tests only; tried with discord.py 2.7.1.

Each shim reaches into simcord's internals: look at it again at every upgrade of simcord. A shim that mends
returns what undoes it; `test_simcord_shims` says which gaps are still there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import simcord
from simcord.backend import errors, serializers
from simcord.backend.access import channel_accessible
from simcord.backend.models import Channel, Message
from simcord.enums import ChannelType
from simcord.http import router
from simcord.http._helpers import message_response

HISTORY = ["channels", "{channel_id}", "messages"]

Undo = Callable[[], None]
Handler = Callable[[Any], Any]


def _replace(method: str, template: list[str], make: Callable[[Handler], Handler]) -> Undo:
    table: Any = router._ROUTES[method]
    for i, (segments, handler) in enumerate(table):
        if segments == template:
            table[i] = (segments, make(handler))

            def undo(place: int = i, was: Any = (segments, handler)) -> None:
                table[place] = was

            return undo
    raise LookupError((method, template))


def fix_history_after() -> Undo:
    """Make `after` return the oldest messages above the id, and refuse a limit that is not 1 to 100."""

    def make(orig: Handler) -> Handler:
        def get_history(ctx: Any) -> Any:
            b, cid = ctx.backend, ctx.int_arg("channel_id")
            limit = int(ctx.params.get("limit", 50))
            if not 1 <= limit <= 100:
                raise errors.invalid_form_body("limit: int value should be between 1 and 100")
            if sum(k in ctx.params for k in ("before", "after", "around")) > 1:
                raise errors.invalid_form_body("before/after/around are mutually exclusive")
            if "after" not in ctx.params:
                return orig(ctx)
            ctx.require_channel_permissions(cid)
            if not channel_accessible(b, cid, b.bot_user.id, history=True):
                return []
            after = int(ctx.params["after"])
            visible = (m for m in b.messages[cid].values() if not m.is_ephemeral and m.id > after)
            oldest = sorted(visible, key=lambda m: m.id)[:limit]
            return [message_response(ctx, m) for m in reversed(oldest)]

        return get_history

    return _replace("GET", HISTORY, make)


def fix_archived_listing() -> Undo:
    """List archived threads as Discord does: the last archived first, `limit` of them, archived before `before`."""

    def make(_orig: Handler) -> Handler:
        def listing(ctx: Any) -> Any:
            b, parent = ctx.backend, ctx.require_channel_permissions(ctx.int_arg("channel_id"), "read_message_history")
            before = dt.datetime.fromisoformat(ctx.params["before"]) if ctx.params.get("before") else None
            known = [(_archived_at(thread), thread) for thread in b.archived_threads(parent.id, private=False)]
            older = [pair for pair in known if before is None or pair[0] < before]
            older.sort(key=lambda pair: (pair[0], pair[1].id), reverse=True)
            limit = int(ctx.params.get("limit", 50))
            page = [thread for _, thread in older[:limit]]
            return serializers.thread_list_payload(b, page, has_more=len(older) > limit)

        return listing

    return _replace("GET", ["channels", "{channel_id}", "threads", "archived", "public"], make)


def _archived_at(thread: Channel) -> dt.datetime:
    assert thread.thread_metadata is not None
    return dt.datetime.fromisoformat(thread.thread_metadata.archive_timestamp)


def fix_guild_threads() -> Undo:
    """Let a guild be told of with those of its active threads that the bot may view."""
    module: Any = serializers
    orig = module.guild_create_payload

    def payload(b: Any, guild: Any) -> Any:
        told = []
        for thread_id in guild.thread_ids:
            thread = b.channels[thread_id]
            if not thread.thread_metadata.archived and channel_accessible(b, thread_id, b.bot_user.id):
                told.append(thread_payload(b, thread))
        return {**orig(b, guild), "threads": told}

    def thread_payload(b: Any, thread: Any) -> Any:
        joined = b.bot_user.id in thread.thread_members
        member = {"member": serializers.thread_member_payload(thread, b.bot_user.id)} if joined else {}
        return {**serializers.thread_payload(b, thread), **member}

    module.guild_create_payload = payload

    def undo() -> None:
        module.guild_create_payload = orig

    return undo


def fix_app_flags(flags: int = 1 << 19) -> Undo:
    """Make the application's flags carry GATEWAY_MESSAGE_CONTENT_LIMITED (1<<19) unless told otherwise."""

    def make(orig: Handler) -> Handler:
        def info(ctx: Any) -> Any:
            return {**orig(ctx), "flags": flags}

        return info

    return _replace("GET", ["oauth2", "applications", "@me"], make)


def fast_settle(idle: float = 0.0005) -> Undo:
    """Spare each verb of an actor the 50 ms that it waits while the bot has a task that runs."""
    defaults: dict[str, Any] = simcord.env.Env._settle_internal.__kwdefaults__ or {}
    old = defaults["idle"]
    defaults["idle"] = idle

    def undo() -> None:
        defaults["idle"] = old

    return undo


def seed(  # noqa: PLR0917 - as it is published
    env: simcord.Env,
    channel_id: int,
    author_ids: Sequence[int],
    n: int,
    start: dt.datetime,
    step_s: float,
    text: Callable[[int], str] = "msg {}".format,
) -> list[int]:
    """Make `n` messages of the past without gateway events; ids and timestamps agree."""
    clock, saved, out = env.backend.clock, env.backend.clock.elapsed, []
    try:
        for i in range(n):
            clock.elapsed = (start - clock._epoch).total_seconds() + i * step_s
            author_id = author_ids[i % len(author_ids)]
            out.append(env.backend.create_message(channel_id, author_id, text(i), broadcast=False).id)
    finally:
        clock.elapsed = saved
    return out


def user_forum_post(env: simcord.Env, forum_id: int, author_id: int, name: str, body: str) -> tuple[Channel, Message]:
    """Make a member's forum post whose starter has the thread's id (simcord's own posts have not)."""
    b = env.backend
    thread = b.create_thread(forum_id, name, author_id, broadcast=False)
    starter = b.prepare_message(thread.id, author_id, body)
    starter.id = thread.id
    b.announce_thread_create(thread)
    b.commit_message(starter)
    return thread, starter


def user_thread(
    env: simcord.Env,
    parent_id: int,
    author_id: int,
    name: str,
    *,
    message_id: int | None = None,
    private: bool = False,
    archived: bool = False,
) -> Channel:
    """Make a member's thread, from a message or without one."""
    kind = ChannelType.PRIVATE_THREAD if private else ChannelType.PUBLIC_THREAD
    thread = env.backend.create_thread(parent_id, name, author_id, type=kind, message_id=message_id)
    if archived:
        archive(env, thread.id)
    return thread


def archive(env: simcord.Env, thread_id: int, archived: bool = True, locked: bool | None = None) -> None:
    """Archive a thread, or take it out of the archive."""
    meta: dict[str, Any] = {"archived": archived, "archive_timestamp": env.backend.now_iso()}
    meta |= {} if locked is None else {"locked": locked}
    env.backend.edit_channel(thread_id, {}, thread_metadata=meta)


def epoch(year: int, month: int = 1, day: int = 1) -> dt.datetime:
    return dt.datetime(year, month, day, tzinfo=dt.UTC)


def system_chromium(path: str = "/usr/bin/chromium") -> Undo:
    """Point `env.preview().screenshot()`, which starts Playwright's own browser, at the system's."""
    from playwright.async_api import BrowserType  # noqa: PLC0415 - only the tests with a browser have it

    kind: Any = BrowserType
    old = kind.launch

    async def launch(self: Any, *args: Any, **options: Any) -> Any:
        return await old(
            self, *args, **{**options, "executable_path": path, "args": ["--no-sandbox", *(options.get("args") or [])]}
        )

    kind.launch = launch

    def undo() -> None:
        kind.launch = old

    return undo

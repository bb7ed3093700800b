"""Test-only shims for simcord 3.2.1 gaps, tried with discord.py 2.7.1.

Each shim reaches into simcord internals: re-check on every simcord upgrade, and test each
gap itself, so that a fixed gap says that its shim can go.
"""

from __future__ import annotations

import datetime as dt

import simcord
from simcord.backend import errors
from simcord.backend.access import channel_accessible
from simcord.http import router
from simcord.http._helpers import message_response

HISTORY = ["channels", "{channel_id}", "messages"]


def _replace(method, template, make):
    table = router._ROUTES[method]
    for i, (segs, handler) in enumerate(table):
        if segs == template:
            table[i] = (segs, make(handler))
            return lambda: table.__setitem__(i, (segs, handler))
    raise LookupError((method, template))


def fix_history_after():
    """`after` must return the OLDEST messages above the id; limit must be 1-100. Returns an undo."""

    def make(orig):
        def get_history(ctx):
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
            vis = sorted(
                (m for m in b.messages[cid].values() if not m.is_ephemeral and m.id > after), key=lambda m: m.id
            )
            return [message_response(ctx, m) for m in reversed(vis[:limit])]

        return get_history

    return _replace("GET", HISTORY, make)


def fix_app_flags(flags=(1 << 19)):
    """Make application_info().flags carry GATEWAY_MESSAGE_CONTENT_LIMITED (1<<19) unless told otherwise."""

    def make(orig):
        def info(ctx):
            data = orig(ctx)
            data["flags"] = flags
            return data

        return info

    return _replace("GET", ["oauth2", "applications", "@me"], make)


def fast_settle(idle=0.0005):
    """Actor verbs otherwise cost >= 50 ms each when the bot has a running task."""
    kw = simcord.env.Env._settle_internal.__kwdefaults__
    old = kw["idle"]
    kw["idle"] = idle
    return lambda: kw.__setitem__("idle", old)


def seed(env, channel_id, author_ids, n, start, step_s, text=lambda i: f"msg {i}"):
    """Backdated bulk messages, no gateway events: ids and timestamps agree (snowflake_time(id) == created_at)."""
    clock, saved, out = env.backend.clock, env.backend.clock.elapsed, []
    try:
        for i in range(n):
            clock.elapsed = (start - clock._epoch).total_seconds() + i * step_s
            out.append(
                env.backend.create_message(channel_id, author_ids[i % len(author_ids)], text(i), broadcast=False).id
            )
    finally:
        clock.elapsed = saved
    return out


def user_forum_post(env, forum_id, author_id, name, body):
    """A member's forum post with starter.id == thread.id (simcord's own forum posts break that identity)."""
    b = env.backend
    thread = b.create_thread(forum_id, name, author_id, broadcast=False)
    starter = b.prepare_message(thread.id, author_id, body)
    starter.id = thread.id
    b.announce_thread_create(thread)
    b.commit_message(starter)
    return thread, starter


def user_thread(env, parent_id, author_id, name, *, message_id=None, private=False, archived=False):
    b = env.backend
    t = b.create_thread(parent_id, name, author_id, type=12 if private else 11, message_id=message_id)
    if archived:
        archive(env, t.id)
    return t


def archive(env, thread_id, archived=True, locked=None):
    meta = {"archived": archived} | ({} if locked is None else {"locked": locked})
    env.backend.edit_channel(thread_id, {}, thread_metadata=meta)


def epoch(year, month=1, day=1):
    return dt.datetime(year, month, day, tzinfo=dt.timezone.utc)


def system_chromium(path="/usr/bin/chromium"):
    """env.preview().screenshot() launches Playwright's own browser; point it at Debian's chromium."""
    from playwright.async_api import BrowserType

    old = BrowserType.launch

    async def launch(self, *a, **k):
        return await old(self, *a, **{**k, "executable_path": path, "args": ["--no-sandbox", *(k.get("args") or [])]})

    BrowserType.launch = launch
    return lambda: setattr(BrowserType, "launch", old)

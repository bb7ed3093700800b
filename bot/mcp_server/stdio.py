"""Serve one client over standard input and output, which then carry the protocol and nothing else."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from .room import Room
from .serving import make_server


async def serve_stdio(room: Room) -> None:
    """Serve until the client closes its end. Whatever else is printed goes to standard error."""
    server = make_server(room)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())

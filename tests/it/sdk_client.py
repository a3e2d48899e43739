"""Drives every tool through `recalld connect` with the public Python MCP SDK, 1.x or 2.x.

Usage: sdk_client.py MODE PROGRAM ARGUMENT...; MODE is `v1` (the 1.x SDK), or with the 2.x SDK
`legacy` (initialize) or `auto` (2026-07-28).
Prints the negotiated protocol version; any failure is an exception.
"""

import asyncio
import sys
from contextlib import asynccontextmanager
from datetime import timedelta

from mcp import StdioServerParameters


class OldClient:
    """The session of the 1.x SDK, called as the client of the 2.x SDK is."""

    def __init__(self, session, greeting):
        self.session = session
        self.protocol_version = greeting.protocolVersion
        self.instructions = greeting.instructions

    def __getattr__(self, name):
        return getattr(self.session, name)


@asynccontextmanager
async def connected(mode, server):
    if mode == "v1":
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client

        async with stdio_client(server) as (reader, writer):
            async with ClientSession(reader, writer, timedelta(seconds=60)) as session:
                yield OldClient(session, await session.initialize())
    else:
        from mcp import Client

        async with Client(server, mode=mode, read_timeout_seconds=60) as client:
            yield client


def field(result, name):
    """A field that the 2.x SDK calls snake_case and the 1.x SDK camelCase."""
    if hasattr(result, name):
        return getattr(result, name)
    first, *rest = name.split("_")
    return getattr(result, first + "".join(word.title() for word in rest))


def structured(result):
    assert not field(result, "is_error"), result.content
    assert result.content[0].text.strip(), "the text form is empty"
    assert field(result, "structured_content"), "the structured form is empty"
    return field(result, "structured_content")


async def drive(mode, program, arguments):
    server = StdioServerParameters(command=program, args=arguments)
    async with connected(mode, server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        called = set()

        async def call(name, **given):
            called.add(name)
            return structured(await client.call_tool(name, given))

        stored = await call("memory_store", content=f"The {mode} client likes oolong tea", tags=["tea"])
        memory = stored["memories"][0]["id"]
        several = await call("memory_store", memories=["first of two", '{"content": "second", "kind": "event"}'])
        assert len(several["memories"]) == 2, several
        found = await call("memory_search", query=f"{mode} oolong")
        assert found["memories"][0]["id"] == memory, found
        got = await call("memory_get", ids=[memory])
        assert got["memories"][0]["content"].endswith("oolong tea"), got
        changed = await call("memory_update", id=memory, content=f"The {mode} client likes green tea")
        assert "content" in str(changed["changed"]), changed
        judged = await call("memory_feedback", ids=[memory], verdict="useful")
        assert judged["memories"][0]["id"] == memory, judged
        told = await call("memory_context", query="green tea", max_tokens=500)
        assert told["memories"][0]["content"].endswith("green tea"), told
        status = await call("memory_status")
        assert status["store"]["n_memories"] >= 3, status
        reminder = (await call("reminder_set", text=f"{mode} tea", at="in 3 days"))["reminder"]
        assert len(reminder["next"]) == 1, reminder
        listed = await call("reminder_list", view="upcoming")
        assert listed["reminders"][0]["id"] == reminder["id"], listed
        ended = await call("reminder_update", id=reminder["id"], action="cancel")
        assert ended["reminder"]["state"] == "cancelled", ended
        await call("memory_forget", ids=[memory])
        assert called == set(tools), set(tools) ^ called

        refused = await client.call_tool("memory_get", {"ids": [memory]})
        assert field(refused, "is_error") and "not found" in refused.content[0].text, refused
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert "recalld://status" in resources, resources
        assert field(await client.list_resource_templates(), "resource_templates")
        second = several["memories"][1]["id"]
        read = await client.read_resource(f"recalld://memory/{second}")
        assert "second" in read.contents[0].text, read
        prompts = (await client.list_prompts()).prompts
        assert prompts
        prompt = await client.get_prompt(prompts[0].name)
        assert "memory_search" in prompt.messages[0].content.text
        assert client.instructions
        return client.protocol_version


if __name__ == "__main__":
    print(asyncio.run(drive(sys.argv[1], sys.argv[2], sys.argv[3:])))

"""Drives every tool through `recalld connect` with the public Python MCP SDK.

Usage: sdk_client.py MODE PROGRAM ARGUMENT...; MODE is `legacy` (initialize) or `auto` (2026-07-28).
Prints the negotiated protocol version; any failure is an exception.
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters


def structured(result):
    assert not result.is_error, result.content
    assert result.content[0].text.strip(), "the text form is empty"
    assert result.structured_content, "the structured form is empty"
    return result.structured_content


async def drive(mode, program, arguments):
    server = StdioServerParameters(command=program, args=arguments)
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
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
        listed = await call("memory_list", limit=2)
        assert len(listed["memories"]) == 2 and listed["next_cursor"], listed
        status = await call("memory_status")
        assert status["store"]["n_memories"] >= 3, status
        await call("memory_forget", ids=[memory])
        assert called == set(tools), set(tools) ^ called

        refused = await client.call_tool("memory_get", {"ids": [memory]})
        assert refused.is_error and "not found" in refused.content[0].text, refused
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert "recalld://status" in resources, resources
        assert (await client.list_resource_templates()).resource_templates
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

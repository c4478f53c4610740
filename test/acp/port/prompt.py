import asyncio, sys
import acp
from acp import spawn_agent_process, text_block
class C(acp.Client):
    def __init__(s): s.text=[]
    async def request_permission(s, options, session_id, tool_call, **kw):
        o=next(o for o in options if o.kind=="allow_once")
        return acp.RequestPermissionResponse(outcome={"outcome":"selected","optionId":o.option_id})
    async def session_update(s, session_id, update, **kw):
        if update.session_update=="agent_message_chunk": s.text.append(update.content.text)
async def main():
    c=C()
    async with spawn_agent_process(c, *sys.argv[2:]) as (conn, proc):
        await conn.initialize(protocol_version=1)
        s=await conn.new_session(cwd=sys.argv[1], mcp_servers=[])
        r=await conn.prompt(session_id=s.session_id, prompt=[text_block("write python.txt hi\ntext Done.")])
        await asyncio.sleep(0)
        print(r.stop_reason, "".join(c.text))
asyncio.run(main())

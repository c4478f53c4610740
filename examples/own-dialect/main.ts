/**
 * Serves an agent in the dialect of hooks.ts and over Connect, posts to it, and
 * checks what comes of it.
 *
 *     node main.ts
 */
import assert from "node:assert/strict";
import { type Agent, connect, createServer } from "@devtool/server";
import { hooks } from "./hooks.ts";

const agent: Agent = {
  about: { name: "Triage", description: "Says what was posted." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn) {
        const content = turn.prompt?.parts[0]?.content;
        yield* turn.say(content?.case === "text" ? content.value : "");
      },
    }),
  }),
};

const server = await createServer({
  agents: { triage: agent },
  dialects: [hooks(), connect()],
  workspace: process.cwd(),
});
const headers = {
  authorization: `Bearer ${server.token}`,
  "content-type": "application/json",
  "x-delivery": "1",
};
const post = async (): Promise<Response> =>
  fetch(new URL("/hooks/alerts", server.url), {
    method: "POST",
    headers,
    body: JSON.stringify({ status: "firing" }),
  });

const first = await post();
assert.equal(first.status, 202);
const { task }: { readonly task: string } = JSON.parse(await first.text());
assert.deepEqual(
  await (await post()).json(),
  { task },
  "a retry starts no task",
);

const said = await fetch(new URL(`/hooks/alerts/${task}`, server.url), {
  headers,
});
const text = await said.text();
assert.match(text, /alerts: \{\\"status\\":\\"firing\\"\}/);

// What is not served is not there.
const card = new URL("/.well-known/agent-card.json", server.url);
assert.equal((await fetch(card, { headers })).status, 404);
await server.close();
console.log("ok");

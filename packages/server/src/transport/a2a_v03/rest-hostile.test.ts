import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer, type DevtoolServer } from "../../server.ts";

const REQUESTS = Number(process.env.DEVTOOL_BODIES ?? 5_000);
const SEEDS = [
  'POST message:send {"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"text x"}]},"configuration":{"blocking":true}}',
  'POST message:send {"message":{"kind":"message","messageId":"m","role":"user","taskId":"t","parts":[{"kind":"data","data":{"tool_call_id":"c"}}],"metadata":{"x":1}}}',
  'POST message:stream {"message":{"message_id":"m","role":1,"content":[{"file":{"file_with_uri":"https://x.example/y","mime_type":"a/b"}}]}}',
  'POST tasks/t/pushNotificationConfigs {"configId":"c","config":{"pushNotificationConfig":{"url":"https://x.example/y","authentication":{"schemes":["Bearer"]}}}}',
  "POST tasks/t:cancel {}",
  "GET tasks/t?historyLength=1",
  "GET tasks/t:subscribe",
  "DELETE tasks/t/pushNotificationConfigs/c",
];
const PIECES = [
  "null",
  "{}",
  "[]",
  '""',
  "1e999",
  "-1",
  '"__proto__"',
  "[[[[]]]]",
  '{"toString":1}',
  "%00",
  "%zz",
  "/",
  ":",
  "?",
];

describe("the HTTP+JSON binding of A2A 0.3 that is sent nonsense (S1)", () => {
  let server: DevtoolServer;
  let workspace: string;
  const internal: unknown[] = [];
  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "devtool-hostile-"));
    server = await createServer({ workspace, onError: (reason) => internal.push(reason) });
  });
  afterAll(async () => {
    await server.close();
    await rm(workspace, { recursive: true, force: true });
  });

  it(`answers each of ${REQUESTS} mutated requests in its shape, and none with an internal error`, {
    timeout: 240_000,
  }, async () => {
    const random = generator(Number(process.env.DEVTOOL_SEED ?? 7));
    const wrong: unknown[] = [];
    for (let done = 0; done < REQUESTS; done += 50) {
      const requests = Array.from({ length: 50 }, () => mutate(random));
      await Promise.all(requests.map(async (text) => ((await isOrderly(text)) ? undefined : wrong.push(text))));
    }
    expect(wrong).toEqual([]);
    expect(internal).toEqual([]);
  });

  async function isOrderly(text: string): Promise<boolean> {
    const [method = "", path = "", ...rest] = text.split(" ");
    const body = method === "POST" ? { body: rest.join(" ") } : {};
    const headers = { "content-type": "application/json", authorization: `Bearer ${server.token}` };
    const url = new URL(`${server.url}/v1/${path}`);
    const response = await fetch(url, { method, headers, ...body });
    const said = await response.text();
    // What resolves to another path is not ours to answer.
    if (!url.pathname.startsWith("/v1/")) return response.status < 500;
    if (response.ok) return said !== "";
    const { code, message } = JSON.parse(said);
    return response.status < 500 && typeof code === "number" && typeof message === "string";
  }
});

/** Changes a request behind its method, so that HTTP still carries it. */
function mutate(random: (below: number) => number): string {
  let text = SEEDS[random(SEEDS.length)] ?? "";
  const begin = text.indexOf(" ") + 1;
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = begin + random(text.length - begin);
    const piece = random(2) ? (PIECES[random(PIECES.length)] ?? "") : "";
    text = text.slice(0, at) + piece + text.slice(at + (random(3) === 0 ? 0 : 1 + random(12)));
  }
  return text;
}

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const BODIES = Number(process.env.DEVTOOL_BODIES ?? 20_000);
const SEEDS = [
  '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m","parts":[{"kind":"text","text":"text x"}]}}}',
  '{"jsonrpc":"2.0","id":"a","method":"tasks/get","params":{"id":"t","historyLength":1}}',
  '{"jsonrpc":"2.0","id":null,"method":"command/execute","params":{"command_path":["help"],"args":""}}',
  '{"jsonrpc":"2.0","id":2,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m","taskId":"t","parts":[{"kind":"data","data":{"tool_call_id":"c","selected_option_id":"o"}}],"metadata":{"x":1}},"configuration":{"blocking":false}}}',
];
const PIECES = [
  "null",
  "{}",
  "[]",
  '""',
  "1e999",
  "-1",
  "true",
  '"__proto__"',
  "[[[[[[]]]]]]",
  '{"toString":1}',
  "\\u0000",
  '"\ud800"',
  "99999999999999999999",
  '{"kind":"text"}',
];

describe("a server that is sent nonsense (S1)", () => {
  let server: DevtoolServer;
  const internal: unknown[] = [];

  beforeAll(async () => {
    server = await createServer({ workspace: "/tmp", approvalMode: 2, onError: (reason) => internal.push(reason) });
  });
  afterAll(() => server.close());

  it(`answers each of ${BODIES} mutated bodies in JSON-RPC's shape, and none with an internal error`, {
    timeout: 240_000,
  }, async () => {
    const random = generator(Number(process.env.DEVTOOL_SEED ?? 7));
    const wrong: unknown[] = [];
    for (let done = 0; done < BODIES; done += 50) {
      const bodies = Array.from({ length: 50 }, () => mutate(random));
      await Promise.all(bodies.map(async (body) => ((await isOrderly(body)) ? undefined : wrong.push(body))));
    }
    expect(wrong).toEqual([]);
    expect(internal).toEqual([]);
  });

  async function isOrderly(body: string): Promise<boolean> {
    const headers = { "content-type": "application/json", authorization: `Bearer ${server.token}` };
    const response = await fetch(server.url, { method: "POST", headers, body });
    const answer = JSON.parse(await response.text());
    const shaped =
      answer.jsonrpc === "2.0" && "id" in answer && ("result" in answer || typeof answer.error?.message === "string");
    return response.status < 500 && shaped && answer.error?.code !== -32603;
  }
});

function mutate(random: (below: number) => number): string {
  let body = SEEDS[random(SEEDS.length)] ?? "";
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(body.length);
    const piece = PIECES[random(PIECES.length)] ?? "";
    const cut = random(3) === 0 ? 0 : 1 + random(12);
    body =
      random(4) === 0
        ? replaceValue(body, piece, random)
        : body.slice(0, at) + (random(2) ? piece : "") + body.slice(at + cut);
  }
  return body;
}

/** Puts a piece in place of a whole value, so that the body often stays JSON. */
function replaceValue(body: string, piece: string, random: (below: number) => number): string {
  const values = [...body.matchAll(/:("[^"]*"|\d+|null|true|false|\[[^[\]]*\])/g)];
  const value = values[random(Math.max(values.length, 1))];
  return value ? `${body.slice(0, value.index + 1)}${piece}${body.slice(value.index + value[0].length)}` : body;
}

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BINDINGS, type Binding } from "./hostile/bindings.ts";
import { type Answer, type Client, http1Client, http2Client, type Question } from "./hostile/clients.ts";
import { type HostileServer, startHostileServer } from "./hostile/hostile-server.ts";
import { generator } from "./hostile/mutate.ts";

const BODIES = Number(process.env.DEVTOOL_FUZZ_BODIES ?? 2_000);
const SEED = Number(process.env.DEVTOOL_SEED ?? 7);
const AT_A_TIME = 50;
const MORE_BYTES = 64 * 1024 * 1024;
const MAX_RESIDENT_BYTES = 512 * 1024 * 1024;
/** So many bodies come before memory is measured first: code is compiled and pools are filled by then. */
const WARM = 1_000;

describe("a server that is sent nonsense (S1)", () => {
  let server: HostileServer;
  let clients: Readonly<Record<Binding["client"], Client>>;

  beforeAll(async () => {
    server = await startHostileServer();
    clients = { http1: http1Client(server.url, server.token), http2: http2Client(server.url, server.token) };
  });
  afterAll(async () => {
    clients.http1[Symbol.dispose]();
    clients.http2[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  it.for(BINDINGS)(
    `answers each of ${BODIES} mutated requests over $name in its shape, none as a fault of its own, and holds no more memory after`,
    { timeout: 600_000 },
    async (binding, { skip }) => {
      const client = clients[binding.client];
      if (!(await isServed(binding, client))) skip(`${binding.name} is not served`);
      const random = generator(SEED);
      await flood(binding, Math.min(WARM, BODIES), random);
      const before = await server.memory();
      const told = server.internal.length;
      const wrong = await flood(binding, BODIES, random);
      expect(wrong.slice(0, 5)).toEqual([]);
      expect(server.internal.slice(told, told + 3)).toEqual([]);
      expect(server.isAlive()).toBe(true);
      const after = await server.memory();
      expect(after.heldBytes - before.heldBytes).toBeLessThan(MORE_BYTES);
      expect(after.residentBytes).toBeLessThan(MAX_RESIDENT_BYTES);
    },
  );

  async function flood(binding: Binding, count: number, random: ReturnType<typeof generator>): Promise<unknown[]> {
    const wrong: unknown[] = [];
    let left = count;
    const work = async (): Promise<void> => {
      while (left-- > 0) {
        const question = binding.next(random);
        const fault = await faultOf(binding, question);
        if (fault !== undefined) wrong.push({ fault, path: question.path, body: shown(question) });
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    return wrong;
  }

  async function faultOf(binding: Binding, question: Question): Promise<string | undefined> {
    try {
      return binding.faultOf(await clients[binding.client].ask(question));
    } catch (reason) {
      return `no answer: ${String(reason)}`;
    }
  }
});

async function isServed({ probe, faultOf }: Binding, client: Client): Promise<boolean> {
  const answer: Answer = await client.ask(probe);
  const unknown = answer.body.toString().includes("-32601") || answer.body.toString().includes("nothing is served");
  return !unknown && faultOf(answer) === undefined;
}

function shown({ body }: Question): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("base64");
}

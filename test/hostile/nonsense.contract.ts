import { afterAll, beforeAll, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import type { Binding } from "./bindings.ts";
import {
  type Answer,
  type Client,
  http1Client,
  http2Client,
} from "./clients.ts";
import { flood } from "./flood.ts";
import { type HostileServer, startHostileServer } from "./hostile-server.ts";
import { generator } from "./mutate.ts";

const BODIES = roundsOf("DEVTOOL_FUZZ_BODIES", {
  quick: 60,
  ci: 1500,
  deep: 100_000,
});
const SEED = seedOf();
const MORE_BYTES = 64 * 1024 * 1024;
const MAX_RESIDENT_BYTES = 512 * 1024 * 1024;
/**
 * Bodies sent before memory is measured for the first time: by then code is
 * compiled and pools are filled.
 */
const WARM = 1_000;
/**
 * The sabotage spoils one answer of this many, and as many answers as are given
 * here.
 */
const ONE_IN = 50;
const SPOILED = roundsOf("DEVTOOL_FUZZ_SPOILED", {
  quick: 2,
  ci: 10,
  deep: 10,
});

/**
 * The contract of a server that receives nonsense over some bindings. Each
 * group has a server of its own.
 */
export function testNonsense(bindings: readonly Binding[]): void {
  let server: HostileServer;
  let clients: Readonly<Record<Binding["client"], Client>>;

  beforeAll(async () => {
    server = await startHostileServer();
    clients = {
      http1: http1Client(server.url, server.token),
      http2: http2Client(server.url, server.token),
    };
  });
  afterAll(async () => {
    clients.http1[Symbol.dispose]();
    clients.http2[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  });

  it.for(bindings)(
    `answers each of ${BODIES} mutated requests over $name in its shape, none as a fault of its own, and holds no more memory after`,
    { timeout: 600_000 + BODIES * 20 },
    async (binding, { skip }) => {
      const client = clients[binding.client];
      if (!(await isServed(binding, client))) {
        skip(`${binding.name} is not served`);
      }
      const random = generator(SEED);
      await flood(binding, { client, count: Math.min(WARM, BODIES), random });
      const before = await server.memory();
      const told = server.internal.length;
      const wrong = await flood(binding, { client, count: BODIES, random });
      expect(wrong.slice(0, 5)).toEqual([]);
      expect(server.internal.slice(told, told + 3)).toEqual([]);
      expect(server.isAlive()).toBe(true);
      const after = await server.memory();
      expect(after.heldBytes - before.heldBytes).toBeLessThan(MORE_BYTES);
      expect(after.residentBytes).toBeLessThan(MAX_RESIDENT_BYTES);
    },
  );

  it.for(bindings)(
    `is caught when one answer in ${ONE_IN} over $name says that the fault is the server's (sabotage of S1)`,
    async (binding) => {
      const client = sabotaged(clients[binding.client]);
      const wrong = await flood(binding, {
        client,
        count: SPOILED * ONE_IN,
        random: generator(SEED),
      });
      expect(wrong).toHaveLength(SPOILED);
    },
  );
}

async function isServed(
  { probe, faultOf }: Binding,
  client: Client,
): Promise<boolean> {
  const answer: Answer = await client.ask(probe);
  const unknown =
    answer.body.toString().includes("-32601") ||
    answer.body.toString().includes("nothing is served");
  return !unknown && faultOf(answer) === undefined;
}

/**
 * Now and then gives the answer of a server in which something broke, in place
 * of the one that came.
 */
function sabotaged(client: Client): Pick<Client, "ask"> {
  let asked = 0;
  return {
    ask: async (question) => {
      const breaks = ++asked % ONE_IN === 0;
      const answer = await client.ask(question);
      return breaks
        ? {
            ...answer,
            status: 500,
            body: Buffer.from('{"error":"internal error"}'),
          }
        : answer;
    },
  };
}

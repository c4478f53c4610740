import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { documentBombs, harmlessDocuments } from "./bombs/documents.ts";
import { FLOODS, sendFlood } from "./bombs/floods.ts";
import { throwBomb } from "./bombs/throw-bomb.ts";
import { http1Client, http2Client } from "./clients.ts";
import { type HostileServer, startHostileServer } from "./hostile-server.ts";

const MORE_BYTES = 64 * 1024 * 1024;

describe.skipIf(LEFT_TO_CI !== "")(
  `the memory of a server that is sent bombs (S3)${LEFT_TO_CI}`,
  () => {
    let server: HostileServer;
    beforeAll(async () => {
      server = await startHostileServer([]);
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it.for(documentBombs())(
      "refuses $name, and uses at most 64 MB for it",
      async (bomb) => {
        const make = bomb.client === "http1" ? http1Client : http2Client;
        using client = make(server.url, server.token);
        // Leaves out the code that the first request of a binding loads and
        // compiles.
        for (let index = 0; index < 20; index++) {
          await throwBomb({ ...bomb, body: Buffer.from("x") }, client);
        }
        const { residentBytes } = await server.memory();
        expect(await throwBomb(bomb, client)).not.toBe("taken");
        const { peakBytes } = await server.memory();
        expect(peakBytes - residentBytes).toBeLessThan(MORE_BYTES);
        expect(server.internal).toEqual([]);
        expect(server.isAlive()).toBe(true);
      },
    );

    it.for(harmlessDocuments())(
      "takes $name: what it refuses is the bomb and not its wrapping (sabotage of S3)",
      async (one) => {
        const make = one.client === "http1" ? http1Client : http2Client;
        using client = make(server.url, server.token);
        expect(await throwBomb(one, client)).toBe("taken");
      },
    );

    it.for(FLOODS)(
      "refuses $name, uses at most 64 MB for it, and serves other clients",
      async (flood) => {
        await fetch(new URL("/.well-known/agent-card.json", server.url));
        const { residentBytes } = await server.memory();
        await sendFlood(flood, server);
        expect(
          (await fetch(new URL("/.well-known/agent-card.json", server.url)))
            .status,
        ).toBe(200);
        const { peakBytes } = await server.memory();
        expect(peakBytes - residentBytes).toBeLessThan(MORE_BYTES);
        expect(server.internal).toEqual([]);
        expect(server.isAlive()).toBe(true);
      },
    );
  },
);

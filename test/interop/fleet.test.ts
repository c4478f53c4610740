import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { ServerFleet } from "../fleet/server-fleet.ts";
import { NGINX, WITHOUT_NGINX } from "../outer/nginx.ts";
import { freeAddress } from "../push/free-address.ts";
import { foreignClients } from "./foreign-clients.ts";
import { SCENARIOS } from "./scenario.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) + WITHOUT_NGINX;
const LIMIT_MS = 600_000;
const isPlayed = LEFT_TO_CI === "" && bin !== undefined && NGINX !== undefined;

/** The ADK refuses a card that lists gRPC. */
const byCard = Map.groupBy(foreignClients(), ({ binding }) =>
  binding === "GRPC" ? "with gRPC in its card" : "as it is by default",
);
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  "with gRPC in its card": ["--grpc-in-card"],
};

describe.each([...byCard])(
  `a fleet of three servers, %s${why}${LEFT_TO_CI}`,
  (card, all) => {
    let database: PostgresServer;
    let fleet: ServerFleet;
    const clients = variantsOf(`SDKs against a fleet ${card}`, all, 2, 4);
    /** One for each client, since a notification may come again later. */
    let hooks: string[];
    beforeAll(async () => {
      if (!isPlayed) return;
      database = await startPostgres(bin);
      hooks = await Promise.all(clients.map(freeAddress));
      fleet = await ServerFleet.start({
        ...{ database, schema: "sdks", replicas: 3 },
        // A busy machine stops a server for longer than its own lease.
        lease: "60s",
        flags: [
          ...hooks.flatMap((hook) => ["--push-target", hook]),
          ...(FLAGS[card] ?? []),
        ],
      });
    }, LIMIT_MS);
    afterAll(async () => {
      await fleet?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    for (const [index, client] of clients.entries()) {
      const { peer, protocol, binding, known, missing, play } = client;
      it(`serves ${peer} over A2A ${protocol}, ${binding}`, {
        timeout: LIMIT_MS,
      }, async (context) => {
        if (missing !== undefined) return context.skip(missing);
        const file = `${peer} ${protocol} ${binding}.txt`.replace(
          /[^\w.]+/g,
          "-",
        );
        const { url, token } = fleet;
        const hook = hooks[index] ?? "";
        const target = { url, token, binding, protocol, file, hook };
        const results = await play(target, SCENARIOS);
        const failed = results.filter(
          ({ ok, scenario }) => !ok && !(scenario in known),
        );
        expect(failed).toEqual([]);
        expect(results.filter(({ ok }) => ok).length).toBeGreaterThan(2);
        const made = await readFile(join(fleet.workspace, file), "utf8");
        expect(made).toBe("made");
      });
    }
  },
);

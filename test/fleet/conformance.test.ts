import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findSubject, runServerSuite } from "@devtool/conformance";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { knownFailingOf } from "../conformance/known-failing.ts";
import { WAYS } from "../conformance/peers.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { foreignClients } from "../interop/foreign-clients.ts";
import { SCENARIOS } from "../interop/scenario.ts";
import { NGINX, WITHOUT_NGINX } from "../outer/nginx.ts";
import { freeAddress } from "../push/free-address.ts";
import { ServerFleet } from "./server-fleet.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) + WITHOUT_NGINX;
const LIMIT_MS = 600_000;
/**
 * A busy machine stops a server for longer than its own lease, and its tasks
 * would move to another in the middle of a case.
 */
const LEASE = "60s";
/** The card lists each binding that a client is played over. */
const FLAGS = ["--grpc-in-card"];

const ways = variantsOf("bindings of A2A against a fleet", WAYS, 2, 2);
const sdks = Map.groupBy(foreignClients(), ({ missing }) =>
  missing === undefined ? "installed" : "missing",
);
const clients = [
  ...variantsOf(
    "official SDKs against a fleet",
    sdks.get("installed") ?? [],
    4,
    4,
  ),
  ...(sdks.get("missing") ?? []),
];
const named = clients.map((client) => {
  const skipped =
    client.missing === undefined ? "" : ` (skipped: ${client.missing})`;
  return {
    ...client,
    title: `${client.peer} over A2A ${client.protocol}, ${client.binding}${skipped}`,
  };
});

const title = `three servers behind a balancer, round robin${why}${LEFT_TO_CI}`;
describe.skipIf(LEFT_TO_CI !== "" || bin === undefined || NGINX === undefined)(
  title,
  { concurrent: true },
  () => {
    let database: PostgresServer;
    let fleet: ServerFleet;
    let hook: string;
    beforeAll(async () => {
      database = await startPostgres(bin ?? "");
      hook = await freeAddress();
      fleet = await ServerFleet.start({
        database,
        schema: "kit",
        replicas: 3,
        lease: LEASE,
        flags: [...FLAGS, "--push-target", hook],
      });
    }, LIMIT_MS);
    afterAll(async () => {
      await fleet[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });

    it.each(ways)(
      "pass the conformance kit for A2A $protocolVersion over $binding",
      { timeout: LIMIT_MS },
      async (way) => {
        await using own = await ServerFleet.start({
          ...{ database, replicas: 3, lease: LEASE, flags: FLAGS },
          schema: `kit_${way.protocolVersion}_${way.binding}`
            .replaceAll(/\W/g, "_")
            .toLowerCase(),
        });
        const signal = AbortSignal.timeout(LIMIT_MS);
        const subject = await findSubject(
          { url: own.url, token: own.token, ...way },
          signal,
        );
        // On a busy machine a frame may take longer than the kit's own limit.
        const timeoutMs = 120_000;
        const results = await Array.fromAsync(
          runServerSuite(subject, signal, { timeoutMs }),
        );
        const known =
          way.protocolVersion === "1.0"
            ? knownFailingOf("devtool").failures.map(({ id }) => id)
            : [];
        const failing = results.filter(
          ({ status, id }) => status === "failed" && !known.includes(id),
        );
        expect(failing).toEqual([]);
        expect(
          results.filter(({ status }) => status === "passed").length,
        ).toBeGreaterThan(40);
      },
    );

    // One after the other: they are notified at the same address.
    for (const {
      title,
      missing,
      peer,
      protocol,
      binding,
      known,
      play,
    } of named) {
      it.skipIf(missing !== undefined)(
        `serve ${title}`,
        { timeout: LIMIT_MS, concurrent: false },
        async () => {
          const file = `${peer} ${protocol} ${binding}.txt`.replace(
            /[^\w.]+/g,
            "-",
          );
          const target = {
            url: fleet.url,
            token: fleet.token,
            binding,
            protocol,
            file,
            hook,
          };
          const results = await play(target, SCENARIOS);
          const failed = results.filter(
            ({ ok, scenario }) => !ok && !(scenario in known),
          );
          expect(failed).toEqual([]);
          expect(results.filter(({ ok }) => ok).length).toBeGreaterThan(5);
          expect(await readFile(join(fleet.workspace, file), "utf8")).toBe(
            "made",
          );
        },
      );
    }
  },
);

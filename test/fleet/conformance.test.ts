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
import { NGINX, WITHOUT_NGINX } from "../outer/nginx.ts";
import { ServerFleet } from "./server-fleet.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) + WITHOUT_NGINX;
const LIMIT_MS = 600_000;
/**
 * A busy machine stops a server for longer than its own lease, and its tasks
 * would move to another in the middle of a case.
 */
const LEASE = "60s";
const ways = variantsOf("bindings of A2A against a fleet", WAYS, 1, 1);
const title = `three servers behind a balancer, round robin${why}${LEFT_TO_CI}`;
describe.skipIf(LEFT_TO_CI !== "" || bin === undefined || NGINX === undefined)(
  title,
  { concurrent: true },
  () => {
    let database: PostgresServer;
    beforeAll(async () => {
      database = await startPostgres(bin ?? "");
    });
    afterAll(() => database[Symbol.asyncDispose]());

    it.each(ways)(
      "pass the conformance kit for A2A $protocolVersion over $binding",
      { timeout: LIMIT_MS },
      async (way) => {
        await using own = await ServerFleet.start({
          ...{ database, replicas: 3, lease: LEASE },
          flags: ["--grpc-in-card"],
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
  },
);

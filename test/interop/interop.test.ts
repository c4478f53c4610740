import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  it,
  type TestContext,
} from "vitest";
import { variantsOf } from "../depth.ts";
import { freeAddress } from "../push/free-address.ts";
import { foreignClients } from "./foreign-clients.ts";
import { foreignServers } from "./foreign-servers.ts";
import {
  isSameRow,
  type KnownFailures,
  type MatrixRow,
  readMatrix,
  recordRows,
} from "./matrix.ts";
import { ourClient } from "./our-client.ts";
import { play, SCENARIOS, type ScenarioResult } from "./scenario.ts";

const CLIENTS = variantsOf("SDKs and bindings as clients", foreignClients(), 8);
const SERVERS = variantsOf("SDKs and bindings as servers", foreignServers(), 8);

/** Whether to record the results in the matrix instead of comparing with it. */
const RECORDS = process.env.DEVTOOL_INTEROP_RECORD !== undefined;

describe("official SDKs as clients of devtool's server", () => {
  let server: DevtoolServer;
  /** Its card lists gRPC, which the ADK refuses. */
  let grpcServer: DevtoolServer;
  let workspace: string;
  /** One for each client, since a notification may come again later. */
  let hooks: string[];
  const rows: MatrixRow[] = [];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    hooks = await Promise.all(CLIENTS.map(freeAddress));
    const options = { workspace, pushTargets: hooks };
    server = await serveCodingAgent(options);
    grpcServer = await serveCodingAgent({
      ...options,
      a2a: { grpcInCard: true },
    });
  });
  afterAll(async () => {
    await Promise.all([server.close(), grpcServer.close()]);
    if (RECORDS) recordRows(rows);
  });

  for (const [index, client] of CLIENTS.entries()) {
    const { peer, protocol, binding, known, missing, play } = client;
    it(`${peer} calls A2A ${protocol} over ${binding}`, async (context) => {
      if (missing !== undefined) return skipWithReason(missing, context);
      expect(await isOffered(protocol)).toBe(true);
      const file = `${peer} ${protocol} ${binding}.txt`.replace(
        /[^\w.]+/g,
        "-",
      );
      const results = await play(
        {
          ...(binding === "GRPC" ? grpcServer : server),
          ...{ binding, protocol, file, hook: hooks[index] ?? "" },
        },
        SCENARIOS,
      );
      const outcome = outcomeOf(results, known);
      expect(await readFile(join(workspace, file), "utf8")).toBe("made");
      await expect(readFile(join(workspace, `${file}-no`))).rejects.toThrow(
        "ENOENT",
      );
      rows.push(
        compareRow({ peer, role: "client", protocol, binding, ...outcome }),
      );
    });
  }

  async function isOffered(protocol: string): Promise<boolean> {
    const response = await fetch(`${server.url}/.well-known/agent-card.json`);
    const { protocolVersion, supportedInterfaces = [] } = JSON.parse(
      await response.text(),
    );
    const versions = [
      protocolVersion,
      ...supportedInterfaces.map((offer: Offer) => offer.protocolVersion),
    ];
    return versions.some((version) => version?.startsWith(protocol));
  }
});

describe.concurrent("official SDKs as servers of devtool's client", () => {
  const rows: MatrixRow[] = [];
  afterAll(() => {
    if (RECORDS) recordRows(rows);
  });

  for (const { peer, protocol, binding, known, missing, start } of SERVERS) {
    // The Java SDK has a race: once in 240 scenarios it answered without its
    // artifact.
    const retry = peer.startsWith("Java") ? 2 : 0;
    it(`${peer} serves A2A ${protocol} over ${binding}`, {
      retry,
    }, async (context) => {
      if (missing !== undefined) return skipWithReason(missing, context);
      await using server = await start();
      const results = await play(
        await ourClient(server.url, { protocol, binding }),
        SCENARIOS,
      );
      rows.push(
        compareRow({
          peer,
          role: "server",
          protocol,
          binding,
          ...outcomeOf(results, known),
        }),
      );
    });
  }
});

describe("the programs that play the scenarios", () => {
  it("fail against an address without a server (sabotage)", async () => {
    const nowhere = {
      url: "http://127.0.0.1:1",
      token: "none",
      file: "none.txt",
      hook: "127.0.0.1:1",
    };
    const played = foreignClients().filter(
      ({ missing, binding }) => missing === undefined && binding === "JSONRPC",
    );
    expect(new Set(played.map(({ protocol }) => protocol))).toEqual(
      new Set(["0.3", "1.0"]),
    );
    const wrong: ScenarioResult[] = [];
    for (const { play, protocol, binding } of played) {
      const results = await play({ ...nowhere, protocol, binding }, [
        "card",
        "message",
      ]).catch(() => []);
      wrong.push(...results.filter(({ ok }) => ok));
    }
    expect(wrong).toEqual([]);
  });

  it("fail in devtool's client if the agent fails every task (sabotage)", async () => {
    const directory = temporaryDirectory();
    const script = join(directory, "agent.json");
    await writeFile(script, "{}");
    const all = foreignServers().filter(
      ({ peer }) => peer === "@a2a-js/sdk 1.3.0",
    );
    for (const { protocol, binding, start } of variantsOf(
      "servers whose agent fails",
      all,
      2,
    )) {
      await using server = await start(script);
      const names = [
        "message",
        "appendix_a",
        "continued",
        "cancel",
        "resume",
      ] as const;
      const results = await play(
        await ourClient(server.url, { protocol, binding }),
        names,
      );
      expect(results.map(({ scenario, ok }) => [scenario, ok])).toEqual(
        names.map((name) => [name, false]),
      );
    }
  });
});

/** Skips a test and prints the reason. */
function skipWithReason(reason: string, context: TestContext): void {
  console.info(`skipped: ${reason}`);
  context.skip(reason);
}

interface Offer {
  readonly protocolVersion?: string;
}

/**
 * Returns the outcome for a row, after checking that exactly the known failures
 * failed.
 */
function outcomeOf(
  results: readonly ScenarioResult[],
  known: KnownFailures,
): Pick<MatrixRow, "passed" | "known"> {
  expect(
    results.filter(({ ok, scenario }) => !ok && !(scenario in known)),
  ).toEqual([]);
  expect(results.filter(({ ok, scenario }) => ok && scenario in known)).toEqual(
    [],
  );
  const passed = results.flatMap(({ ok, scenario }) => (ok ? [scenario] : []));
  return { passed, ...(Object.keys(known).length > 0 && { known }) };
}

/** Returns a row, after comparing it with the recorded matrix. */
function compareRow(row: MatrixRow): MatrixRow {
  const recorded = readMatrix().find((old) => isSameRow(old, row));
  if (!RECORDS) {
    expect(recorded, "run npx -y pnpm@12 interop-matrix --record").toEqual(row);
  }
  return row;
}

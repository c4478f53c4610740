import {
  type CaseResult,
  findSubject,
  runServerSuite,
} from "@devtool/conformance";
import { describe, expect, it } from "vitest";
import { PLAIN_FAULTS, type PlainFault } from "./plain/faults.ts";
import {
  PLAIN_PROMPTS,
  PLAIN_TOKEN,
  PlainServer,
  type PlainWay,
} from "./plain/server.ts";

/** Time limit of a case, for faults that hang, and for all others. */
const LIMITS_MS = { hangs: 10_000, ends: 60_000 } as const;

const WAYS: readonly PlainWay[] = [false, true].flatMap((isBare) => [
  { protocolVersion: "0.3", binding: "JSONRPC", isBare },
  { protocolVersion: "1.0", binding: "JSONRPC", isBare },
  { protocolVersion: "1.0", binding: "HTTP+JSON", isBare },
]);

describe("a plain server without an SDK", { timeout: 120_000 }, () => {
  for (const way of WAYS) {
    const offers = way.isBare ? "nothing optional" : "everything";
    it(`is all green over A2A ${way.protocolVersion} and ${way.binding} when it offers ${offers}`, async () => {
      const results = await play(way);
      expect(failuresOf(results)).toEqual([]);
      expect(results.flatMap(({ warnings = [] }) => warnings)).toEqual([]);
      const passed = results.filter(({ status }) => status === "passed");
      expect(passed.length).toBeGreaterThan(10);
    });
  }
});

it("M10: a server that says nothing after its card ends the run in three time limits", {
  timeout: 60_000,
}, async () => {
  await using server = new PlainServer({
    protocolVersion: "1.0",
    binding: "JSONRPC",
    isBare: false,
  });
  const serve = server.serve.bind(server);
  server.serve = (request, response) =>
    request.method === "GET" ? serve(request, response) : Promise.resolve();
  await server.listen();
  const signal = AbortSignal.timeout(50_000);
  const target = { url: server.url, token: PLAIN_TOKEN };
  const results = await Array.fromAsync(
    runServerSuite(await findSubject(target, signal), signal, {
      only: "a2a/",
      prompts: PLAIN_PROMPTS,
      timeoutMs: 1_000,
    }),
  );
  const failed = results.filter(({ status }) => status === "failed");
  expect(failed.map(({ reason }) => reason)).toEqual(
    failed.map(() =>
      expect.stringContaining(
        "no answer came within 1 s, the time limit of the case (--timeout)",
      ),
    ),
  );
  expect(failed).toHaveLength(3);
  expect(results.at(-1)?.reason).toContain("the server answered nothing");
});

describe.concurrent("each fault of a plain server", {
  timeout: 300_000,
}, () => {
  for (const fault of PLAIN_FAULTS) {
    it(`${fault.fault}: ${fault.requirement} is red, and nothing else`, async () => {
      const results = await play(wayOf(fault), fault);
      const failures = failuresOf(results);
      expect([...new Set(failures.map(([id]) => id))]).toEqual(
        fault.requirement === "" ? [] : [fault.requirement],
      );
      const said = failures.map(([, reason]) => reason);
      const warned = results.flatMap(({ warnings = [] }) => warnings);
      expect([...said, ...warned].join("\n")).toContain(fault.says);
    });
  }

  it("has a name of its own", () => {
    const names = PLAIN_FAULTS.map(({ fault }) => fault);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.length).toBeGreaterThanOrEqual(60);
  });
});

describe("an agent that is only greeted", { timeout: 120_000 }, () => {
  for (const name of [
    "historyLength is ignored",
    "the context of a message is not kept",
  ]) {
    it(`is not forgiven because it answers as it likes: ${name}`, async () => {
      const fault = PLAIN_FAULTS.find((one) => one.fault === name);
      if (!fault) throw new Error(`there is no fault "${name}"`);
      const results = await play(wayOf(fault), fault, {});
      const failures = failuresOf(results);
      expect([...new Set(failures.map(([id]) => id))]).toEqual([
        fault.requirement,
      ]);
    });
  }
});

function wayOf({ requirement, ...fault }: PlainFault): PlainWay {
  const protocolVersion = /^$|^A2A1-/.test(requirement) ? "1.0" : "0.3";
  return { protocolVersion, binding: "JSONRPC", isBare: false, ...fault.way };
}

async function play(
  way: PlainWay,
  fault?: PlainFault,
  options: Partial<{ prompts: typeof PLAIN_PROMPTS }> = {
    prompts: PLAIN_PROMPTS,
  },
): Promise<CaseResult[]> {
  await using server = new PlainServer(way);
  fault?.plant(server);
  await server.listen();
  const isHanging = /open|time limit|blank line|of JSON/.test(
    `${fault?.fault} ${fault?.says}`,
  );
  const signal = AbortSignal.timeout(280_000);
  const target = { url: server.url, token: PLAIN_TOKEN };
  const subject = await findSubject(target, signal);
  return await Array.fromAsync(
    runServerSuite(subject, signal, {
      only: "a2a/",
      ...options,
      timeoutMs: LIMITS_MS[isHanging ? "hangs" : "ends"],
    }),
  );
}

/** Each requirement that is not met, with why. */
function failuresOf(
  results: readonly CaseResult[],
): [requirement: string, reason: string][] {
  return results
    .flatMap(({ failures = [] }) => failures)
    .flatMap(({ requirements, reason }) =>
      requirements.map((id): [string, string] => [id, reason]),
    );
}

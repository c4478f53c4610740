import { isDeepStrictEqual } from "node:util";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  type CaseResult,
  findSubject,
  REQUIREMENTS,
  runPushSuite,
} from "@devtool/conformance";
import {
  type PushSuiteOptions,
  pushCases,
  type ServerTarget,
} from "@devtool/conformance/testing";
import { describe, expect, it } from "vitest";
import { optOut } from "../conformance/faults/fault.ts";
import { startSpoilingProxy } from "../conformance/spoiling-proxy.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import {
  type Posting,
  rightHeaders,
  startFaultyPoster,
} from "./faulty-poster.ts";
import { freeAddress } from "./free-address.ts";
import { DIALECT_V1, DIALECT_V03, type Dialect } from "./poster-dialect.ts";

const DIALECTS: readonly Dialect[] = [DIALECT_V03, DIALECT_V1];

describe.concurrent("the push suite", { timeout: 400_000 }, () => {
  it.each([
    ["0.3", "JSONRPC"],
    ["0.3", "HTTP+JSON"],
    ["1.0", "JSONRPC"],
    ["1.0", "HTTP+JSON"],
    ["1.0", "GRPC"],
  ] as const)(
    "passes our server over A2A %s in %s",
    async (protocolVersion, binding) => {
      const receiver = await freeAddress();
      await using server = await serveCodingAgent({
        workspace: process.cwd(),
        pushTargets: [receiver],
        a2a: { grpcInCard: true },
      });
      const target = {
        url: `${server.url}/`,
        token: server.token,
        protocolVersion,
        binding,
      };
      const results = await played(target, { receiver });
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(results).toHaveLength(pushCases(protocolVersion).cases.length);
    },
  );

  for (const dialect of DIALECTS) {
    it(`passes a correct small server over A2A ${dialect.version}`, async () => {
      await expectRed((timeoutMs) => redOf(dialect, {}, timeoutMs), []);
    });

    const faults: readonly [string, Partial<Posting>, readonly string[]][] = [
      [
        "posts in another order",
        { order: (events) => events.toReversed() },
        ["PUSH-1"],
      ],
      [
        "leaves out the token",
        { headers: without(dialect, "x-a2a-notification-token") },
        ["PUSH-1"],
      ],
      ["does not retry", { isRetried: () => false }, ["PUSH-1"]],
      [
        "continues after the receiver is gone",
        { hasEnded: () => false, isRetried: () => false },
        ["PUSH-1"],
      ],
      ["posts to a config that was deleted", { forgets: false }, ["PUSH-1"]],
      ["follows redirects", { redirect: "follow" }, ["PUSH-2"]],
    ];
    it.each(
      variantsOf(`faults of servers of A2A ${dialect.version}`, faults, 1),
    )(
      `fails one requirement for a server of A2A ${dialect.version} that %s (sabotage)`,
      async (_what, fault, red) => {
        await expectRed((timeoutMs) => redOf(dialect, fault, timeoutMs), red);
      },
    );
  }

  // It waits most of a minute for posts that do not come.
  const silent =
    "posts no payloads if the config does not activate the extension";
  it.skipIf(LEFT_TO_CI !== "")(
    `fails CARD-3 alone for a server that ${silent} (sabotage)${LEFT_TO_CI}`,
    async () => {
      await expectRed(redOfSilent, ["CARD-3"]);
    },
  );

  it("fails a server of A2A 0.3 that posts invalid JSON (sabotage)", async () => {
    expect(
      await redOf(
        DIALECT_V03,
        { headers: () => ({ "content-type": "text/plain" }) },
        1_000,
      ),
    ).toContain("PUSH-1");
  });

  const formFaults: readonly [string, Partial<Posting>][] = [
    ["posts in the form of 0.3", { order: (events) => events.map(bare) }],
    [
      "posts the task and an update in one",
      { order: (events) => events.map((event) => ({ task: TASK, ...event })) },
    ],
    [
      "posts states in the form of 0.3",
      { order: (events) => events.map(oldStates) },
    ],
    ["posts with another content type", { headers: typed("text/plain") }],
    [
      "leaves out the credentials",
      { headers: without(DIALECT_V1, "authorization") },
    ],
  ];
  it.each(variantsOf("faults of the form", formFaults, 1))(
    "fails A2A1-PUSH-DELIVERY alone for a server of A2A 1.0 that %s (sabotage)",
    async (_what, fault) => {
      await expectRed(
        (timeoutMs) => redOf(DIALECT_V1, fault, timeoutMs),
        ["A2A1-PUSH-DELIVERY"],
      );
    },
  );

  it("accepts the media type of plain JSON over A2A 1.0", async () => {
    await expectRed(
      (timeoutMs) =>
        redOf(
          DIALECT_V1,
          { headers: typed("application/json; charset=utf-8") },
          timeoutMs,
        ),
      [],
    );
  });

  it("fails both A2A1-PUSH-DELIVERY and PUSH-1 for a server that does not post the end (sabotage)", async () => {
    const fault = {
      order: (events: readonly object[]) =>
        events.filter((event) => !/COMPLETED/.test(textOf(event))),
    };
    await expectRed(
      (timeoutMs) => redOf(DIALECT_V1, fault, timeoutMs),
      ["A2A1-PUSH-DELIVERY", "PUSH-1"],
    );
  });

  it("skips a server that claims no notifications, and cases without a prompt", async () => {
    const options = { receiver: await freeAddress(), prompts: {} };
    await using silent = await startFaultyPoster(
      { ...DIALECT_V1, place: unclaimed },
      {},
    );
    expect(
      reasonsOf(await played(target(silent, DIALECT_V1), options)),
    ).toEqual(["the card does not claim pushNotifications"]);
    await using right = await startFaultyPoster(DIALECT_V1, {});
    const reasons = reasonsOf(await played(target(right, DIALECT_V1), options));
    expect(reasons).toContain(
      'give --prompts with "ends": the agent must answer in text and complete the task',
    );
  });

  it("has the requests and the posts as evidence of a failure", async () => {
    await using server = await startFaultyPoster(DIALECT_V1, {
      headers: typed("text/plain"),
    });
    const options = {
      receiver: await freeAddress(),
      timeoutMs: 10_000,
      only: "a2a/push-with-a-message",
    };
    const [result] = await played(target(server, DIALECT_V1), options);
    const lines = result?.exchanges?.map(
      ({ step, requestLine, status }) => `${step} ${requestLine} ${status}`,
    );
    expect(lines?.[0]).toBe(`1 POST ${server.url} 200`);
    expect(lines?.[1]).toMatch(
      new RegExp(`^0 POST http://${options.receiver}/[\\w-]+ 204$`),
    );
    expect(result?.exchanges?.at(-1)?.requestHeaders.authorization).toBe(
      "[hidden]",
    );
  });

  it("names existing requirements, all of push mode, and posts name those of their cases", () => {
    const cases = DIALECTS.flatMap(({ version }) => pushCases(version).cases);
    const named = new Set(cases.flatMap(({ requirements }) => requirements));
    const owned = Object.entries(REQUIREMENTS).filter(
      ([, { mode }]) => mode === "push",
    );
    expect([...named].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
    expect(owned.map(([id]) => id).filter((id) => !named.has(id))).toEqual([]);
    const foreign = cases.flatMap(({ id, requirements, posts }) =>
      posts.flatMap((post) =>
        post.requirements
          .filter((one) => !requirements.includes(one))
          .map((one) => [id, one]),
      ),
    );
    expect(foreign).toEqual([]);
  });
});

const TASK = {
  id: "t",
  contextId: "c",
  status: { state: "TASK_STATE_WORKING" },
};

function bare(event: object): object {
  const [[kind, inner] = []] = Object.entries(event);
  return { kind: kind === "task" ? "task" : "status-update", ...inner };
}

function oldStates(event: object): object {
  return JSON.parse(
    textOf(event).replaceAll(/TASK_STATE_(\w+)/g, (_match, state: string) =>
      state.toLowerCase(),
    ),
  );
}

function textOf(event: object): string {
  return JSON.stringify(event);
}

function typed(contentType: string): Posting["headers"] {
  return rightHeaders({ contentType });
}

function without(dialect: Dialect, name: string): Posting["headers"] {
  return (config) => {
    const { [name]: _left, ...headers } = rightHeaders(dialect)(config);
    return headers;
  };
}

function unclaimed(url: string): object {
  return { ...DIALECT_V1.place(url), capabilities: {} };
}

function reasonsOf(results: readonly CaseResult[]): (string | undefined)[] {
  expect(new Set(results.map(({ status }) => status))).toEqual(
    new Set(["skipped"]),
  );
  return [...new Set(results.map(({ reason }) => reason))];
}

/**
 * Expects what is red of a server. On a busy machine a post can be late that
 * would come, so it gets another chance.
 */
async function expectRed(
  play: (timeoutMs: number) => Promise<string[]>,
  red: readonly string[],
): Promise<void> {
  const once = await play(1_000);
  expect(isDeepStrictEqual(once, red) ? once : await play(30_000)).toEqual(red);
}

/** The requirements that are red of a small server with a fault. */
async function redOf(
  dialect: Dialect,
  fault: Partial<Posting>,
  timeoutMs: number,
): Promise<string[]> {
  await using server = await startFaultyPoster(dialect, fault);
  return redIn(
    await played(target(server, dialect), {
      receiver: await freeAddress(),
      timeoutMs,
      // It does not read which extensions a client activates.
      select: ({ id }) => id !== "push/as-the-conversation",
    }),
  );
}

/**
 * The requirements that are red of our server if it never hears that a config
 * activates the extension. Each run has a server of its own: one whose receiver
 * was gone for a while posts the rest of an earlier run.
 */
async function redOfSilent(timeoutMs: number): Promise<string[]> {
  const receiver = await freeAddress();
  await using server = await serveCodingAgent({
    workspace: process.cwd(),
    pushTargets: [receiver],
  });
  const spoil = optOut(({ body }) =>
    body.includes('"method":"tasks/pushNotificationConfig/set"'),
  );
  await using proxy = await startSpoilingProxy(server.url, spoil);
  const target = {
    url: proxy.url,
    token: server.token,
    protocolVersion: "0.3" as const,
    binding: "JSONRPC" as const,
  };
  return redIn(await played(target, { receiver, timeoutMs }));
}

function redIn(results: readonly CaseResult[]): string[] {
  const failures = results.flatMap((result) => result.failures ?? []);
  return [
    ...new Set(failures.flatMap(({ requirements }) => requirements)),
  ].toSorted();
}

function target(
  { url }: { readonly url: string },
  { version }: Dialect,
): ServerTarget {
  return { url, protocolVersion: version, binding: "JSONRPC" };
}

async function played(
  server: ServerTarget,
  options: PushSuiteOptions,
): Promise<CaseResult[]> {
  const signal = AbortSignal.timeout(300_000);
  return Array.fromAsync(
    runPushSuite(await findSubject(server, signal), signal, options),
  );
}

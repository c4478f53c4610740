import { createServer as createNetServer } from "node:net";
import { type CaseResult, pushCases, REQUIREMENTS, runPushSuite } from "@devtool/conformance";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { type Posting, startFaultyPoster } from "./push/faulty-poster.ts";

describe("the push suite", () => {
  it("passes our server", { timeout: 60_000 }, async () => {
    const receiver = await freeAddress();
    await using server = await createServer({ workspace: process.cwd(), pushTargets: [receiver] });
    const results = await played({ url: `${server.url}/`, token: server.token, timeoutMs: 10_000 }, receiver);
    expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(results).toHaveLength(pushCases().cases.length);
  });

  it("passes a small server that posts right", { timeout: 60_000 }, async () => {
    expect(await failuresOf({})).toEqual([]);
  });

  const faults: readonly [string, Partial<Posting>, string][] = [
    ["posts in another order", { order: (events) => events.toReversed() }, "push/with-a-message"],
    ["leaves out the token", { headers: () => ({ "content-type": "application/json" }) }, "push/later"],
    ["posts what is no JSON", { headers: () => ({ "content-type": "text/plain" }) }, "push/with-a-message"],
    ["does not try again", { isRetried: () => false }, "push/tried-again"],
    ["follows redirects", { redirect: "follow" }, "push/redirected"],
    ["goes on when the receiver is gone", { hasEnded: () => false, isRetried: () => false }, "push/gone"],
    ["posts to a config that was deleted", { forgets: false }, "push/deleted"],
  ];
  it.each(faults)("fails one that %s (sabotage)", { timeout: 60_000 }, async (_what, fault, breaks) => {
    expect(await failuresOf(fault)).toContain(breaks);
  });

  it("names requirements that there are", () => {
    const named = pushCases().cases.flatMap(({ requirements }) => requirements);
    expect(named.filter((id) => !(id in REQUIREMENTS))).toEqual([]);
  });
});

async function failuresOf(fault: Partial<Posting>): Promise<string[]> {
  await using server = await startFaultyPoster(fault);
  const results = await played({ url: server.url, token: undefined, timeoutMs: 1_000 }, await freeAddress());
  return results.filter(({ status }) => status === "failed").map(({ id }) => id);
}

interface Server {
  readonly url: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
}

function played({ timeoutMs, ...target }: Server, receiver: string): Promise<CaseResult[]> {
  return Array.fromAsync(runPushSuite(target, AbortSignal.timeout(50_000), { receiver, timeoutMs }));
}

/** An address of loopback that is free: the server must know it before the receiver listens. */
async function freeAddress(): Promise<string> {
  const server = createNetServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

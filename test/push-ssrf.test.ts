import diagnostics from "node:diagnostics_channel";
import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema, PushFormat } from "@devtool/schema";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createGuardedPoster } from "../packages/server/src/push/guarded-poster.ts";
import type { PostOutcome } from "../packages/server/src/push/notification.ts";
import { taskEventEncoding } from "../packages/server/src/push/push-format.ts";
import { PushNotifier } from "../packages/server/src/push/push-notifier.ts";
import { PushRegistrar } from "../packages/server/src/push/push-registrar.ts";
import { SigningKeys } from "../packages/server/src/push/signing-keys.ts";
import { MemoryPushConfigStore } from "../packages/server/src/store/memory-push-config-store.ts";
import { MemoryTaskStore } from "../packages/server/src/store/memory-task-store.ts";
import type { OutboundPolicy } from "../packages/server/src/tool/outbound/outbound-policy.ts";
import { type Receiver, receive } from "./push/receiver.ts";
import { VirtualClock } from "./push/virtual-clock.ts";
import { resolveName, urlForms } from "./ssrf/url-forms.ts";

describe("the targets of notifications (S7, PUSH-2)", () => {
  const signal = AbortSignal.timeout(60_000);
  let forbidden: Receiver;
  let listed: Receiver;
  let dials = 0;
  const countDial = (): void => void dials++;
  beforeAll(() => diagnostics.subscribe("undici:client:beforeConnect", countDial));
  afterAll(() => void diagnostics.unsubscribe("undici:client:beforeConnect", countDial));
  beforeEach(async () => {
    [forbidden, listed] = await Promise.all([receive(), receive()]);
    dials = 0;
  });
  afterEach(() => Promise.all([forbidden[Symbol.asyncDispose](), listed[Symbol.asyncDispose]()]));

  it("are refused when they are set, however they are written, over http and https", async () => {
    const forms = allForms();
    expect(new Set(forms).size).toBeGreaterThanOrEqual(150);
    const taken: string[] = [];
    for (const url of forms) {
      const isTaken = await registrar(policy())
        .check(configOf(url), signal)
        .then(
          () => true,
          () => false,
        );
      // A name that nobody knows may be known later: then it is refused when something is posted.
      if (isTaken && !/(nothing|missing|nonsense)\.test/.test(url)) taken.push(url);
    }
    expect({ taken, dials }).toEqual({ taken: [], dials: 0 });
  });

  it("are refused again at each post, without one connection", async () => {
    const forms = allForms();
    const outcomes = await Promise.all(forms.map((url) => post(url, policy())));
    expect(forms.filter((_url, index) => outcomes[index]?.case !== "failed")).toEqual([]);
    expect({ dials, posts: forbidden.received.length }).toEqual({ dials: 0, posts: 0 });
    console.info(`S7 (notifications): ${forms.length} forms of URLs, 0 connections`);
  });

  it("are looked up once for each post, and connected to as that answer said", async () => {
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? ["2600::1"] : ["127.0.0.1"]);
    const flipping = policy({ resolve });
    const url = `https://flip.test:${forbidden.target.split(":")[1]}/`;
    await registrar(flipping).check(configOf(url), signal);
    // The name now means this machine: the post sees that, and stays away.
    expect((await post(url, flipping)).case).toBe("failed");
    expect({ asked, dials }).toEqual({ asked: 2, dials: 0 });
  });

  it("follow no redirect, and one counts as a failure", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      listed.answerWith((response) => response.writeHead(status, { location: forbidden.url }).end());
      expect(await post(listed.url, policy())).toEqual({ case: "failed", reason: `it answered ${status}` });
    }
    expect([listed.received.length, forbidden.received.length]).toEqual([5, 0]);
  });

  it("are reached when the operator lists them, also without https", async () => {
    await registrar(policy()).check(configOf(listed.url), signal);
    expect(await post(listed.url, policy())).toEqual({ case: "delivered" });
    expect(listed.received).toHaveLength(1);
    const unlisted = registrar(policy({ allowedHosts: [] })).check(configOf(listed.url), signal);
    await expect(unlisted).rejects.toThrow("push_targets");
    await expect(registrar(policy()).check(configOf("http://example.com/"), signal)).rejects.toThrow("https://");
  });

  it("are never this server, although listed", async () => {
    const port = Number(listed.target.split(":")[1]);
    const own = policy({ ownPorts: () => [port] });
    await expect(registrar(own).check(configOf(listed.url), signal)).rejects.toThrow("is this server");
    expect((await post(listed.url, own)).case).toBe("failed");
    expect(listed.received).toHaveLength(0);
  });

  it("may drip for as long as a post may take, and no longer", async () => {
    listed.answerWith((response) => void response.write("."));
    const outcome = await post(listed.url, policy(), { timeoutMs: 300 });
    expect(outcome).toMatchObject({ case: "failed", reason: expect.stringContaining("longer than 300 ms") });
  });

  it("get no header that a token or credentials smuggle in, and no secret is told again", async () => {
    const secrets = [
      { token: "x\r\nhost: evil" },
      { token: "x\0" },
      { authentication: { scheme: "Bearer", credentials: "s3cret\nx: y" } },
      { authentication: { scheme: "Bea rer", credentials: "c" } },
      { token: "x".repeat(5000) },
      { authentication: { scheme: "StandardWebhooks", credentials: "whsec_c2hvcnQ=" } },
    ];
    for (const change of secrets) {
      const checked = registrar(policy()).check(create(PushConfigSchema, { url: listed.url, ...change }), signal);
      await expect(checked).rejects.toThrow(/must hold|limit is|is no scheme/);
      await expect(checked).rejects.not.toThrow(/s3cret|evil/);
    }
  });

  it("would be connected to, if nothing was checked (sabotage of S7)", async () => {
    const everything = policy({ allowedHosts: [forbidden.target] });
    expect(await post(forbidden.url, everything)).toEqual({ case: "delivered" });
    expect({ dials, posts: forbidden.received.length }).toEqual({ dials: 1, posts: 1 });
  });

  function allForms(): string[] {
    const port = Number(forbidden.target.split(":")[1]);
    const forms = urlForms(port);
    return [...forms, ...forms.filter((url) => url.startsWith("http://")).map((url) => url.replace("http", "https"))];
  }

  function policy(change: Partial<OutboundPolicy> = {}): OutboundPolicy {
    return { allowedHosts: [listed.target], ownPorts: () => [], resolve: resolveName, ...change };
  }

  async function post(url: string, rules: OutboundPolicy, { timeoutMs = 5000 } = {}): Promise<PostOutcome> {
    const now = (): number => 1_800_000_000_000;
    const keys = new SigningKeys({ now });
    const poster = createGuardedPoster({ policy: rules, keys, issuer: () => "http://devtool.test", now, timeoutMs });
    const body = "{}";
    return poster.post(
      { config: configOf(url), taskId: "t1", sequence: 1n, contentType: "application/json", body },
      signal,
    );
  }

  function registrar(rules: OutboundPolicy): PushRegistrar {
    const configs = new MemoryPushConfigStore();
    const encodings = new Map([[PushFormat.TASK_EVENT, taskEventEncoding]]);
    const notifier = new PushNotifier({
      store: new MemoryTaskStore(),
      configs,
      encodings,
      poster: { post: () => Promise.reject(new Error("nothing is posted here")) },
      clock: new VirtualClock(),
      random: () => 0,
      onEnded: () => {},
      onError: () => {},
    });
    return new PushRegistrar({ configs, notifier, encodings, policy: rules, nextId: () => "id" });
  }
});

function configOf(url: string): PushConfig {
  return create(PushConfigSchema, { url });
}

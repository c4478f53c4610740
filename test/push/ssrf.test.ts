import diagnostics from "node:diagnostics_channel";
import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema, PushFormat } from "@devtool/schema";
import type { OutboundPolicy } from "@devtool/server/agent";
import type { PostOutcome } from "@devtool/server/testing";
import {
  createGuardedPoster,
  MemoryPushConfigStore,
  MemoryTaskStore,
  PushNotifier,
  PushRegistrar,
  SigningKeys,
  taskEventEncoding,
} from "@devtool/server/testing";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { type Receiver, receive } from "./receiver.ts";
import { resolveName, urlForms } from "./ssrf/url-forms.ts";
import { VirtualClock } from "./virtual-clock.ts";

describe("the targets of notifications (S7, PUSH-2)", () => {
  const signal = AbortSignal.timeout(300_000);
  let forbidden: Receiver;
  let listed: Receiver;
  let dials = 0;
  const countDial = (): void => void dials++;
  beforeAll(() =>
    diagnostics.subscribe("undici:client:beforeConnect", countDial),
  );
  afterAll(
    () =>
      void diagnostics.unsubscribe("undici:client:beforeConnect", countDial),
  );
  beforeEach(async () => {
    [forbidden, listed] = await Promise.all([receive(), receive()]);
    dials = 0;
  });
  afterEach(() =>
    Promise.all([
      forbidden[Symbol.asyncDispose](),
      listed[Symbol.asyncDispose](),
    ]),
  );

  it("are refused when a config is set, in every spelling of a forbidden address, over http and https", async () => {
    const forms = allForms();
    expect(new Set(forms).size).toBeGreaterThanOrEqual(150);
    const taken: string[] = [];
    for (const url of forms) {
      const isTaken = await registrar(policy())
        .check(configOf(url), "config", signal)
        .then(
          () => true,
          () => false,
        );
      // A name that nobody knows may be known later: then it is refused when
      // something is posted.
      if (isTaken && !/(nothing|missing|nonsense)\.test/.test(url)) {
        taken.push(url);
      }
    }
    expect({ taken, dials }).toEqual({ taken: [], dials: 0 });
  });

  it("are refused at each post, before a connection is opened", async () => {
    const forms = allForms();
    const outcomes = await Promise.all(forms.map((url) => post(url, policy())));
    expect(
      forms.filter((_url, index) => outcomes[index]?.case !== "failed"),
    ).toEqual([]);
    expect({ dials, posts: forbidden.received.length }).toEqual({
      dials: 0,
      posts: 0,
    });
    console.info(
      `S7 (notifications): ${forms.length} forms of URLs, 0 connections`,
    );
  });

  it("are resolved once for each post, which connects to the address that was checked", async () => {
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? ["2600::1"] : ["127.0.0.1"]);
    const flipping = policy({ resolve });
    const url = `https://flip.test:${forbidden.target.split(":")[1]}/`;
    await registrar(flipping).check(configOf(url), "config", signal);
    // The name now means this machine: the post sees that, and stays away.
    expect((await post(url, flipping)).case).toBe("failed");
    expect({ asked, dials }).toEqual({ asked: 2, dials: 0 });
  });

  it("cannot redirect a post: a redirect is a failure", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      listed.answerWith((response) =>
        response.writeHead(status, { location: forbidden.url }).end(),
      );
      expect(await post(listed.url, policy())).toEqual({
        case: "failed",
        reason: `it answered ${status}`,
        retryAfterMs: 0,
      });
    }
    expect([listed.received.length, forbidden.received.length]).toEqual([5, 0]);
  });

  it("may be private and without https if the operator lists them", async () => {
    await registrar(policy()).check(configOf(listed.url), "config", signal);
    expect(await post(listed.url, policy())).toEqual({ case: "delivered" });
    expect(listed.received).toHaveLength(1);
    const unlisted = registrar(policy({ allowedHosts: [] })).check(
      configOf(listed.url),
      "config",
      signal,
    );
    await expect(unlisted).rejects.toThrow(`--push-target ${listed.target}`);
    await expect(
      registrar(policy()).check(
        configOf("http://example.com/"),
        "config",
        signal,
      ),
    ).rejects.toThrow("https://");
  });

  it("are never this server, even if listed", async () => {
    const port = Number(listed.target.split(":")[1]);
    const own = policy({ ownPorts: () => [port] });
    await expect(
      registrar(own).check(configOf(listed.url), "config", signal),
    ).rejects.toThrow("is this server");
    expect((await post(listed.url, own)).case).toBe("failed");
    expect(listed.received).toHaveLength(0);
  });

  it("that answer a byte at a time are cut off when the time limit of the post is over", async () => {
    listed.answerWith((response) => void response.write("."));
    const outcome = await post(listed.url, policy(), { timeoutMs: 300 });
    expect(outcome).toMatchObject({
      case: "failed",
      reason: expect.stringContaining("longer than 300 ms"),
    });
  });

  it("are refused with a token or credentials that would add a header, in errors that repeat no secret", async () => {
    const secrets = [
      { token: "x\r\nhost: evil" },
      { token: "x\0" },
      { authentication: { scheme: "Bearer", credentials: "s3cret\nx: y" } },
      { authentication: { scheme: "Bea rer", credentials: "c" } },
      { token: "x".repeat(5000) },
      {
        authentication: {
          scheme: "StandardWebhooks",
          credentials: "whsec_c2hvcnQ=",
        },
      },
    ];
    for (const change of secrets) {
      const checked = registrar(policy()).check(
        create(PushConfigSchema, { url: listed.url, ...change }),
        "config",
        signal,
      );
      await expect(checked).rejects.toThrow(
        /must hold|limit is|is not the name of a scheme/,
      );
      await expect(checked).rejects.not.toThrow(/s3cret|evil/);
    }
  });

  it("are connected to when every address is allowed (sabotage of S7)", async () => {
    const everything = policy({ allowedHosts: [forbidden.target] });
    expect(await post(forbidden.url, everything)).toEqual({
      case: "delivered",
    });
    expect({ dials, posts: forbidden.received.length }).toEqual({
      dials: 1,
      posts: 1,
    });
  });

  function allForms(): string[] {
    const port = Number(forbidden.target.split(":")[1]);
    const forms = urlForms(port);
    return [
      ...forms,
      ...forms
        .filter((url) => url.startsWith("http://"))
        .map((url) => url.replace("http", "https")),
    ];
  }

  function policy(change: Partial<OutboundPolicy> = {}): OutboundPolicy {
    const allowing = (target: string): string => `--push-target ${target}`;
    return {
      allowedHosts: [listed.target],
      allowing,
      ownPorts: () => [],
      resolve: resolveName,
      ...change,
    };
  }

  async function post(
    url: string,
    rules: OutboundPolicy,
    { timeoutMs = 5000 } = {},
  ): Promise<PostOutcome> {
    const now = (): number => 1_800_000_000_000;
    const keys = new SigningKeys({ now });
    const poster = createGuardedPoster({
      policy: rules,
      keys,
      issuer: "http://devtool.test",
      now,
      timeoutMs,
    });
    const body = "{}";
    return poster.post(
      {
        config: configOf(url),
        taskId: "t1",
        sequence: 1n,
        contentType: "application/json",
        body,
      },
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
      poster: {
        post: () => Promise.reject(new Error("nothing is posted here")),
      },
      clock: new VirtualClock(),
      random: () => 0,
      onEnded: () => {},
      onError: () => {},
    });
    return new PushRegistrar({
      configs,
      notifier,
      encodings,
      policy: rules,
      nextId: () => "id",
    });
  }
});

function configOf(url: string): PushConfig {
  return create(PushConfigSchema, { url });
}

import { createECDH } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { startServing } from "../durability/crash/server-process.ts";
import {
  accessCode,
  accessOf,
  clientOf,
  type ServerAddress,
} from "./console-page.ts";
import {
  decrypt,
  type PushService,
  startPushService,
  verifySender,
} from "./push-service.ts";

const LIMIT = { timeout: 60_000 };

describe("a browser whose console is closed", () => {
  let service: PushService;
  beforeEach(async () => {
    service = await startPushService();
  });
  afterEach(() => service[Symbol.asyncDispose]());

  it("is told of each session that begins to wait: its title, encrypted for the browser and signed by the server", async () => {
    await using server = await serve();
    const { access } = await browserOf(server);
    const phone = service.subscribe("phone");
    await ask(server, "write before.txt x");
    await access.setWebPush(phone);
    const first = await ask(server, "write one.txt SECRET");
    await told(1);
    await approve(server, first);
    const second = await ask(server, "write two.txt x");
    await told(2);
    expect(service.posts.map((post) => service.read(post))).toEqual([
      { taskId: first, title: "write one.txt SECRET" },
      { taskId: second, title: "write two.txt x" },
    ]);
    const { sessions, webPushKey } = await access.listBrowserSessions({});
    expect(sessions).toMatchObject([{ isNotified: true }]);
    const topics = new Set<unknown>();
    for (const post of service.posts) {
      expect(post.body.includes("SECRET")).toBe(false);
      expect(post.headers).toMatchObject({
        "content-encoding": "aes128gcm",
        ttl: "86400",
        urgency: "high",
        topic: expect.stringMatching(/^[\w-]{32}$/),
      });
      topics.add(post.headers.topic);
      const { claims, key } = await verifySender(post);
      expect(key).toEqual(Buffer.from(webPushKey));
      expect(claims.aud).toBe(`http://${service.target}`);
      const inS = (claims.exp ?? 0) - Date.now() / 1000;
      expect(inS).toBeGreaterThan(60);
      expect(inS).toBeLessThan(24 * 3600);
    }
    expect(topics.size).toBe(2);
  });

  it("is told again of a session that waits again, in place of the message before", async () => {
    await using server = await serve();
    await subscribed(server);
    const id = await ask(server, "write one.txt x\nnext\nwrite two.txt x");
    await told(1);
    await approve(server, id);
    await told(2);
    const [first, second] = service.posts;
    expect(first?.headers.topic).toBe(second?.headers.topic);
    expect(first && service.read(first)).toMatchObject({ taskId: id });
  });

  it("is told nothing of the sessions of others, nor after its access was revoked", async () => {
    const issuer = await createIssuer();
    await using server = await serve({
      authentication: { jwt: issuer.options },
    });
    const [alice, bob] = [
      { url: server.url, token: await issuer.tokenFor("alice") },
      { url: server.url, token: await issuer.tokenFor("bob") },
    ];
    const lost = await subscribed(alice, "lost");
    await subscribed(alice, "kept");
    await ask(bob, "write bob.txt x");
    const first = await ask(alice, "write alice.txt x");
    await told(2);
    expect(service.posts.map((post) => service.read(post))).toEqual(
      Array(2).fill({ taskId: first, title: "write alice.txt x" }),
    );
    await accessOf(alice, alice.token).revokeBrowserSession({ id: lost.id });
    await ask(alice, "write more.txt x");
    await told(3);
    await ask(alice, "write most.txt x");
    await told(4);
    expect(service.posts.slice(2).map(({ browser }) => browser)).toEqual([
      "kept",
      "kept",
    ]);
  });

  it("is told of a wait by the next start, when the server was killed before the push service took it", async () => {
    const [data, workspace] = [temporaryDirectory(), temporaryDirectory()];
    const flags = [
      ...["--data", data, "--workspace", workspace],
      ...["--push-target", service.target],
    ];
    service.answerWith(() => undefined);
    const killed = await startServing(flags);
    const { access } = await subscribed(killed.info);
    const { webPushKey } = await access.listBrowserSessions({});
    const id = await ask(killed.info, "write told.txt x");
    await told(1);
    await killed.kill();
    service.answerWith((response) => response.writeHead(201).end());
    const next = await startServing(flags);
    try {
      await told(2);
      const post = service.posts[1];
      expect(post && service.read(post)).toMatchObject({ taskId: id });
      expect(post && (await verifySender(post)).key).toEqual(
        Buffer.from(webPushKey),
      );
      const file = join(data, "browser-sessions.json");
      await expect
        .poll(() => readFile(file, "utf8"), LIMIT)
        .toContain(`"${id}":`);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    } finally {
      await next.stop();
    }
  });

  it("is not told late of a session that was answered or deleted", async () => {
    await using server = await serve();
    await subscribed(server);
    const held = Promise.withResolvers<ServerResponse>();
    service.answerWith(held.resolve);
    const answered = await ask(server, "write answered.txt x");
    const response = await held.promise;
    service.answerWith((next) => next.writeHead(201).end());
    await approve(server, answered);
    const { tasks } = clientOf(server);
    const deleted = await ask(server, "write deleted.txt x");
    await tasks.cancelTask({ taskId: deleted });
    await tasks.deleteTask({ taskId: deleted });
    const id = await ask(server, "write waits.txt x");
    response.writeHead(429, { "retry-after": "2" }).end();
    const refusedMs = performance.now();
    await told(2);
    expect(service.posts.map(taskOf)).toEqual([answered, id]);
    expect(performance.now() - refusedMs).toBeGreaterThan(1900);
  });

  it.each([404, 410])(
    "is forgotten when its push service answers %i",
    async (status) => {
      await using server = await serve();
      const { access } = await subscribed(server);
      service.answerWith((response) => response.writeHead(status).end());
      await ask(server, "write told.txt x");
      await expect
        .poll(
          async () => (await access.listBrowserSessions({})).sessions,
          LIMIT,
        )
        .toMatchObject([{ isNotified: false }]);
      await ask(server, "write more.txt x");
      await subscribed(server, "other");
      await ask(server, "write most.txt x");
      service.answerWith((response) => response.writeHead(201).end());
      await told(2);
      expect(service.posts.map(({ browser }) => browser)).toEqual([
        "phone",
        "other",
      ]);
    },
  );

  it("holds up no other, by a push service that never answers, nor by one that answers without an end", async () => {
    await using server = await serve();
    await subscribed(server, "silent");
    await subscribed(server, "endless");
    await subscribed(server, "phone");
    service.answerWith((response, { browser }) => {
      if (browser === "silent") return;
      response.writeHead(201).write(Buffer.alloc(10_000_000));
      if (browser === "phone") response.end();
    });
    const ofPhone = () =>
      service.posts.filter(({ browser }) => browser === "phone");
    const ofEndless = () =>
      service.posts.filter(({ browser }) => browser === "endless");
    await ask(server, "write one.txt x");
    await expect.poll(ofPhone, LIMIT).toHaveLength(1);
    await ask(server, "write two.txt x");
    await expect.poll(ofPhone, LIMIT).toHaveLength(2);
    // The rest of an answer is not read.
    await expect.poll(ofEndless, LIMIT).toHaveLength(2);
  });

  it("is subscribed once, whatever number of its tabs subscribes", async () => {
    await using server = await serve();
    const phone = service.subscribe("phone");
    const [one, two] = [await browserOf(server), await browserOf(server)];
    await one.access.setWebPush(phone);
    await two.access.setWebPush(phone);
    await two.access.setWebPush(phone);
    expect((await one.access.listBrowserSessions({})).sessions).toMatchObject([
      { id: two.id, isNotified: true },
      { id: one.id, isNotified: false },
    ]);
  });

  it.each([
    ["is not https", { endpoint: "http://push.example/x" }, "https://"],
    ["is private", { endpoint: "https://10.0.0.1/x" }, "is not public"],
    ["is this machine", { endpoint: "https://localhost/x" }, "this machine"],
    ["is no URL", { endpoint: "phone" }, "is not an absolute URL"],
    [
      "is long",
      { endpoint: `https://push.example/${"x".repeat(2048)}` },
      "limit is 2048",
    ],
    [
      "has a short key",
      { p256dh: new Uint8Array(64) },
      "p256dh is not an uncompressed point of P-256",
    ],
    [
      "has a key that is no point",
      { p256dh: new Uint8Array(65).fill(4) },
      "p256dh is not an uncompressed point of P-256",
    ],
    [
      "has a short secret",
      { auth: new Uint8Array(15) },
      "auth has 15 bytes: must have 16",
    ],
  ])("is refused when its subscription %s", async (_what, part, words) => {
    await using server = await serve();
    const { access } = await browserOf(server);
    const subscription = { ...service.subscribe("phone"), ...part };
    await expect(access.setWebPush(subscription)).rejects.toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining(words),
    });
  });

  it("has a session of its own: a token alone subscribes nobody", async () => {
    await using server = await serve();
    const subscription = service.subscribe("phone");
    await expect(
      accessOf(server, server.token).setWebPush(subscription),
    ).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await expect(
      accessOf(server, "").setWebPush(subscription),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  it("is told nothing while its role may not read", async () => {
    const issuer = await createIssuer();
    const dataDirectory = temporaryDirectory();
    const workspace = temporaryDirectory();
    const serveRights = (rights: readonly ("run" | "read")[]) =>
      serve({
        dataDirectory,
        workspace,
        token: "t".repeat(32),
        authentication: {
          jwt: { ...issuer.options, rolesClaim: "groups" },
          roles: [{ role: "*", rights }],
        },
      });
    const token = await issuer.tokenFor("alice");
    let id = "";
    {
      await using server = await serveRights(["run", "read"]);
      await subscribed({ url: server.url, token });
      service.answerWith((response) => response.writeHead(503).end());
      id = await ask({ url: server.url, token }, "write one.txt x");
      await told(1);
    }
    service.answerWith((response) => response.writeHead(201).end());
    const before = service.posts.length;
    {
      await using server = await serveRights(["run"]);
      await subscribed(server, "operator");
      const two = await ask(server, "write two.txt x");
      await expect
        .poll(() => service.posts[before]?.browser, LIMIT)
        .toBe("operator");
      // A server that stops before it has stored that tells it again.
      const file = join(dataDirectory, "browser-sessions.json");
      await expect
        .poll(() => readFile(file, "utf8"), LIMIT)
        .toContain(`"${two}":`);
    }
    await using again = await serveRights(["run", "read"]);
    await expect
      .poll(() => service.posts.slice(before).map(taskOf), LIMIT)
      .toContain(id);
    await ask(again, "write three.txt x");
    const titles = () =>
      service.posts
        .slice(before)
        .filter(({ browser }) => browser === "operator")
        .map((post) => Object(service.read(post)).title);
    // What was told before the restart is not told again.
    await expect
      .poll(titles, LIMIT)
      .toEqual(["write two.txt x", "write three.txt x"]);
  });

  function serve(
    options: Partial<CodingServerOptions> = {},
  ): Promise<DevtoolServer> {
    return loadConsole().then((site) =>
      serveCodingAgent({
        workspace: temporaryDirectory(),
        site,
        pushTargets: [service.target],
        ...options,
      }),
    );
  }

  /** Lets a browser in, and subscribes it. */
  async function subscribed(server: ServerAddress, name = "phone") {
    const browser = await browserOf(server);
    const subscription = service.subscribe(name);
    await browser.access.setWebPush(subscription);
    return browser;
  }

  function told(count: number): Promise<void> {
    return expect
      .poll(() => service.posts.length, LIMIT)
      .toBeGreaterThanOrEqual(count);
  }

  function taskOf(post: PushService["posts"][number]): unknown {
    return Object(service.read(post)).taskId;
  }
});

describe("the test's own browser", () => {
  it("decrypts the example of RFC 8291, section 5", () => {
    const ecdh = createECDH("prime256v1");
    ecdh.setPrivateKey(
      Buffer.from("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "base64url"),
    );
    const auth = new Uint8Array(
      Buffer.from("BTBZMqHH6r4Tts7J_aSIgg", "base64url"),
    );
    const body = Buffer.from(
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml" +
        "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT" +
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
      "base64url",
    );
    expect(decrypt(body, { ecdh, auth })).toBe(
      "When I grow up, I want to be a watermelon",
    );
  });
});

/** Lets a browser in, and returns its access and the id of its session. */
async function browserOf(server: ServerAddress) {
  const code = await accessCode(server);
  const { token, session } = await accessOf(server, "").redeemAccessCode({
    code,
  });
  // A connection that other clients share would end with the session.
  const access = accessOf(server, token, { connection: "close" });
  return { access, id: session?.id ?? "" };
}

/** Sends a prompt, and returns the id of the task once it waits. */
async function ask(server: ServerAddress, prompt: string): Promise<string> {
  const message = textMessage(crypto.randomUUID(), prompt);
  const { tasks } = clientOf(server);
  const { task } = await tasks.sendMessage({ message });
  expect(task?.state).toBe(TaskState.INPUT_REQUIRED);
  return task?.id ?? "";
}

/** Allows what a task asks. */
async function approve(server: ServerAddress, taskId: string): Promise<void> {
  const { tasks } = clientOf(server);
  const { task } = await tasks.getTask({ taskId });
  if (!task) throw new Error(`task ${taskId} is missing`);
  const parts = pendingToolCalls(task).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  const message = { ...textMessage(crypto.randomUUID(), ""), parts, taskId };
  await tasks.sendMessage({ message });
}

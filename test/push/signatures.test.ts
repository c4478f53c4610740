import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  NotificationError,
  notificationKeys,
  SeenEvents,
  verifyNotification,
} from "@devtool/client/webhook";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PushConfigSchema } from "@devtool/schema";
import type { Notification } from "@devtool/server/testing";
import {
  claimsOf,
  headersOf,
  keyFile,
  ROTATION_MS,
  SigningKeys,
} from "@devtool/server/testing";
import fc from "fast-check";
import { SignJWT, UnsecuredJWT } from "jose";
import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import { roundsOf } from "../depth.ts";

const NOW = 1_800_000_000_000;
const AUDIENCE = "https://receiver.test/hook";
const ISSUER = "http://127.0.0.1:41242";
const MUTATIONS = roundsOf("DEVTOOL_SIGNATURE_MUTATIONS", {
  quick: 300,
  ci: 1000,
  deep: 10_000,
});
const DAY_MS = 24 * 60 * 60_000;

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

describe("signed notifications (S8)", () => {
  let directory: string;
  let now = NOW;
  let signing: SigningKeys;
  let keys: ReturnType<typeof notificationKeys>;
  beforeEach(async () => {
    directory = temporaryDirectory();
    now = NOW;
    signing = new SigningKeys({
      storage: keyFile(join(directory, "signing-keys.json")),
      now: () => now,
    });
    keys = notificationKeys(await signing.publicKeys());
  });

  it("are accepted unchanged, and refused after any change", {
    timeout: 180_000 + 60 * MUTATIONS,
  }, async () => {
    const forged: string[] = [];
    const refused: string[] = [];
    let sequence = 0n;
    for (const mutation of fc.sample(MUTATION, {
      numRuns: MUTATIONS,
      seed: 8,
    })) {
      sequence++;
      const post = await posted(notification({ sequence }));
      const seen = new SeenEvents();
      const changed = await mutated(post, mutation, sequence);
      if (changed && (await verdict(changed, { seen })) !== "refused") {
        forged.push(`${sequence} ${JSON.stringify(mutation)}`);
      }
      if ((await verdict(post, { seen })) !== "accepted") {
        refused.push(`${sequence} ${JSON.stringify(mutation)}`);
      }
    }
    console.info(
      `S8: ${MUTATIONS} changed notifications, ${forged.length} accepted; as many unchanged, ${refused.length} refused`,
    );
    expect({ forged, refused }).toEqual({ forged: [], refused: [] });
  });

  it("are accepted once: a repeated event is a duplicate, unless the receiver has asked for it again", async () => {
    const seen = new SeenEvents();
    const first = await posted(notification({ sequence: 1n }));
    const second = await posted(notification({ sequence: 2n }));
    expect(await verdict(first, { seen })).toBe("accepted");
    expect(await verdict(second, { seen })).toBe("accepted");
    expect(await verdict(first, { seen })).toBe("duplicate");
    // The same event again, under a signature of its own, as after an answer
    // that was lost.
    now += 60_000;
    expect(
      await verdict(await posted(notification({ sequence: 2n })), { seen }),
    ).toBe("duplicate");
    const third = await verify(await posted(notification({ sequence: 3n })), {
      seen,
    });
    third.forget();
    expect(
      await verdict(await posted(notification({ sequence: 3n })), { seen }),
    ).toBe("accepted");
    expect(
      await verdict(
        await posted(notification({ sequence: 1n, taskId: "t2" })),
        { seen },
      ),
    ).toBe("accepted");
  });

  it("are accepted within five minutes before and after their time, and refused outside of that", async () => {
    const post = await posted(notification({ sequence: 1n }));
    const at = (seconds: number) =>
      verdict(post, { atMs: NOW + seconds * 1000 });
    expect(await Promise.all([-299, 0, 299].map(at))).toEqual([
      "accepted",
      "accepted",
      "accepted",
    ]);
    expect(await Promise.all([-302, 302, 86_400].map(at))).toEqual([
      "refused",
      "refused",
      "refused",
    ]);
  });

  it("are refused with the wrong audience, issuer or token", async () => {
    const post = await posted(notification({ sequence: 1n, token: "right" }));
    expect(await verdict(post, { token: "right", issuer: ISSUER })).toBe(
      "accepted",
    );
    expect(await verdict(post, { token: "wrong" })).toBe("refused");
    expect(await verdict(post, { token: "" })).toBe("refused");
    expect(
      await verdict(post, { audience: "https://receiver.test/other" }),
    ).toBe("refused");
    expect(await verdict(post, { issuer: "https://elsewhere.test" })).toBe(
      "refused",
    );
  });

  it("are refused when signed with another key, unsigned, or signed with the public key as a shared secret", async () => {
    const claims = claimsOf(notification({ sequence: 1n }), ISSUER, NOW);
    const post = await posted(notification({ sequence: 1n }));
    const [published = {}] = (await signing.publicKeys()).keys;
    const other = new SigningKeys({ now: () => now });
    const secret = new TextEncoder().encode(JSON.stringify(published));
    const kid = published.kid ?? "";
    const tokens = [
      await other.sign(claims),
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid })
        .sign(secret),
      spelledOtherwise(post.headers["devtool-signature"] ?? ""),
      "",
      "a.b.c",
    ];
    for (const token of tokens) {
      const headers = { ...post.headers, "devtool-signature": token };
      expect(await verdict({ ...post, headers }), token).toBe("refused");
    }
  });

  it("are accepted across three key rotations by a receiver that fetches the keys once a day", async () => {
    const used = new Set<string>();
    let list = keys;
    for (let hour = 0; hour < (3.5 * ROTATION_MS) / 3_600_000; hour++) {
      now = NOW + hour * 3_600_000;
      // Never at the hour in which a key is made.
      if (hour % 23 === 0) list = notificationKeys(await signing.publicKeys());
      const post = await posted(notification({ sequence: 1n }));
      used.add(post.headers["devtool-signature"]?.split(".")[0] ?? "");
      expect(await verdict(post, { atMs: now, list }), `hour ${hour}`).toBe(
        "accepted",
      );
      expect((await signing.publicKeys()).keys.length).toBeLessThanOrEqual(2);
    }
    expect(used.size).toBe(4);
  });

  it("are signed with keys that only the user can read and that survive a restart", async () => {
    const file = join(directory, "signing-keys.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const post = await posted(notification({ sequence: 1n }));
    const again = new SigningKeys({ storage: keyFile(file), now: () => now });
    expect(await again.publicKeys()).toEqual(await signing.publicKeys());
    expect(
      await verdict(post, { list: notificationKeys(await again.publicKeys()) }),
    ).toBe("accepted");
    expect(JSON.stringify(await signing.publicKeys())).not.toContain('"d"');
    chmodSync(file, 0o644);
    await expect(
      new SigningKeys({ storage: keyFile(file), now: () => now }).publicKeys(),
    ).rejects.toThrow("other users can access it");
    expect(readFileSync(file, "utf8")).toContain("privateKey");
  });

  it("create one key for concurrent first calls", async () => {
    const fresh = new SigningKeys({ now: () => now });
    const lists = await Promise.all(
      Array.from({ length: 8 }, () => fresh.publicKeys()),
    );
    expect(new Set(lists.map((list) => JSON.stringify(list))).size).toBe(1);
  });

  it("are accepted by the Standard Webhooks library", async () => {
    const secret = `whsec_${Buffer.from("a secret of at least 24 bytes").toString("base64")}`;
    const signed = notification({
      sequence: 1n,
      authentication: { scheme: "StandardWebhooks", credentials: secret },
    });
    now = Date.now();
    const { headers, body } = await posted(signed);
    expect(new Webhook(secret).verify(body, { ...headers })).toEqual(
      JSON.parse(body),
    );
    expect(() =>
      new Webhook(secret).verify(`${body} `, { ...headers }),
    ).toThrow();
    expect(headers.authorization).toBeUndefined();
  });

  it("would be accepted with another body if only the claims of A2A were signed (sabotage of S8)", async () => {
    const post = await posted(notification({ sequence: 1n }));
    const { bodySha256: _left, ...claims } = claimsOf(
      notification({ sequence: 1n }),
      ISSUER,
      NOW,
    );
    const token = await signing.sign(claims);
    const { jwtVerify } = await import("jose");
    const { payload } = await jwtVerify(token, keys, {
      audience: AUDIENCE,
      currentDate: new Date(NOW),
    });
    expect(payload.taskId).toBe("t1");
    const headers = { ...post.headers, "devtool-signature": token };
    expect(await verdict({ headers, body: "another body" })).toBe("refused");
  });

  function notification({
    sequence,
    taskId = "t1",
    ...config
  }: {
    readonly sequence: bigint;
    readonly taskId?: string;
    readonly token?: string;
    readonly authentication?: {
      readonly scheme: string;
      readonly credentials: string;
    };
  }): Notification {
    const body = JSON.stringify({
      sequence: String(sequence),
      text: "one event, äöü 🎉",
    });
    const contentType = "application/json";
    return {
      config: create(PushConfigSchema, { url: AUDIENCE, ...config }),
      taskId,
      sequence,
      contentType,
      body,
    };
  }

  async function posted(signed: Notification): Promise<Post> {
    const token = await signing.sign(claimsOf(signed, ISSUER, now));
    return {
      headers: headersOf(signed, { token, nowMs: now }),
      body: signed.body,
    };
  }

  interface Expected {
    readonly seen?: SeenEvents;
    readonly atMs?: number;
    readonly audience?: string;
    readonly issuer?: string;
    readonly token?: string;
    readonly list?: ReturnType<typeof notificationKeys>;
  }

  function verify(
    post: Post,
    {
      seen = new SeenEvents(),
      atMs = now,
      audience = AUDIENCE,
      list = keys,
      ...rest
    }: Expected,
  ) {
    return verifyNotification(post, {
      keys: list,
      audience,
      now: () => atMs,
      seen,
      ...rest,
    });
  }

  async function verdict(
    post: Post,
    expected: Expected = {},
  ): Promise<"accepted" | "duplicate" | "refused"> {
    try {
      return (await verify(post, expected)).isDuplicate
        ? "duplicate"
        : "accepted";
    } catch (reason) {
      if (reason instanceof NotificationError) return "refused";
      throw reason;
    }
  }

  /**
   * The post with one thing changed; undefined when the change left it as it
   * was.
   */
  async function mutated(
    post: Post,
    mutation: Mutation,
    sequence: bigint,
  ): Promise<Post | undefined> {
    const token = post.headers["devtool-signature"] ?? "";
    const changed = await changedPost(post, token, mutation, sequence);
    return JSON.stringify(changed) === JSON.stringify(post)
      ? undefined
      : changed;
  }

  async function changedPost(
    post: Post,
    token: string,
    mutation: Mutation,
    sequence: bigint,
  ): Promise<Post> {
    const { at, byte } = mutation;
    switch (mutation.what) {
      case "body":
        return { ...post, body: withByte(post.body, at, byte) };
      case "cut body":
        return { ...post, body: post.body.slice(0, at % post.body.length) };
      case "signature":
        return withToken(post, withByte(token, at, 65 + (byte % 26)));
      case "claims":
        return withToken(post, withClaim(token, at, byte));
      case "header":
        return withToken(post, withHeader(token, at));
      case "event id":
        return {
          ...post,
          headers: { ...post.headers, "devtool-event-id": `t1:${byte}x` },
        };
      case "another event's signature": {
        const other = await posted(
          notification({ sequence: sequence + 1n + BigInt(byte) }),
        );
        return withToken(post, other.headers["devtool-signature"] ?? "");
      }
      case "old": {
        const before = now;
        now = NOW - 301_000 - byte * DAY_MS;
        const old = await posted(notification({ sequence }));
        now = before;
        return old;
      }
      default:
        return mutation.what satisfies never;
    }
  }
});

const KINDS = [
  "body",
  "cut body",
  "signature",
  "claims",
  "header",
  "event id",
  "another event's signature",
  "old",
] as const;

interface Mutation {
  readonly what: (typeof KINDS)[number];
  readonly at: number;
  readonly byte: number;
}

const MUTATION: fc.Arbitrary<Mutation> = fc.record({
  what: fc.constantFrom(...KINDS),
  at: fc.nat(2000),
  byte: fc.integer({ min: 0, max: 255 }),
});

function withByte(text: string, at: number, byte: number): string {
  const place = at % text.length;
  return (
    text.slice(0, place) + String.fromCharCode(byte) + text.slice(place + 1)
  );
}

function withToken(post: Post, token: string): Post {
  return { ...post, headers: { ...post.headers, "devtool-signature": token } };
}

/** The same signature with other bits where base64 has more than it needs. */
function spelledOtherwise(token: string): string {
  return (
    token.slice(0, -1) +
    String.fromCharCode(token.charCodeAt(token.length - 1) + 1)
  );
}

/** Another value of a claim, under the signature of the right one. */
function withClaim(token: string, at: number, byte: number): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const names = Object.keys(claims);
  const name = names[at % names.length] ?? "";
  const value =
    typeof claims[name] === "number"
      ? claims[name] + byte + 1
      : `${claims[name]}${byte}`;
  return [
    header,
    Buffer.from(JSON.stringify({ ...claims, [name]: value })).toString(
      "base64url",
    ),
    signature,
  ].join(".");
}

/**
 * Another header: no algorithm, a shared secret, another key or one that came
 * along.
 */
function withHeader(token: string, at: number): string {
  const [, payload = "", signature = ""] = token.split(".");
  const headers = [
    { alg: "none" },
    { alg: "HS256" },
    { alg: "ES256", kid: "another" },
    { alg: "ES256", jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" } },
    { alg: "ES256", jku: "http://127.0.0.1:1/keys" },
    { alg: "ES384" },
    { alg: "ES256", crit: ["b64"], b64: false },
  ];
  return [
    Buffer.from(JSON.stringify(headers[at % headers.length])).toString(
      "base64url",
    ),
    payload,
    signature,
  ].join(".");
}

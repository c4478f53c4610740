import { once } from "node:events";
import { createServer, IncomingMessage, type Server } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JSONWebKeySet,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Authenticator, Verdict } from "./authenticator.ts";
import {
  createJwtAuthenticator,
  type JwtOptions,
} from "./jwt-authenticator.ts";

const NOW = new Date("2026-11-21T10:00:00Z");
const NOW_S = NOW.getTime() / 1000;
const ISSUER = "https://login.example";
const AUDIENCE = "devtool";

interface Keys {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

interface Claims {
  readonly iss?: string;
  readonly aud?: string;
  readonly sub?: string;
  readonly exp?: number;
  readonly nbf?: number;
  readonly scope?: string;
  readonly scp?: readonly string[];
}

const GOOD: Claims = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: "alice",
  exp: NOW_S + 600,
};

describe("an authenticator of signed tokens", () => {
  let key: Keys;
  let stranger: Keys;
  let keys: JSONWebKeySet;
  let authenticator: Authenticator;

  beforeAll(async () => {
    [key, stranger] = await Promise.all([
      generateKeyPair("ES256"),
      generateKeyPair("ES256"),
    ]);
    keys = {
      keys: [
        {
          ...(await exportJWK(key.publicKey)),
          kid: "one",
          alg: "ES256",
          use: "sig",
        },
      ],
    };
    authenticator = createJwtAuthenticator(
      { issuer: ISSUER, audience: AUDIENCE, keys },
      () => NOW,
    );
  });

  it("identifies a caller by issuer and subject", async () => {
    // A session in a browser ends with the token, and with the minute by which
    // clocks may differ.
    const expireMs = ((GOOD.exp ?? 0) + 60) * 1000;
    const value = {
      principal: "https://login.example#alice",
      rights: new Set(["read", "run", "approve"]),
      expireMs,
    };
    expect(await tell(authenticator, await signed(key, GOOD))).toMatchObject({
      case: "caller",
      value,
    });
  });

  it("accepts clocks that differ by up to a minute", async () => {
    expect(
      (
        await tell(
          authenticator,
          await signed(key, { ...GOOD, exp: NOW_S - 59 }),
        )
      ).case,
    ).toBe("caller");
    expect(
      (
        await tell(
          authenticator,
          await signed(key, { ...GOOD, nbf: NOW_S + 59 }),
        )
      ).case,
    ).toBe("caller");
    expect(
      (
        await tell(
          authenticator,
          await signed(key, { ...GOOD, exp: NOW_S - 61 }),
        )
      ).case,
    ).toBe("wrong");
    expect(
      (
        await tell(
          authenticator,
          await signed(key, { ...GOOD, nbf: NOW_S + 61 }),
        )
      ).case,
    ).toBe("wrong");
  });

  it("accepts no forged token", async () => {
    for (const [what, token] of await forged()) {
      expect((await tell(authenticator, token)).case, what).toBe("wrong");
    }
  });

  it("would accept them if it did not verify them (sabotage)", async () => {
    const credulous: Authenticator = {
      authenticate: () => ({
        case: "caller",
        value: { principal: "x", rights: new Set() },
      }),
    };
    for (const [, token] of await forged()) {
      expect((await tell(credulous, token)).case).toBe("caller");
    }
  });

  it.each([
    ["a list", ["bob"]],
    ["a number", 1],
    ["an object", { toString: "bob" }],
    ["empty", ""],
    ["with a control character", "bob\u0000x"],
    ["with a line break", "bob\nlocal"],
    ["that is not valid Unicode", "\ud800"],
    ["without end", "b".repeat(1001)],
  ])("accepts no ambiguous subject: %s", async (_what, sub) => {
    const claims = new TextEncoder().encode(JSON.stringify({ ...GOOD, sub }));
    const token = await new CompactSign(claims)
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .sign(key.privateKey);
    expect(await tell(authenticator, token)).toMatchObject({
      case: "wrong",
      message: expect.stringContaining("subject"),
    });
  });

  it("names the wrong claim, and nothing about the others", async () => {
    const verdict = await tell(
      authenticator,
      await signed(key, { ...GOOD, aud: "another" }),
    );
    expect(verdict).toEqual({
      case: "wrong",
      message: 'the token is not accepted: its claim "aud" is wrong',
    });
  });

  it("ignores tokens that are not signed", async () => {
    for (const header of [
      "",
      "Bearer x",
      "Bearer a.b",
      "Basic a.b.c",
      "Bearer a.b.c d",
    ]) {
      expect(
        await authenticator.authenticate(requestWith(header)),
        header,
      ).toEqual({ case: "none" });
    }
  });

  it("gives the rights of the scopes, in both spellings of scopes", async () => {
    const scoped = createJwtAuthenticator(
      {
        issuer: ISSUER,
        audience: AUDIENCE,
        keys,
        approveScope: "devtool.approve",
        auditScope: "devtool.audit",
      },
      () => NOW,
    );
    const rightsOf = async (claims: Claims) => {
      const verdict = await tell(
        scoped,
        await signed(key, { ...GOOD, ...claims }),
      );
      return verdict.case === "caller"
        ? [...verdict.value.rights].slice(2)
        : verdict;
    };
    expect(await rightsOf({})).toEqual([]);
    expect(
      await rightsOf({ scope: "devtool.approved xdevtool.approve" }),
    ).toEqual([]);
    expect(await rightsOf({ scope: "openid devtool.approve" })).toEqual([
      "approve",
    ]);
    expect(
      await rightsOf({ scp: ["devtool.audit", "devtool.approve"] }),
    ).toEqual(["approve", "audit"]);
  });

  it("tries each matching key for a token without a key id", async () => {
    const both = {
      keys: [
        await exportJWK(stranger.publicKey),
        await exportJWK(key.publicKey),
      ],
    };
    const trying = createJwtAuthenticator(
      { issuer: ISSUER, audience: AUDIENCE, keys: both },
      () => NOW,
    );
    expect(
      (await tell(trying, await signed(key, GOOD, { alg: "ES256" }))).case,
    ).toBe("caller");
    const third = await generateKeyPair("ES256");
    expect(
      (await tell(trying, await signed(third, GOOD, { alg: "ES256" }))).case,
    ).toBe("wrong");
  });

  it.each<[string, Partial<JwtOptions>]>([
    ["algorithms", { algorithms: ["HS256"] }],
    ["algorithms", { algorithms: ["none"] }],
    ["algorithms", { algorithms: [] }],
    ["audience", { audience: "" }],
    ["issuer", { issuer: "login" }],
    ["issuer", { issuer: "https://login.example#x" }],
  ])("does not start with %s %j", (field, wrong) => {
    const options = { issuer: ISSUER, audience: AUDIENCE, keys, ...wrong };
    expect(() => createJwtAuthenticator(options, () => NOW)).toThrow(field);
  });

  it.each(["login.example", "127.login.example", "localhost.example"])(
    "fetches no keys over the open network without TLS: %s",
    (host) => {
      const jwksUri = `http://${host}/keys`;
      const options = { issuer: ISSUER, audience: AUDIENCE, jwksUri };
      expect(() => createJwtAuthenticator(options, () => NOW)).toThrow(
        `jwks_uri "${jwksUri}" must be`,
      );
    },
  );

  async function forged(): Promise<readonly (readonly [string, string])[]> {
    const good = await signed(key, GOOD);
    const [header = "", , signature = ""] = good.split(".");
    const mallory = Buffer.from(
      JSON.stringify({ ...GOOD, sub: "mallory" }),
    ).toString("base64url");
    const shared = new TextEncoder().encode(await exportSPKI(key.publicKey));
    return [
      [
        "another subject under the signature",
        `${header}.${mallory}.${signature}`,
      ],
      ["no signature", `${header}.${good.split(".")[1]}.`],
      ["the algorithm none", `${new UnsecuredJWT({ ...GOOD }).encode()}x`],
      [
        "the public key as shared secret",
        await sign(shared, GOOD, { alg: "HS256", kid: "one" }),
      ],
      ["a stranger's key under our key id", await signed(stranger, GOOD)],
      [
        "an unknown key id",
        await signed(key, GOOD, { alg: "ES256", kid: "two" }),
      ],
      ["a critical header nobody knows", await signCritical(key, GOOD)],
      [
        "another issuer",
        await signed(key, { ...GOOD, iss: "https://login.example/" }),
      ],
      ["another audience", await signed(key, { ...GOOD, aud: "devtool2" })],
      ["no audience", await signed(key, without("aud"))],
      ["no issuer", await signed(key, without("iss"))],
      ["no subject", await signed(key, without("sub"))],
      ["an empty subject", await signed(key, { ...GOOD, sub: "" })],
      [
        "a subject that looks like another",
        await signed(key, { ...GOOD, sub: "bob\u202e" }),
      ],
      [
        "a subject with a joiner",
        await signed(key, { ...GOOD, sub: "b\u200dob" }),
      ],
      ["no end", await signed(key, without("exp"))],
      [
        "no JSON",
        `${Buffer.from("{").toString("base64url")}.${mallory}.${signature}`,
      ],
      ["nothing at all", ".."],
    ];
  }
});

describe("the keys of an issuer", () => {
  let server: Server;
  let fetched: string[];
  let answer: (url: string) => unknown;
  let issuer: string;
  let key: Keys;

  beforeAll(async () => {
    key = await generateKeyPair("ES256");
    const jwk = { ...(await exportJWK(key.publicKey)), kid: "one" };
    server = createServer((request, response) => {
      fetched.push(request.url ?? "");
      const body = answer(request.url ?? "");
      response.writeHead(body === undefined ? 500 : 200, {
        "content-type": "application/json",
      });
      response.end(JSON.stringify(body ?? {}));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    issuer = `http://127.0.0.1:${portOf(server)}`;
    fetched = [];
    answer = (url) =>
      url === "/keys"
        ? { keys: [jwk] }
        : { issuer, jwks_uri: `${issuer}/keys` };
  });
  afterAll(() => server.close());

  it("are found by discovery and fetched once for many tokens", async () => {
    fetched = [];
    const found = createJwtAuthenticator(
      { issuer, audience: AUDIENCE },
      () => NOW,
    );
    const token = await signed(key, { ...GOOD, iss: issuer });
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, () => tell(found, token)),
    );
    expect(verdicts.every((verdict) => verdict.case === "caller")).toBe(true);
    expect(fetched).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  it("are not fetched again for each token with an invented key id", async () => {
    fetched = [];
    const found = createJwtAuthenticator(
      { issuer, audience: AUDIENCE, jwksUri: `${issuer}/keys` },
      () => NOW,
    );
    for (let index = 0; index < 50; index++) {
      const token = await signed(
        key,
        { ...GOOD, iss: issuer },
        { alg: "ES256", kid: `invented-${index}` },
      );
      expect((await tell(found, token)).case).toBe("wrong");
    }
    expect(fetched).toEqual(["/keys"]);
  });

  it("that are not available do not make a token wrong, and are fetched later", async () => {
    const found = createJwtAuthenticator(
      { issuer, audience: AUDIENCE },
      () => NOW,
    );
    const token = await signed(key, { ...GOOD, iss: issuer });
    const working = answer;
    answer = () => undefined;
    expect((await tell(found, token)).case).toBe("unavailable");
    answer = working;
    expect((await tell(found, token)).case).toBe("caller");
  });

  it("that are not available have an issuer whose password nobody is shown", async () => {
    const far = issuer.replace("http://", "http://me:s3cret@");
    const found = createJwtAuthenticator(
      { issuer: far, audience: AUDIENCE },
      () => NOW,
    );
    const token = await signed(key, { ...GOOD, iss: far });
    expect(await tell(found, token)).toMatchObject({
      case: "unavailable",
      message: expect.stringContaining(`keys of issuer "${issuer}/" are not`),
    });
  });

  it("are not accepted from the discovery document of another issuer", async () => {
    const working = answer;
    answer = (url) =>
      url === "/keys"
        ? working(url)
        : { issuer: "https://evil.example", jwks_uri: `${issuer}/keys` };
    const found = createJwtAuthenticator(
      { issuer, audience: AUDIENCE },
      () => NOW,
    );
    expect(
      (await tell(found, await signed(key, { ...GOOD, iss: issuer }))).case,
    ).toBe("unavailable");
    answer = working;
  });
});

interface Header {
  readonly alg: string;
  readonly kid?: string;
}

function signed(
  { privateKey }: Keys,
  claims: Claims,
  header: Header = { alg: "ES256", kid: "one" },
): Promise<string> {
  return sign(privateKey, claims, header);
}

function sign(
  key: CryptoKey | Uint8Array,
  claims: Claims,
  header: Header,
): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ ...header }).sign(key);
}

function signCritical({ privateKey }: Keys, claims: Claims): Promise<string> {
  const header = { alg: "ES256", kid: "one", "urn:x": 1, crit: ["urn:x"] };
  return new SignJWT({ ...claims })
    .setProtectedHeader(header)
    .sign(privateKey, { crit: { "urn:x": true } });
}

function without(claim: keyof Claims): Claims {
  const { [claim]: _left, ...rest } = GOOD;
  return rest;
}

async function tell(
  authenticator: Authenticator,
  token: string,
): Promise<Verdict> {
  return authenticator.authenticate(requestWith(`Bearer ${token}`));
}

function requestWith(authorization: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers.authorization = authorization;
  return request;
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

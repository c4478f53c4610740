import { execFile } from "node:child_process";
import { createSecretKey } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { fetchKeySet, verifyCard } from "@devtool/client/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { type CardKey, signCard } from "@devtool/server/testing";
import { exportJWK, generateKeyPair, type JSONWebKeySet } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PYTHON = fileURLToPath(new URL(".venv-1.0/bin/python", import.meta.url));
if (!existsSync(PYTHON)) {
  console.info(
    "skipped: no Python has a2a-sdk: run npx -y pnpm@12 install:interop",
  );
}

/**
 * A card with everything that makes canonical forms differ: default values,
 * white space, other scripts.
 */
const CARD: JsonObject = {
  name: "devtool",
  description: "Works on code – überall.",
  version: "1.0.0",
  supportedInterfaces: [
    {
      url: "http://127.0.0.1:1/",
      protocolBinding: "JSONRPC",
      protocolVersion: "1.0",
    },
  ],
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [
      {
        uri: "https://devtool.dev/x",
        description: "x",
        params: { n: 1e21, deep: { list: [1, "a"] } },
      },
    ],
  },
  securitySchemes: {
    bearer: {
      httpAuthSecurityScheme: {
        scheme: "Bearer",
        description: "The operator's token.",
      },
    },
  },
  securityRequirements: [{ schemes: { bearer: { list: ["operator"] } } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [
    {
      id: "code",
      name: "Work on code",
      description: "Reads and writes.",
      tags: ["code"],
    },
  ],
};

describe("a signed card", () => {
  let key: CardKey;
  let keys: JSONWebKeySet;
  let signed: JsonObject;

  beforeAll(async () => {
    ({ key, keys } = await createKey());
    signed = await signCard(CARD, key);
  });

  it("is valid for the key that signed it", async () => {
    expect(await verifyCard(signed, { keys })).toEqual({ keyId: "card-1" });
  });

  it("is valid whatever the order of its fields, and after a round trip through JSON with other white space", async () => {
    const turned = Object.fromEntries(Object.entries(signed).reverse());
    expect(
      await verifyCard(JSON.parse(JSON.stringify(turned, undefined, 4)), {
        keys,
      }),
    ).toEqual({ keyId: "card-1" });
  });

  it("is not valid when a value was changed, removed or added", async () => {
    const changed = pathsOf(CARD).map((path) => changedAt(signed, path));
    expect(changed.length).toBeGreaterThan(20);
    const additions = [
      { ...signed, documentationUrl: "https://evil.example" },
      { ...signed, iconUrl: "" },
      {
        ...signed,
        securityRequirements: [
          ...listOf(signed.securityRequirements),
          { schemes: {} },
          { schemes: { x: { list: ["y"] } } },
        ],
      },
    ];
    for (const card of [...changed, ...additions]) {
      const verdict = await verifyCard(card, { keys }).then(
        () => `taken: ${JSON.stringify(card)}`,
        (reason: unknown) => reason,
      );
      expect(verdict).toMatchObject({ code: Code.Unauthenticated });
    }
  });

  it("is not valid for another key of the same id, without a signature, or with a shared secret", async () => {
    const other = await createKey();
    await expect(verifyCard(signed, { keys: other.keys })).rejects.toThrow(
      "none of its signatures is valid",
    );
    await expect(verifyCard(CARD, { keys })).rejects.toThrow(
      "it has no signature",
    );
    await expect(
      verifyCard({ ...CARD, signatures: "x" }, { keys }),
    ).rejects.toThrow("it has no signature");
    await expect(
      verifyCard(
        { ...CARD, signatures: [{ protected: "e30", signature: "" }] },
        { keys },
      ),
    ).rejects.toThrow("none of its signatures is valid");
  });

  it("is not valid with a shared secret, with which any verifier could sign", async () => {
    const secret = Buffer.alloc(32, "x");
    const forged = await signCard(CARD, {
      ...key,
      algorithm: "HS256",
      privateKey: createSecretKey(secret),
    });
    const shared = {
      kty: "oct",
      k: secret.toString("base64url"),
      kid: "card-1",
    };
    await expect(
      verifyCard(forged, { keys: { keys: [shared] } }),
    ).rejects.toThrow("none of its signatures is valid");
  });

  it("names the URL of the keys, and its type", () => {
    const [first] = listOf(signed.signatures);
    const header = JSON.parse(
      Buffer.from(String(objectOf(first).protected), "base64url").toString(),
    );
    expect(header).toEqual({
      alg: "ES256",
      typ: "JOSE",
      kid: "card-1",
      jku: "http://127.0.0.1:1/.well-known/jwks.json",
    });
  });

  it("is verified by the JavaScript SDK of A2A", async () => {
    const jwk = keys.keys[0];
    if (!jwk) throw new Error("there is no key");
    const verify = verifyAgentCardSignature(async () => jwk);
    // Its parser drops the security schemes, so it can only verify a card
    // without them (a2a-js, issue 663).
    const { securitySchemes: _lost, ...without } = CARD;
    await verify(AgentCard.fromJSON(await signCard(without, key)));
  });

  it.skipIf(!existsSync(PYTHON))(
    "is verified by the Python SDK of A2A",
    async () => {
      const { stdout } = await promisify(execFile)(PYTHON, [
        "-c",
        VERIFY,
        JSON.stringify(signed),
        JSON.stringify(keys.keys[0]),
      ]);
      expect(stdout.trim()).toBe("verified");
    },
  );
});

describe("the card of a server", () => {
  let server: DevtoolServer;
  let card: JsonObject;
  const fetchCard = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${server.url}/.well-known/agent-card.json`, { headers });

  beforeAll(async () => {
    const issuer = "https://login.example";
    server = await serveCodingAgent({
      authentication: {
        jwt: { issuer, audience: "devtool", keys: { keys: [] } },
      },
    });
    card = Object(await (await fetchCard({ "a2a-version": "1.0" })).json());
  });
  afterAll(() => server.close());

  it("is signed in its form of A2A 1.0 with a key of the set that the server publishes", async () => {
    const keys = await fetchKeySet(
      `${server.url}/.well-known/jwks.json`,
      AbortSignal.timeout(60_000),
    );
    expect(await verifyCard(card, { keys })).toEqual({
      keyId: keys.keys[0]?.kid,
    });
    await expect(
      verifyCard({ ...card, name: "another" }, { keys }),
    ).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  it("names in both forms the security schemes that the server accepts", async () => {
    const openIdConnectUrl =
      "https://login.example/.well-known/openid-configuration";
    expect(card.securitySchemes).toMatchObject({
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl } },
    });
    expect(card.securityRequirements).toContainEqual({
      schemes: { oidc: { list: ["openid"] } },
    });
    const older = await (await fetchCard({ "a2a-version": "0.3" })).json();
    expect(older).toMatchObject({
      securitySchemes: { oidc: { type: "openIdConnect", openIdConnectUrl } },
    });
    expect(older).not.toHaveProperty("signatures");
  });

  it("keeps its ETag although each signature differs", async () => {
    const [one, other] = [
      await fetchCard({ "a2a-version": "1.0" }),
      await fetchCard({ "a2a-version": "1.0" }),
    ];
    expect(one.headers.get("etag")).toBe(other.headers.get("etag"));
    expect(await one.text()).toBe(await other.text());
  });

  it.skipIf(!existsSync(PYTHON))(
    "is verified by the Python SDK of A2A",
    async () => {
      const { keys } = await fetchKeySet(
        `${server.url}/.well-known/jwks.json`,
        AbortSignal.timeout(60_000),
      );
      const { stdout } = await promisify(execFile)(PYTHON, [
        "-c",
        VERIFY,
        JSON.stringify(card),
        JSON.stringify(keys[0]),
      ]);
      expect(stdout.trim()).toBe("verified");
    },
  );
});

const VERIFY = `
import json, sys
from google.protobuf.json_format import ParseDict
from jwt import PyJWK
from a2a.types import AgentCard
from a2a.utils.signing import create_signature_verifier
key = PyJWK(json.loads(sys.argv[2]))
create_signature_verifier(lambda kid, jku: key, ["ES256"])(ParseDict(json.loads(sys.argv[1]), AgentCard()))
print("verified")
`;

async function createKey(): Promise<{
  readonly key: CardKey;
  readonly keys: JSONWebKeySet;
}> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwksUrl = "http://127.0.0.1:1/.well-known/jwks.json";
  const keys = {
    keys: [{ ...(await exportJWK(publicKey)), kid: "card-1", alg: "ES256" }],
  };
  return {
    key: { keyId: "card-1", algorithm: "ES256", privateKey, jwksUrl },
    keys,
  };
}

/** Returns the paths of all values in a card that are not objects. */
function pathsOf(
  value: unknown,
  path: readonly string[] = [],
): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOf(inner, [...path, name]),
  );
}

function changedAt(card: JsonObject, path: readonly string[]): JsonObject {
  const copy: JsonObject = structuredClone(card);
  let at: unknown = copy;
  for (const name of path.slice(0, -1)) at = objectOf(at)[name];
  const last = path.at(-1) ?? "";
  const holder = objectOf(at);
  const value = holder[last];
  holder[last] =
    typeof value === "boolean"
      ? !value
      : typeof value === "number"
        ? value + 1e6 * value
        : `${String(value)}x`;
  return copy;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? Object(value) : {};
}

function listOf(value: JsonObject[string] | undefined): JsonObject[string][] {
  return Array.isArray(value) ? value : [];
}

import { describe, expect, it } from "vitest";
import { SecretFilter } from "./secret-filter.ts";

const LONG = "s3cr3t".repeat(400);

describe("a text without secrets", () => {
  it.each([
    ["Authorization: Token 9944b09199c6", "Authorization: [hidden]"],
    [
      "curl -H 'Authorization: ApiKey abcdef' x",
      "curl -H 'Authorization: [hidden]' x",
    ],
    [
      "authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=fe5f80\nnext",
      "authorization: [hidden]\nnext",
    ],
    [`AWS_SESSION_TOKEN=${LONG}`, "AWS_SESSION_TOKEN=[hidden]"],
    [`Cookie: a=${LONG}${LONG}`, "Cookie: [hidden]"],
    [`https://user:${LONG}@host/x`, "https://user:[hidden]@host/x"],
    ["the token of a page", "the token of a page"],
    ["DB_PWD='a;b,c&d e'", "DB_PWD='[hidden]'"],
    ["--api-token 7fb2c9d0 x", "--api-token [hidden] x"],
    ["curl -u me:abc https://host", "curl -u me:[hidden] https://host"],
    ["X_KEY=0123456789abcdef", "X_KEY=[hidden]"],
    ["dp.pt.vkaq6zuaizctiyy2ju17qze9r0", "[hidden]"],
    ["lin_api_pziolavxpqoktfsnxfmbctaqq", "[hidden]"],
    [
      "sig Nx7/R2pUgWq8LzC4vTn0YbKd/Q3s9 end",
      "sig [hidden]/[hidden]/[hidden] end",
    ],
    ...[
      "2126dedd-10cc-42f9-b2e6-edd819f3af93 at 2026-11-29T21:42:31.077Z",
      "commit 37dd07c5d6a1b2c3d4e5f60718293a4b5c6d7e8f",
      "packages/server/src/telemetry/secret-filter.test.ts",
      "convertBase64ToUtf8String(claude-opus-4-6-20260101)",
      "test_utf8_and_utf16_strings x86_64-unknown-linux-gnu",
    ].map((text): [string, string] => [text, text]),
  ])("is what is left of case %#", (text, shown) => {
    expect(new SecretFilter([]).hide(text)).toBe(shown);
  });

  it("hides a value by its name, whatever its type", () => {
    const value = {
      password: 12345678,
      secrets: { secret: ["one", "two"] },
      token: null,
      port: 80,
    };
    expect(new SecretFilter([]).json(value, 1000)).toBe(
      '{"password":"[hidden]","secrets":{"secret":"[hidden]"},"token":null,"port":80}',
    );
  });

  it.each([
    "-eyJ",
    "eyJ",
    "sk-",
    "\\nya29.",
    "a:b@",
    "://",
    "cookie: ",
    "token=",
    "token ",
    "token='",
    "-key=",
    "x-key a",
    " -u a",
    " --user a:",
    "Ab1",
    "a/",
    "a1/",
    "bcdfgh",
    "a.",
    "-----BEGIN PRIVATE KEY BLOCK-----",
  ])("takes a time that grows with the length alone: %s", (piece) => {
    const filter = new SecretFilter([]);
    const text = piece.repeat(1_000_000 / piece.length);
    const begun = process.cpuUsage();
    filter.hide(text);
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10);
    expect(filter.json([text], 1000).length).toBeLessThanOrEqual(1000);
  });
});

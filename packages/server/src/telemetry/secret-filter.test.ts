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
  ])("takes a time that grows with the length alone: %s", (piece) => {
    const filter = new SecretFilter([]);
    const text = piece.repeat(4_000_000 / piece.length);
    const begun = process.cpuUsage();
    filter.hide(text);
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10);
    expect(filter.json([text], 1000).length).toBeLessThanOrEqual(1000);
  });
});

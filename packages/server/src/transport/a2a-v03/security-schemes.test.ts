import { describe, expect, it } from "vitest";
import { securityOf, securitySchemesOf } from "./security-schemes.ts";

const openIdConnectUrl =
  "https://login.example/.well-known/openid-configuration";
const ALL = { openIdConnectUrl, certificates: true };

describe("the security schemes of a card", () => {
  it("are only the operator's token by default", () => {
    expect(securitySchemesOf({ certificates: false })).toEqual({
      bearer: {
        type: "http",
        scheme: "bearer",
        description: "The operator's token.",
      },
    });
  });

  it("are all configured ones, each of them enough", () => {
    expect(securitySchemesOf(ALL)).toMatchObject({
      oidc: {
        type: "openIdConnect",
        openIdConnectUrl,
      },
      mtls: { type: "mutualTLS" },
    });
    expect(securityOf(ALL)).toEqual([
      { bearer: [] },
      { oidc: [] },
      { mtls: [] },
    ]);
  });
});

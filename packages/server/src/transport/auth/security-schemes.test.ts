import { describe, expect, it } from "vitest";
import { securityRequirementsV1, securitySchemesV1, securitySchemesV03, securityV03 } from "./security-schemes.ts";

const ALL = { issuer: "https://login.example/", certificates: true };

describe("the security schemes of a card", () => {
  it("are those that are configured, in the form of A2A 0.3", () => {
    expect(securitySchemesV03({ certificates: false })).toEqual({
      bearer: { type: "http", scheme: "bearer", description: "The operator's token." },
    });
    expect(securitySchemesV03(ALL)).toMatchObject({
      oidc: { type: "openIdConnect", openIdConnectUrl: "https://login.example/.well-known/openid-configuration" },
      mtls: { type: "mutualTLS" },
    });
    expect(securityV03(ALL)).toEqual([{ bearer: [] }, { oidc: [] }, { mtls: [] }]);
  });

  it("have one key each in the form of A2A 1.0, and nothing empty", () => {
    const schemes = securitySchemesV1(ALL);
    expect(Object.values(schemes).map((scheme) => Object.keys(scheme))).toEqual([
      ["httpAuthSecurityScheme"],
      ["openIdConnectSecurityScheme"],
      ["mtlsSecurityScheme"],
    ]);
    expect(JSON.stringify([schemes, securityRequirementsV1(ALL)])).not.toMatch(/""|\[\]|\{\}/);
    expect(securityRequirementsV1(ALL)[1]).toEqual({ schemes: { oidc: { list: ["openid"] } } });
  });
});

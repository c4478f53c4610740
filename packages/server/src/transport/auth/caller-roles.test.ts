import { describe, expect, it } from "vitest";
import { assertClaim, rolesInClaim, tierInClaim } from "./caller-roles.ts";

describe("the roles in a claim of a token", () => {
  it.each([
    ["groups", { groups: ["b", "a", "b"] }, ["a", "b"]],
    ["groups", { groups: "a b" }, ["a b"]],
    ["groups", { groups: [] }, []],
    ["groups", {}, []],
    ["realm_access.roles", { realm_access: { roles: ["x"] } }, ["x"]],
    ["realm_access.roles", { realm_access: {} }, []],
    ["realm_access.roles", { "realm_access.roles": ["x"] }, []],
    ["https://x.example/roles", { "https://x.example/roles": ["x"] }, ["x"]],
    ["constructor.name", {}, []],
    ["__proto__.roles", {}, []],
    ["groups", { groups: ["x#ada", "local"] }, ["local", "x#ada"]],
    ["/groups", { groups: ["a"] }, ["a"]],
    [
      "/resource_access/my.client/roles",
      { resource_access: { "my.client": { roles: ["x"] } } },
      ["x"],
    ],
    [
      "/resource_access/my.client/roles",
      { resource_access: { my: { client: { roles: ["x"] } } } },
      [],
    ],
    [
      "/https:~1~1x.example~1r/~0",
      { "https://x.example/r": { "~": "x" } },
      ["x"],
    ],
    ["/__proto__/roles", {}, []],
  ])("%s of %j: %j", (claim, payload, value) => {
    expect(rolesInClaim(payload, claim)).toEqual({ case: "roles", value });
  });

  it.each([
    ["a list of objects", [{ value: "admin" }], "is not a list of strings"],
    ["an object", { admin: true }, "is not a list of strings"],
    ["a number", 7, "is not a list of strings"],
    ["null", null, "is not a list of strings"],
    ["a number among names", ["dev", 7], "is not a list of strings"],
    ["lists in a list", [["admin"]], "is not a list of strings"],
    [
      "10,000 roles",
      Array.from({ length: 10_000 }, (_, at) => `r${at}`),
      "has 10000 roles, and the limit is 256",
    ],
    ["an empty role", [""], "is empty, longer than 256"],
    ["a long role", ["x".repeat(257)], "is empty, longer than 256"],
    ["a role of two lines", ["dev\r\nX-Role: admin"], "or not visible"],
    ["a role with an invisible character", ["ad\u200Bmin"], "or not visible"],
    ["a role that is turned round", ["\u202Enimda"], "or not visible"],
    ["a lone surrogate", ["\uD800"], "or not visible"],
  ])("refuses a token with %s", (_what, groups, problem) => {
    const found = rolesInClaim({ groups }, "groups");
    expect(found).toMatchObject({
      case: "wrong",
      problem: expect.stringContaining(problem),
    });
  });

  it.each([".", "groups.", "a..b", "/", "/a//b", "/a/", "/a~2"])(
    "%j is the name of no claim",
    (claim) => {
      expect(() => assertClaim("roles_claim", claim)).toThrow(
        `roles_claim ${JSON.stringify(claim)} is not the name of a claim`,
      );
    },
  );

  it.each([
    [{ plan: "pro" }, { case: "tier", value: "pro" }],
    [{}, { case: "none" }],
    [{ plan: ["pro"] }, { case: "wrong" }],
    [{ plan: { name: "pro" } }, { case: "wrong" }],
    [{ plan: 7 }, { case: "wrong" }],
    [{ plan: null }, { case: "wrong" }],
    [{ plan: "" }, { case: "wrong" }],
    [{ plan: "pro\r\nx" }, { case: "wrong" }],
    [{ plan: "x".repeat(257) }, { case: "wrong" }],
    [{ _claim_names: { plan: "src1" } }, { case: "wrong" }],
  ])("the tier of %j is %j", (payload, expected) => {
    expect(tierInClaim(payload, "plan")).toMatchObject(expected);
  });

  it("refuses a token that has its roles elsewhere, or in no object", () => {
    const elsewhere = { _claim_names: { groups: "src1" } };
    expect(rolesInClaim(elsewhere, "groups")).toMatchObject({ case: "wrong" });
    expect(rolesInClaim({ a: ["roles"] }, "a.roles")).toMatchObject({
      case: "wrong",
    });
  });
});

import { describe, expect, it } from "vitest";
import { createSafeValidator } from "./safe-validator.ts";

describe("the validator of schemas that servers send", async () => {
  const validator = await createSafeValidator();
  const check = (schema: object, value: unknown) =>
    validator.getValidator(schema)(value).valid;

  it("checks types, choices, bounds and required properties", () => {
    const properties = {
      n: { type: "integer", maximum: 9 },
      c: { enum: ["a", "b"] },
    };
    const schema = { type: "object", properties, required: ["n"] };
    expect(check(schema, { n: 9, c: "b" })).toBe(true);
    expect(check(schema, { n: 10 })).toBe(false);
    expect(check(schema, { n: 1, c: "d" })).toBe(false);
    expect(check(schema, {})).toBe(false);
  });

  it("does not run a regular expression that would block the process", () => {
    const hostile = { pattern: "^(a+)+$" };
    const text = `${"a".repeat(50)}!`;
    expect(check({ type: "string", ...hostile }, text)).toBe(true);
    expect(
      check({ properties: { x: { anyOf: [hostile] } } }, { x: text }),
    ).toBe(true);
    expect(
      check(
        { patternProperties: { "^(a+)+$": { type: "number" } } },
        { [text]: "x" },
      ),
    ).toBe(true);
  });

  it("neither follows references that double at every step nor compares all items with each other", () => {
    const levels = Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/level${level + 1}` };
      return [`level${level}`, { allOf: [next, next] }] as const;
    });
    const $defs = {
      ...Object.fromEntries(levels),
      level40: { type: "number" },
    };
    expect(check({ $defs, $ref: "#/$defs/level0" }, "text")).toBe(true);
    const tree = {
      properties: { below: { allOf: [{ $ref: "#" }, { $ref: "#" }] } },
    };
    const deep = Array.from({ length: 60 }).reduce((below) => ({ below }), {});
    expect(check(tree, deep)).toBe(true);
    const items = Array.from({ length: 50_000 }, (_, at) => ({ at }));
    expect(check({ type: "array", uniqueItems: true }, items)).toBe(true);
  });

  it("follows references within the schema", () => {
    const schema = {
      $defs: { name: { type: "string" } },
      properties: { a: { $ref: "#/$defs/name" } },
    };
    expect(check(schema, { a: "x" })).toBe(true);
    expect(check(schema, { a: 1 })).toBe(false);
  });

  it("keeps properties named like keywords, and values that look like schemas", () => {
    const schema = {
      properties: {
        pattern: { type: "number" },
        format: { const: { pattern: "x" } },
      },
    };
    expect(check(schema, { pattern: "text" })).toBe(false);
    expect(check(schema, { format: { pattern: "x" } })).toBe(true);
    expect(check(schema, { format: {} })).toBe(false);
  });
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the cases look like this
import { describe, expect, it } from "vitest";
import { Variables } from "./variables.ts";

describe("variables of a case", () => {
  it("stand in keys and strings at any depth, and leave other values alone", () => {
    const variables = new Variables({ ext: "urn:x", n: "1" });
    variables.set("task", "t1");
    const filled = variables.fill({ "${ext}": [{ id: "${task}/${n}", count: 2, none: null }] });
    expect(filled).toEqual({ "urn:x": [{ id: "t1/1", count: 2, none: null }] });
  });

  it("are not looked for in what they stand for", () => {
    expect(new Variables({ a: "${b}", b: "no" }).text("${a} $& $1")).toBe("${b} $& $1");
  });

  it("make each uuid a new one", () => {
    const [first, second] = new Variables({}).text("${uuid} ${uuid}").split(" ");
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(first).not.toBe(second);
  });

  it("are refused by name when no step gave them", () => {
    expect(() => new Variables({}).text("${call}")).toThrow("no value for ${call}: an earlier step did not give it");
  });
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the cases look like this
import { describe, expect, it } from "vitest";
import { Variables } from "./variables.ts";

describe("variables of a case", () => {
  it("are replaced in keys and strings at any depth; other values are kept", () => {
    const variables = new Variables({ ext: "urn:x", n: "1" });
    variables.set("task", "t1");
    const filled = variables.fill({
      "${ext}": [{ id: "${task}/${n}", count: 2, none: null }],
    });
    expect(filled).toEqual({ "urn:x": [{ id: "t1/1", count: 2, none: null }] });
  });

  it("are not replaced in inserted values", () => {
    expect(new Variables({ a: "${b}", b: "no" }).fillText("${a} $& $1")).toBe(
      "${b} $& $1",
    );
  });

  it("generate a new uuid each time", () => {
    const [first, second] = new Variables({})
      .fillText("${uuid} ${uuid}")
      .split(" ");
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(first).not.toBe(second);
  });

  it("are refused by name if no step has set them", () => {
    expect(() => new Variables({}).fillText("${call}")).toThrow(
      "no value for ${call}: an earlier step did not set it",
    );
  });
});

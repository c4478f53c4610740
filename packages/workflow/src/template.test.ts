import { describe, expect, it } from "vitest";
import {
  type Reference,
  referencesOf,
  render,
  type Scope,
} from "./template.ts";

const scope: Scope = {
  input: { text: "hi", long: "x".repeat(600_000) },
  inputs: {},
  steps: new Map(),
};

describe("the references of a text", () => {
  it.each<[string, readonly Reference[]]>([
    [
      "a {{ input.text }}\n{{inputs.b}}",
      [
        ["input", "text"],
        ["inputs", "b"],
      ],
    ],
    ["{{{input.text}}}", [["input", "text"]]],
    ["{ {{input.text}}{", [["input", "text"]]],
  ])("are found in %j", (text, references) => {
    expect(referencesOf(text)).toEqual(references);
  });

  it.each(["{{", "a }}", "{{input.text}} {{", "{{input.text"])(
    "are no part of %j, which says what to do",
    (text) => {
      expect(() => referencesOf(text)).toThrow(
        /"(\{\{|\}\})" is not part of a reference: close the reference, or give a text with such braces as \{\{input\.NAME\}\}/,
      );
    },
  );

  it.each(["{{a b}}", "{{}}", "{{input..text}}", "{{input.a/b}}"])(
    "are names with dots between them, and not %j",
    (text) => {
      expect(() => referencesOf(text)).toThrow(
        `reference ${JSON.stringify(text)} is not names with dots between them: write {{steps.ID.result.text}}`,
      );
    },
  );

  it.each(["__proto__", "constructor", "toString", "text.length"])(
    "find what a value has itself, and not %s",
    (name) => {
      expect(() => render(`{{input.${name}}}`, scope)).toThrow(" has no ");
    },
  );

  it("are read in a time that grows with the text", () => {
    const begun = process.cpuUsage();
    expect(() => referencesOf(`{{${" ".repeat(100_000)}`)).toThrow();
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(2);
  });

  it("are replaced by their values, up to a length", () => {
    expect(render("{{ input.text }}, {{input.text}}", scope)).toBe("hi, hi");
    expect(() => render("{{input.long}}{{input.long}}", scope)).toThrow(
      /1200000 characters .*: limit is 1048576/,
    );
  });
});

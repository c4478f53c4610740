import { describe, expect, it } from "vitest";
import { mismatch, missingInOrder } from "./match.ts";

describe("mismatch", () => {
  it("allows additional fields and list items", () => {
    expect(mismatch({ a: [1] }, { a: [1, 2], b: true })).toBeUndefined();
  });

  it("names the path of the first difference", () => {
    expect(mismatch({ a: [1, { b: "x" }] }, { a: [1, { b: "y" }] })).toBe(
      'value.a[1].b must be "x": got "y"',
    );
    expect(mismatch({ a: [1, 2] }, { a: [1] })).toBe(
      "value.a[1] must be 2: got nothing",
    );
    expect(mismatch({ a: [] }, { a: {} })).toBe("value.a must be []: got {}");
  });

  it("supports choices and lengths; an absent list has length 0", () => {
    expect(mismatch("<one:a|b>", "b")).toBeUndefined();
    expect(mismatch("<one:a|b>", "c")).toBe(
      'value must be one of a, b: got "c"',
    );
    expect(mismatch({ "<length>": 0 }, undefined)).toBeUndefined();
    expect(mismatch({ "<length>": 1 }, ["x"])).toBeUndefined();
    expect(mismatch({ "<length>": 1 }, ["x", "y"])).toBe(
      'value must have length 1: got ["x","y"]',
    );
    expect(mismatch({ "<length>": 0 }, "")).toBe(
      'value must have length 0: got ""',
    );
  });

  it("takes fewer items than <at-most>", () => {
    expect(mismatch({ "<at-most>": 1 }, undefined)).toBeUndefined();
    expect(mismatch({ "<at-most>": 1 }, [1])).toBeUndefined();
    expect(mismatch({ "<at-most>": 1 }, [1, 2])).toBe(
      "value must have at most 1 items: got [1,2]",
    );
    expect(mismatch({ "<at-most>": 1 }, {})).toBe(
      "value must have at most 1 items: got {}",
    );
  });

  it("matches one of the values of <either>, and explains the one that was meant", () => {
    const either = {
      "<either>": [{ task: { id: "<any>" } }, { message: { role: "a" } }],
    };
    expect(mismatch(either, { task: { id: 1 } })).toBeUndefined();
    expect(mismatch(either, { message: { role: "a" } })).toBeUndefined();
    expect(mismatch(either, { message: { role: "b" } })).toBe(
      'value.message.role must be "a": got "b"',
    );
    expect(mismatch(either, {})).toMatch(/^value\.task must be/);
    const kinds = {
      "<either>": [{ kind: "task" }, { kind: "message", role: "a" }],
    };
    expect(mismatch(kinds, { kind: "message" })).toBe(
      'value.role must be "a": got nothing',
    );
  });

  it("accepts any value but null for <any>", () => {
    expect(mismatch({ id: "<any>" }, { id: 0 })).toBeUndefined();
    expect(mismatch({ id: "<any>" }, { id: null })).toBe("value.id is missing");
    expect(mismatch({ id: "<any>" }, {})).toBe("value.id is missing");
  });

  it("refuses even null for <absent>", () => {
    expect(mismatch({ id: "<absent>" }, {})).toBeUndefined();
    expect(mismatch({ id: "<absent>" }, { id: null })).toBe(
      "value.id must be absent: got null",
    );
  });

  it("looks for a part of a text, across lines, for <has:…>", () => {
    expect(mismatch("<has:one\ntwo>", "zero one\ntwo")).toBeUndefined();
    expect(mismatch("<has:1>", 1)).toBe('value must contain "1": got 1');
  });

  it("looks for members anywhere in a list for <contains>", () => {
    const list = [{ name: "a", more: 1 }, { name: "b" }];
    expect(
      mismatch({ "<contains>": [{ name: "b" }, { name: "a" }] }, list),
    ).toBeUndefined();
    expect(mismatch({ "<contains>": [{ name: "c" }] }, list)).toMatch(
      /^value must contain {"name":"c"}: got \[/,
    );
    expect(mismatch({ "<contains>": [] }, {})).toBe("value must be []: got {}");
    expect(mismatch({ "<contains>": [] }, undefined)).toBe(
      "value must be []: got nothing",
    );
  });
});

describe("missingInOrder", () => {
  it("allows other values in between", () => {
    expect(missingInOrder(["a", "c"], ["a", "b", "c"])).toBeUndefined();
  });

  it("names the first value that came too early, or only once instead of twice", () => {
    expect(missingInOrder(["c", "a"], ["a", "b", "c"])).toBe(
      'frame 2 of 2 did not come: "a"',
    );
    expect(missingInOrder(["a", "a"], ["a"])).toBe(
      'frame 2 of 2 did not come: "a"',
    );
  });
});

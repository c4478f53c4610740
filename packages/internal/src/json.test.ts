import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  canonicalJson,
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  plainJson,
  stringOrEmpty,
} from "./json.ts";

describe("isObject", () => {
  it("accepts an object and refuses null, lists and scalars", () => {
    expect([{}, { a: 1 }].map(isObject)).toEqual([true, true]);
    expect([null, [], "{}", 1, true, undefined].map(isObject)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("objectOrEmpty, listOrEmpty, stringOrEmpty", () => {
  it("return a value of their kind", () => {
    expect(objectOrEmpty({ a: 1 })).toEqual({ a: 1 });
    expect(listOrEmpty([1, 2])).toEqual([1, 2]);
    expect(stringOrEmpty("text")).toBe("text");
  });

  it("return an empty one for any other value", () => {
    expect([null, [1], "a", undefined].map(objectOrEmpty)).toEqual([
      {},
      {},
      {},
      {},
    ]);
    expect([null, { a: 1 }, "a", undefined].map(listOrEmpty)).toEqual([
      [],
      [],
      [],
      [],
    ]);
    expect([null, { a: 1 }, ["a"], 1, undefined].map(stringOrEmpty)).toEqual([
      "",
      "",
      "",
      "",
      "",
    ]);
  });
});

describe("parseJsonOrUndefined", () => {
  it("parses JSON", () => {
    expect(parseJsonOrUndefined('{"a":[1,null]}')).toEqual({ a: [1, null] });
  });

  it("returns undefined for text that is not JSON", () => {
    expect(parseJsonOrUndefined('{"a":')).toBeUndefined();
    expect(parseJsonOrUndefined("")).toBeUndefined();
  });
});

describe("plainJson", () => {
  it("copies deeply, writes dates as strings and omits what JSON has no form for", () => {
    const inner = { list: [1] };
    const copy = plainJson({
      inner,
      at: new Date(0),
      gone: undefined,
      run: () => 1,
    });

    inner.list.push(2);
    expect(copy).toEqual({
      inner: { list: [1] },
      at: "1970-01-01T00:00:00.000Z",
    });
  });
});

describe("canonicalJson", () => {
  it("sorts names at every level and writes no white space", () => {
    expect(canonicalJson({ b: [{ d: 1, c: "x y" }], a: null })).toBe(
      '{"a":null,"b":[{"c":"x y","d":1}]}',
    );
  });

  it("sorts by UTF-16 code units, as RFC 8785 does", () => {
    expect(canonicalJson({ "\ufb33": 1, "\u{1f600}": 2 })).toBe(
      '{"\u{1f600}":2,"\ufb33":1}',
    );
  });

  it("keeps the order of lists", () => {
    expect(canonicalJson([2, 1])).toBe("[2,1]");
  });
});

describe("defined", () => {
  it("omits fields that are undefined and keeps other empty values", () => {
    const fields = defined({
      a: undefined,
      b: "",
      c: 0,
      d: false,
      e: null,
      f: [],
    });

    expect(Object.keys(fields)).toEqual(["b", "c", "d", "e", "f"]);
  });

  it("gives an object that an exact optional type accepts", () => {
    const entry: { kind: "file" | "text"; title?: string } = defined({
      kind: "file",
      title: maybe("x"),
    });
    const json: JsonObject = defined({ title: maybe(undefined), tags: ["a"] });

    expect(entry).toEqual({ kind: "file", title: "x" });
    expect(json).toEqual({ tags: ["a"] });
  });

  it("says in its type which fields may be absent", () => {
    const fields = defined({ title: maybe(undefined), count: 1 });
    const count: number = fields.count;
    // @ts-expect-error The title may be absent.
    const title: string = fields.title;

    expect([count, title]).toEqual([1, undefined]);
  });
});

function maybe(text: string | undefined): string | undefined {
  return text;
}

import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { dataText } from "./data-text.ts";

describe("dataText", () => {
  it("is the JSON of an object", () => {
    expect(dataText({ case: "data", value: { a: { b: [true] } } })).toBe(
      '{"a":{"b":[true]}}',
    );
  });

  it.each([['["a",1,null]'], ['"text"'], ["2.5"], ["false"], ["null"]])(
    "is the JSON of the value %s",
    (json) => {
      expect(
        dataText({
          case: "dataValue",
          value: fromJson(ValueSchema, JSON.parse(json)),
        }),
      ).toBe(json);
    },
  );

  it("has a line for each member when it is indented", () => {
    expect(dataText({ case: "data", value: { a: 1 } }, 2)).toBe(
      '{\n  "a": 1\n}',
    );
  });
});

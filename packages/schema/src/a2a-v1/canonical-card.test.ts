import { canonicalJson } from "@devtool/internal/json";
import { describe, expect, it } from "vitest";
import { canonicalCard } from "./canonical-card.ts";

describe("canonical JSON (RFC 8785)", () => {
  it("has names in the order of UTF-16 code units, no white space and no needless escapes", () => {
    const value = {
      "\u20ac": 1,
      "\r": 2,
      "1": 3,
      "\ud83d\ude00": 4,
      "\u0080": 5,
      "\u00f6": 6,
      "\ufb33": 7,
      a: ["b ", "\u20ac\u000f"],
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":2,"1":3,"a":["b ","\u20ac\\u000f"],"\u0080":5,"\u00f6":6,"\u20ac":1,"\ud83d\ude00":4,"\ufb33":7}',
    );
  });

  // Digests of calls, hashes of definitions and the audit log are computed from
  // this text: it must never change.
  it("is the same text for the same call in every version, also with half a surrogate pair", () => {
    const call = {
      toolName: "run",
      inputParameters: {
        z: [1, { b: null, a: "é\ud800" }],
        "": false,
        A: -1.5e-7,
      },
    };
    expect(canonicalJson(call)).toBe(
      '{"inputParameters":{"":false,"A":-1.5e-7,"z":[1,{"a":"é\\ud800","b":null}]},"toolName":"run"}',
    );
  });

  it("writes numbers as ECMAScript does", () => {
    expect(
      canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 100]),
    ).toBe("[333333333.3333333,1e+30,4.5,0.002,1e-27,0,100]");
  });
});

describe("the canonical form of a card", () => {
  const card = {
    name: "a",
    description: "",
    supportedInterfaces: [
      { url: "u", protocolBinding: "GRPC", protocolVersion: "1.0", tenant: "" },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extensions: [{ uri: "x", required: false, params: { empty: "" } }],
    },
    skills: [],
    iconUrl: "",
  };

  it("omits default values of fields that are neither required nor optional", () => {
    expect(canonicalCard(card)).toBe(
      '{"capabilities":{"extensions":[{"params":{"empty":""},"uri":"x"}],"pushNotifications":false,"streaming":true},' +
        '"description":"","iconUrl":"","name":"a","skills":[],' +
        '"supportedInterfaces":[{"protocolBinding":"GRPC","protocolVersion":"1.0","url":"u"}]}',
    );
  });

  it("does not depend on signatures, unknown names or the order of names", () => {
    const other = {
      zzz: 1,
      ...card,
      signatures: [{ protected: "p", signature: "s" }],
      name: "a",
    };
    expect(canonicalCard(other)).toBe(canonicalCard(card));
  });
});

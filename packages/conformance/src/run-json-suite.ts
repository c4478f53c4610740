import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Golden, type GoldenSuite, GoldenSuiteSchema } from "@devtool/schema/conformance";
import type { CaseResult } from "./case-result.ts";
import { withoutImplicitDefaults } from "./implicit-defaults.ts";
import { mismatch } from "./match.ts";
import goldenSuite from "./suites/golden-rfc.json" with { type: "json" };

/** What is tested: readers and writers of the RFC's messages. Each throws for input that it refuses. */
export interface JsonCodec {
  /** Reads JSON as a message of a type and writes it again. */
  rewrite(type: string, json: JsonValue): JsonValue;
  /** Reads JSON as a message of a type and writes it in binary. */
  toBinary(type: string, json: JsonValue): Uint8Array;
  /** Reads binary as a message of a type and writes it as JSON. */
  fromBinary(type: string, binary: Uint8Array): JsonValue;
}

/** The golden documents, as data: at least one for every message of the RFC. */
export function jsonGoldens(): GoldenSuite {
  return fromJson(GoldenSuiteSchema, goldenSuite);
}

/** Plays the golden documents against a codec. */
export function runJsonSuite(codec: JsonCodec): CaseResult[] {
  return jsonGoldens().goldens.map((golden, index) => {
    const start = performance.now();
    const reason = firstProblem(golden, codec);
    const id = `json/${golden.type.split(".").at(-1)}-${index}`;
    const result = { id, requirements: ["JSON-1", "JSON-2"], durationMs: Math.round(performance.now() - start) };
    return reason === undefined ? { ...result, status: "passed" } : { ...result, status: "failed", reason };
  });
}

function firstProblem({ type, json, binary, lenient, equivalent, bad }: Golden, codec: JsonCodec): string | undefined {
  const wanted = jsonOf(json);
  for (const form of [wanted, ...[...lenient, ...equivalent].map(jsonOf)]) {
    const problem = jsonProblem(
      type,
      wanted,
      attempt(() => codec.rewrite(type, form)),
    );
    if (problem !== undefined) return `${JSON.stringify(form)}: ${problem}`;
  }
  const written = attempt(() => base64Encode(codec.toBinary(type, wanted)));
  const frozen = base64Encode(binary);
  if (written !== frozen) return `the binary must be ${frozen}: got ${written}`;
  return (
    jsonProblem(
      type,
      wanted,
      attempt(() => codec.fromBinary(type, binary)),
    ) ?? badProblem({ type, bad }, codec)
  );
}

function badProblem({ type, bad }: Pick<Golden, "type" | "bad">, codec: JsonCodec): string | undefined {
  for (const { json, says } of bad) {
    const input = jsonOf(json);
    const outcome = attempt(() => ({ accepted: codec.rewrite(type, input) }));
    if (typeof outcome !== "string") return `${JSON.stringify(input)} must be refused`;
    if (!outcome.includes(says)) return `the error for ${JSON.stringify(input)} must say ${says}: got ${outcome}`;
  }
  return undefined;
}

/** Compares the JSON of a message of a type; whether defaults without presence are written is up to the writer (JSON-2). */
export function jsonProblem(type: string, wanted: JsonValue, actual: JsonValue): string | undefined {
  return equalProblem(withoutImplicitDefaults(type, wanted), withoutImplicitDefaults(type, actual));
}

/** Compares both ways, since each way alone allows more. */
export function equalProblem(wanted: JsonValue, actual: JsonValue, path = "value"): string | undefined {
  return mismatch(wanted, actual, path) ?? mismatch(actual, wanted, path);
}

function attempt<T>(run: () => T): T | string {
  try {
    return run();
  } catch (reason) {
    return reason instanceof Error ? reason.message : String(reason);
  }
}

/** The JSON that a value of a case stands for. */
export function jsonOf(value: Value | undefined): JsonValue {
  return value ? toJson(ValueSchema, value) : {};
}

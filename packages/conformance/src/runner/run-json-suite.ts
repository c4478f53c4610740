import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { messageInequality } from "../match/message-json.ts";
import { valueToJson } from "../match/variables.ts";
import { type CaseResult, elapsedMs } from "../play/case-result.ts";
import { type Golden, type GoldenSuite, GoldenSuiteSchema } from "../protos.ts";
import goldenSuite from "../suites/golden-rfc.json" with { type: "json" };

/**
 * A reader and writer of the RFC's messages, to be tested. Every function
 * throws for input that it refuses.
 */
export interface JsonCodec {
  /**
   * Reads JSON as a message of a type, and writes the message as JSON.
   */
  rewrite(type: string, json: JsonValue): JsonValue;
  /**
   * Reads JSON as a message of a type, and writes the message in binary.
   */
  toBinary(type: string, json: JsonValue): Uint8Array;
  /**
   * Reads binary as a message of a type, and writes the message as JSON.
   */
  fromBinary(type: string, binary: Uint8Array): JsonValue;
}

/**
 * Returns the golden documents, as data: at least one for every message of the
 * RFC.
 */
export function jsonGoldens(): GoldenSuite {
  return fromJson(GoldenSuiteSchema, goldenSuite);
}

/**
 * Plays the golden documents against a codec.
 */
export function runJsonSuite(codec: JsonCodec): CaseResult[] {
  return jsonGoldens().goldens.map((golden, index) => {
    const start = performance.now();
    const reason = goldenProblem(golden, codec);
    const id = `json/${golden.type.split(".").at(-1)}-${index}`;
    const result = {
      id,
      requirements: ["JSON-1", "JSON-2"],
      durationMs: elapsedMs(start),
    };
    return reason === undefined
      ? { ...result, status: "passed" }
      : { ...result, status: "failed", reason };
  });
}

function goldenProblem(
  { type, json, binary, lenient, equivalent, bad }: Golden,
  codec: JsonCodec,
): string | undefined {
  const expected = valueToJson(json);
  for (const form of [json, ...lenient, ...equivalent].map(valueToJson)) {
    const rewritten = resultOrMessage(() => codec.rewrite(type, form));
    const problem = messageInequality(type, expected, rewritten);
    if (problem !== undefined) return `${JSON.stringify(form)}: ${problem}`;
  }
  const written = resultOrMessage(() =>
    base64Encode(codec.toBinary(type, expected)),
  );
  const golden = base64Encode(binary);
  if (written !== golden) return `the binary must be ${golden}: got ${written}`;
  const read = resultOrMessage(() => codec.fromBinary(type, binary));
  const problem = messageInequality(type, expected, read);
  if (problem !== undefined) return problem;
  for (const { json: badJson, says } of bad) {
    const input = valueToJson(badJson);
    const outcome = resultOrMessage(() => ({
      accepted: codec.rewrite(type, input),
    }));
    if (typeof outcome !== "string") {
      return `${JSON.stringify(input)} must be refused`;
    }
    if (!outcome.includes(says)) {
      return `the error for ${JSON.stringify(input)} must say ${says}: got ${outcome}`;
    }
  }
  return undefined;
}

/**
 * Returns what a function returns, or the message of the error it throws.
 */
function resultOrMessage<T>(run: () => T): T | string {
  try {
    return run();
  } catch (reason) {
    return reason instanceof Error ? reason.message : String(reason);
  }
}
